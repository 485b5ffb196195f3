package rehearse

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"emend/engine"
	"emend/schemas"
)

func TestTokensReadWhatPathsShow(t *testing.T) {
	for path, want := range map[string]string{
		"a": "[a]", "items[2].price": "[items 2 price]", `["a.b"]`: "[a.b]", `o["x y"].z[0][1]`: "[o x y z 0 1]", `["]"]`: "[]]", "[3]": "[3]", "$ref.é": "[$ref é]",
		"(root)": "", "": "", "a, b": "", "a[": "", "a[x]": "", `a["b`: "", "a..b": "",
	} {
		got, ok := tokens(path)
		if ok != (want != "") || ok && fmt.Sprint(got) != want {
			t.Errorf("%s: %q, %v; expected %s", path, got, ok, want)
		}
	}
}

func TestPutChangesOnePlace(t *testing.T) {
	const doc = `{"a":[1,{"b":2}],"c":{"d":1.50}}`
	for _, c := range []struct {
		path  string
		value any
		want  string
	}{
		{"a[1].b", 3, `{"a":[1,{"b":3}],"c":{"d":1.50}}`}, {"c.e", true, `{"a":[1,{"b":2}],"c":{"d":1.50,"e":true}}`},
		{"c.d", absent, `{"a":[1,{"b":2}],"c":{}}`}, {"a[0]", absent, `{"a":[{"b":2}],"c":{"d":1.50}}`},
		{"x.y", 1, doc}, {"a[7]", 1, doc}, {"a.b", 1, doc}, {"c.d.e", 1, doc},
	} {
		v, err := decode(json.RawMessage(doc))
		if err != nil {
			t.Fatal(err)
		}
		path, _ := tokens(c.path)
		if got := encoded(put(v, path, c.value), ""); got != c.want {
			t.Errorf("%s: %s, expected %s", c.path, got, c.want)
		}
	}
}

func TestWantedFollowsTheWords(t *testing.T) {
	for _, c := range []struct{ old, shape, want string }{
		{`"4.25 USD"`, "Type: number (a JSON number).", `4.25`}, {`"4,25"`, "Type: number.", `4.25`}, {`"7,00"`, "Type: integer (whole).", `7`},
		{`"4.25"`, "Type: integer.\nExample of a valid value for this path: 5", `5`}, {`null`, "Type: number.\nExample of a valid value for this path: 4.25", `4.25`},
		{`"[1,{}]"`, "Type: array (a JSON array).", `[1,{}]`}, {`"see above"`, "Type: array.", `[]`}, {`"yes"`, "Type: boolean (true or false).", `true`},
		{`7`, "Type: string (in double quotes).", `"7"`}, {`"x or so"`, `Constraint: one of "x", "y".`, `"x"`}, {`1`, "Constraint: exactly false.", `false`},
		{`true`, "Type: string.\nConstraint: at least 3 characters.", `"xxxx"`}, {`-1`, "Type: number.\nConstraint: greater than 5.", `6`}, {`[]`, "Type: object.", `{}`},
		{`1`, "Nothing is allowed here: remove it.", ``}, {`1`, "A value without the fault that stands among the findings.", ``}, {``, "The key is missing: add it.\nType: integer.", `1`},
	} {
		old, err := decode(json.RawMessage(c.old))
		got, known := wanted(old, err == nil, strings.Split(c.shape, "\n"))
		switch {
		case got == absent:
			if c.want != "" || c.old == "" {
				t.Errorf("%s, %q: removed", c.old, c.shape)
			}
		case known != (c.want != "") || known && encoded(got, "?") != c.want:
			t.Errorf("%s, %q: %v, %v; expected %s", c.old, c.shape, got, known, c.want)
		}
	}
}

func TestCandidateIsFoundWhereItStands(t *testing.T) {
	turn := []schemas.Message{{Role: schemas.RoleUser, Content: "q"}, {Role: schemas.RoleAssistant, Content: "x"}, {Role: schemas.RoleUser, Content: "mend"}}
	block := []schemas.Message{{Role: schemas.RoleUser, Content: "Hello.\n\nRECEIVED\nThis.\n<received-2>\n{\"a\":\n1}\n</received-2>\n\nRULE\n"}}
	none := []schemas.Message{{Role: schemas.RoleUser, Content: "Answer again."}}
	for want, messages := range map[string][]schemas.Message{"x": turn, "{\"a\":\n1}": block, "": none} {
		if got, shown := candidate(messages); got != want || shown != (want != "") {
			t.Errorf("%q, %v; expected %q", got, shown, want)
		}
	}
}

func TestSameComparesValues(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{{`1`, `1.0`, true}, {`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1e0}`, true}, {`[1,2]`, `[2,1]`, false}, {`1`, `"1"`, false}, {`null`, `{}`, false}, {`{"a":null}`, `{}`, false},
		{`true`, `true`, true}, {`nonsense`, `nonsense`, false}, {`1`, ``, false}} {
		if got := same(json.RawMessage(c.a), json.RawMessage(c.b)); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// FuzzMender: whatever stands in a conversation, a scripted model answers.
func FuzzMender(f *testing.F) {
	f.Add(`{"a":"4 USD"}`, "\nFAILING PATH\na\n\nEXPECTED SHAPE\nType: number.\n\nRULE\n")
	f.Add("```json\n{'a':1,}\n```", "HINT\nWhat is asked for stands inside the key \"a\"; x")
	f.Add(`{}`, "\nRECEIVED\n<received>\n{}\n</received>\n")
	f.Fuzz(func(t *testing.T, answer, message string) {
		m, err := newMender()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Generate(t.Context(), &engine.GenerateRequest{Messages: []schemas.Message{{Role: schemas.RoleAssistant, Content: answer}, {Role: schemas.RoleUser, Content: message}}}); err != nil {
			t.Fatal(err)
		}
	})
}
