package corrupt

import (
	"encoding/json"
	"iter"
	"slices"
	"testing"
)

func TestValuesAreReplacedByWhatModelsWrite(t *testing.T) {
	for _, c := range []struct {
		name string
		way  func(*node) []string
		of   map[string][]string
	}{
		{"wrong type", wrongType, map[string][]string{`"a"`: {"0"}, `1`: {"true", `"many"`}, `true`: {`"yes"`}, `null`: {`"none"`}, `[1]`: {"{}"}, `{}`: {"[]"}}},
		{"currency", currency, map[string][]string{`4.25`: {`"4.25 USD"`}, `-1`: {`"-1 USD"`}, `"4"`: nil, `[]`: nil}},
		{"decimal comma", decimalComma, map[string][]string{`4.25`: {`"4,25"`}, `7`: {`"7,00"`}, `true`: nil}},
		{"null", null, map[string][]string{`1`: {"null"}, `null`: nil, `{}`: {"null"}}},
		{"out of bound", outside, map[string][]string{`2`: {"-1", "0", "1000000000", "-1000000000", "2001"}, `true`: nil, `{}`: nil}},
		{"not in the enum", offEnum, map[string][]string{`"open"`: {`"open or so"`}, `1`: {"17"}, `true`: nil}},
		{"container as text", asText, map[string][]string{`[1, "a"]`: {`"[1, \"a\"]"`}, `{}`: {`"{}"`}, `"a"`: nil, `1`: nil}},
	} {
		for text, want := range c.of {
			if got := c.way(parse([]byte(text))); !slices.Equal(got, want) {
				t.Errorf("%s of %s: %q, expected %q", c.name, text, got, want)
			}
		}
	}
}

func TestOutsideOfTextsAndArrays(t *testing.T) {
	if got := outside(parse([]byte(`"a"`))); got[0] != `""` || len(got[1]) < 2000 {
		t.Errorf("text: %.40q", got)
	}
	for text, item := range map[string]string{`[{"a":1}]`: `{"a":1}`, `[]`: `null`} {
		got := outside(parse([]byte(text)))
		var items []json.RawMessage
		if err := json.Unmarshal([]byte(got[1]), &items); got[0] != "[]" || err != nil || len(items) != 100 || string(items[99]) != item {
			t.Errorf("array %s: %.60q, %v", text, got, err)
		}
	}
}

// made lists texts.
func made(all iter.Seq[Corruption]) (out []string) {
	for c := range all {
		out = append(out, c.Pointer+" "+string(c.Text))
	}
	return out
}

func TestObjectsAreChanged(t *testing.T) {
	root := parse([]byte(`{"a":{"b":1,"c":2},"d":[{"e":3}]}`))
	for _, c := range []struct {
		name string
		way  func(doc, n *node, yield func(Corruption) bool) bool
		want []string
	}{
		{"missing key", lacking, []string{`/a {"d":[{"e":3}]}`, `/d {"a":{"b":1,"c":2}}`, `/a/b {"a":{"c":2},"d":[{"e":3}]}`,
			`/a/c {"a":{"b":1},"d":[{"e":3}]}`, `/d/0/e {"a":{"b":1,"c":2},"d":[{}]}`}},
		{"extra key", crowded, []string{`/additional_notes {"a":{"b":1,"c":2},"d":[{"e":3}],"additional_notes":"none"}`,
			`/a/additional_notes {"a":{"b":1,"c":2,"additional_notes":"none"},"d":[{"e":3}]}`,
			`/d/0/additional_notes {"a":{"b":1,"c":2},"d":[{"e":3,"additional_notes":"none"}]}`}},
		{"duplicate key", duplicate, []string{`/a {"a":{"b":1,"c":2},"d":[{"e":3}],"a":{"b":1,"c":2}}`, `/a/b {"a":{"b":1,"c":2,"b":1},"d":[{"e":3}]}`,
			`/d/0/e {"a":{"b":1,"c":2},"d":[{"e":3,"e":3}]}`}},
		{"NaN", notANumber, []string{`/a/b {"a":{"b":NaN,"c":2},"d":[{"e":3}]}`, `/a/c {"a":{"b":1,"c":NaN},"d":[{"e":3}]}`,
			`/d/0/e {"a":{"b":1,"c":2},"d":[{"e":NaN}]}`}},
	} {
		if got := made(each(c.way)(root, nil)); !slices.Equal(got, c.want) {
			t.Errorf("%s\n%q, expected\n%q", c.name, got, c.want)
		}
	}
}

// Whoever asks for one corruption gets one, whatever could be made.
func TestWaysStopWhenTheyAreTold(t *testing.T) {
	root := parse([]byte(`{"a":{"b":1,"c":2},"d":[{"e":3}]}`))
	for _, w := range ways {
		n := 0
		for range w.make(root, json.RawMessage(`{}`)) {
			n++
			break
		}
		if n > 1 {
			t.Errorf("%s goes on", w.name)
		}
	}
}

func TestWholeTexts(t *testing.T) {
	for _, c := range []struct {
		name       string
		way        func(string) string
		text, want string
	}{
		{"fence", fence, `{}`, "```json\n{}\n```"},
		{"two values", two, `[1]`, "[1]\n[1]"},
		{"wrapped in a key", wrapped, `1`, `{"answer":1}`},
		{"trailing comma", trailingComma, `{"a":1}`, `{"a":1,}`},
		{"trailing comma", trailingComma, `[1]`, `[1,]`},
		{"trailing comma of nothing", trailingComma, `{}`, ``},
		{"trailing comma of a text", trailingComma, `"abc"`, ``},
		{"single quotes", singleQuotes, `{"a":"b"}`, `{'a':'b'}`},
		{"single quotes beside an escape", singleQuotes, `{"a":"\n"}`, ``},
		{"single quotes beside an apostrophe", singleQuotes, `{"a":"it's"}`, ``},
	} {
		if got := c.way(c.text); got != c.want {
			t.Errorf("%s of %s: %q, expected %q", c.name, c.text, got, c.want)
		}
	}
}

// A cut text ends between two characters.
func TestCutEndsAtACharacter(t *testing.T) {
	for text, want := range map[string]string{`"ääää"`: ` "ää`, `{"a":1}`: ` {"a"`, `12`: ` 1`, `1`: ``} {
		got := made(cutOff(parse([]byte(text)), nil))
		if want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, expected %q", text, got, want)
		}
	}
}

func TestEchoNeedsASchema(t *testing.T) {
	if got := made(echoed(nil, nil)); got != nil {
		t.Errorf("%q", got)
	}
	if got := made(echoed(nil, json.RawMessage(`{"type":"object"}`))); !slices.Equal(got, []string{` {"type":"object"}`}) {
		t.Errorf("%q", got)
	}
}
