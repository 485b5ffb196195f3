package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// mendedTexts is what the recorded texts become that Local changes; every other one keeps its verdict.
var mendedTexts = map[string]struct{ unwrap, syntax string }{
	"W01": {"", "syntax ok {\"verdict\":\"ok\",\"md\":\"line1\\nline2\"}"}, // a raw newline stays a newline
	"W03": {"unwrap ok {\"a\":\"```inner```\"}", "unwrap ok {\"a\":\"```inner```\"}"},
	"W06": {`unwrap ok {"title":"T"}`, `unwrap ok {"title":"T"}`},
	"W08": {`unwrap ok {"title":"T"}`, `unwrap ok {"title":"T"}`},
	// Once the fence is gone the text is sound, and nothing else may touch it.
	"J06": {`unwrap ok {"results":[{"regex":"^\\s*p\\(['\"]([^'\"]+)['\"]\\s*,"}]}`,
		`unwrap ok {"results":[{"regex":"^\\s*p\\(['\"]([^'\"]+)['\"]\\s*,"}]}`},
}

// TestTextsMended judges every recorded text with each option.
func TestTextsMended(t *testing.T) {
	seen := 0
	for _, c := range recordedTexts(t) {
		for local, want := range map[string]string{LocalNone: "", LocalUnwrap: mendedTexts[c.ID].unwrap, LocalSyntax: mendedTexts[c.ID].syntax} {
			spec := c.spec()
			spec.Local = local
			v := mustCompile(t, spec).Judge([]byte(c.Text))
			got := ""
			if v.Mended != "" {
				got = fmt.Sprintf("%s %s %s", v.Mended, v.Class, v.Derived)
				seen++
			}
			if got != want || got == "" && v.Class != c.Class || v.Err != nil {
				t.Errorf("%s, %s: %q, class %s, want %q, %s", c.ID, local, got, v.Class, want, c.Class)
			}
		}
	}
	if seen != 9 {
		t.Errorf("%d verdicts are about a derived text", seen)
	}
}

