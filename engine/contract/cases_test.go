package contract

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// recordedText is one line of testdata/texts.jsonl.
type recordedText struct {
	ID, Text string
	Schema   json.RawMessage
	Class    Class    `json:"expect_class"`
	Paths    []string `json:"expect_paths"`
}

func (c recordedText) spec() Spec {
	if string(c.Schema) == "null" {
		return Spec{Mode: "json"}
	}
	return Spec{Mode: "json_schema", Schema: c.Schema}
}

func recordedTexts(t *testing.T) (all []recordedText) {
	t.Helper()
	file, err := os.Open("testdata/texts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c recordedText
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTexts judges every recorded text.
func TestTexts(t *testing.T) {
	for _, c := range recordedTexts(t) {
		t.Run(c.ID, func(t *testing.T) {
			v := mustCompile(t, c.spec()).Judge([]byte(c.Text))
			if v.Class != c.Class || v.Err != nil {
				t.Fatalf("class %q, error %v; want %q", v.Class, v.Err, c.Class)
			}
			for _, want := range c.Paths {
				if !slices.ContainsFunc(v.Findings, func(f Finding) bool { return matches(f, want) }) {
					t.Errorf("no finding %q in %s", want, shown(v.Findings))
				}
			}
			if c.Class == SchemaInvalid && len(v.Findings) < len(c.Paths) {
				t.Errorf("findings %s, want %q", shown(v.Findings), c.Paths)
			}
		})
	}
}

func matches(f Finding, want string) bool {
	full := f.Pointer + " " + f.Keyword
	return full == want || full == " "+want || f.Pointer == want
}

func mustCompile(t testing.TB, spec Spec) *Contract {
	t.Helper()
	c, err := Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func schemaContract(t testing.TB, schema string) *Contract {
	t.Helper()
	return mustCompile(t, Spec{Mode: "json_schema", Schema: json.RawMessage(schema)})
}

// shown lists findings as "pointer keyword key".
func shown(list []Finding) []string {
	out := []string{}
	for _, f := range list {
		s := f.Pointer + " " + f.Keyword
		if f.Key != "" {
			s += " " + f.Key
		}
		out = append(out, s)
	}
	return out
}