func TestUnwrap(t *testing.T) {
	const fence, value = "```", `{"a":1}`
	for _, c := range []struct{ name, text, want string }{
		{"fence", fence + "\n" + value + "\n" + fence, value},
		{"fence with a word", fence + "json\n" + value + "\n" + fence, value},
		{"fence with another word", fence + " JSON5 \n" + value + "\n" + fence + "\n\n", value},
		{"fence on one line", fence + "json " + value + fence, value},
		{"fence without a break", fence + value + fence, value},
		{"word without a break", fence + "json" + value + fence, value},
		{"tildes", "~~~json\n" + value + "\n~~~", value},
		{"longer fence", fence + "`\n" + value + "\n" + fence + "`", value},
		{"scalar", fence + "\ntrue\n" + fence, `true`},
		{"scalar that could be a word", fence + "json\nnull\n" + fence, `null`},
		{"fence in the value", fence + "\n{\"a\":\"" + fence + "\\n\"}\n" + fence, "{\"a\":\"" + fence + "\\n\"}"},
		{"byte order mark", "\ufeff" + value, value},
		{"think before", "<think>\nis it {\"b\":2}?\n</think>\n\n" + value, value},
		{"empty think", "<think></think>" + value, value},
		{"thinking", "<thinking>x</thinking>" + value, value},
		{"reasoning around", "<reasoning> " + value + " </reasoning>", value},
		{"tag in the value", `<think>x</think>{"a":"</think><think>"}`, `{"a":"</think><think>"}`},
		{"all three", "\ufeff<think>x</think>\n" + fence + "json\n" + value + "\n" + fence, value},
		{"schema is judged on what is left", fence + "\n{\"a\":\"x\"}\n" + fence, `schema_invalid {"a":"x"}`},

		{"two fences", fence + "\n" + value + "\n" + fence + "\n" + fence + "\n" + value + "\n" + fence, ""},
		{"fence in a fence", fence + "\n" + fence + "\n" + value + "\n" + fence + "\n" + fence, ""},
		{"prose before", "Here:\n" + fence + "\n" + value + "\n" + fence, ""},
		{"prose after", fence + "\n" + value + "\n" + fence + "\nDone.", ""},
		{"prose in the fence", fence + "\nThe answer is " + value + "\n" + fence, ""},
		{"two values", fence + "\n" + value + "\n" + value + "\n" + fence, ""},
		{"a literal is no word", fence + "true\n" + value + "\n" + fence, ""},
		{"a number is no word", fence + "1\n" + value + "\n" + fence, ""},
		{"open fence", fence + "json\n" + value, ""},
		{"other end", fence + "\n" + value + "\n~~~", ""},
		{"shorter end", fence + "`\n" + value + "\n" + fence, ""},
		{"two backticks", "``" + value + "``", ""},
		{"only backticks", fence + fence, ""},
		{"empty fence", fence + "json\n" + fence, ""},
		{"open think", "<think>x " + value, ""},
		{"nested think", "<think>a<think>b</think>" + value, ""},
		{"two thinks", "<think>a</think><think>b</think>" + value, ""},
		{"other end tag", "<think>a</thinking>" + value, ""},
		{"only the end tag", "x</think>" + value, ""},
		{"draft in an ended think, answer missing", `<think>a</think>{"draft":true}</think>` + value, ""},
		{"think after", value + "<think>a</think>", ""},
		{"think in a fence", fence + "\n<think>a</think>" + value + "\n" + fence, ""},
		{"two marks", "\ufeff\ufeff" + value, ""},
		{"quoted", "\"" + fence + value + fence + "\"x", ""},
		{"cut in the fence", fence + "json\n{\"a\":", ""},
		{"duplicate key stays what it is", fence + "\n{\"a\":1,\"a\":2}\n" + fence, ""},
	} {
		spec := Spec{Mode: "json_schema", Schema: json.RawMessage(`{"properties":{"a":{"type":["integer","string"],"maxLength":0}}}`), Local: LocalUnwrap}
		if !strings.HasPrefix(c.want, "schema_invalid") {
			spec.Schema = json.RawMessage(`{}`)
		}
		v := mustCompile(t, spec).Judge([]byte(c.text))
		got := string(v.Derived)
		if v.Class == SchemaInvalid {
			got = "schema_invalid " + got
		}
		if got != c.want || (v.Mended == LocalUnwrap) != (c.want != "") || v.Mended == "" && v.Class != NotJSON {
			t.Errorf("%s: %q (%s, class %s), want %q", c.name, got, v.Mended, v.Class, c.want)
		}
		if v.Mended != "" && !bytes.Equal(v.Value, v.Derived) {
			t.Errorf("%s: the value is %s", c.name, v.Value)
		}
	}
}

// TestMendKeepsSoundTexts: what is sound as it came is judged as it came, and what no layer explains keeps its finding.
func TestMendKeepsSoundTexts(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json", Local: LocalSyntax})
	for text, want := range map[string]Class{
		`{"a":1}`: OK, "\"```json\\n{}\\n```\"": OK, ` "<think>x</think>" `: OK, "": EmptyOutput, `{"a":1}{"a":2}`: MultipleJSON,
		`{"a":1,"a":2}`: DuplicateKey, `{"a":"\ud800"}`: LoneSurrogate, "{\"a\":\"\xff\",}": InvalidUTF8, `[1e9999]`: NumberOutRange,
		strings.Repeat("[", 201) + strings.Repeat("]", 201): TooDeep, `{"a":[1,`: NotJSON,
	} {
		v := c.Judge([]byte(text))
		if v.Class != want || v.Mended != "" || v.Derived != nil {
			t.Errorf("%q: %s, mended %q", text, v.Class, v.Mended)
		}
	}
	raw := mustCompile(t, Spec{Mode: "json"}).Judge([]byte("Sure: {\"a\":1,}"))
	if v := c.Judge([]byte("Sure: {\"a\":1,}")); fmt.Sprint(v) != fmt.Sprint(raw) {
		t.Errorf("%+v, want %+v", v, raw)
	}
}

func TestLocalIsChecked(t *testing.T) {
	for _, c := range []struct{ mode, local, want string }{
		{"json", "", ""}, {"json", LocalNone, ""}, {"json", LocalUnwrap, ""}, {"json", LocalSyntax, ""}, {"none", LocalNone, ""},
		{"json", "fix", `unknown local "fix"`}, {"basic", LocalUnwrap, "mode basic takes any text"}, {"none", LocalSyntax, "mode none takes any text"},
	} {
		_, err := Compile(Spec{Mode: c.mode, Local: c.local})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.mode, c.local, err)
		}
	}
}
