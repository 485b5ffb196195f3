package repair_test

import (
	"strings"
	"testing"

	"emend/engine/repair"
)

const editsSchema = `{"type":"object","properties":{"edits":{"type":"array"},"o":{"type":["object","null"]}},"required":["edits"]}`

func TestHintsNameWhatIsSeen(t *testing.T) {
	const steps = `{"type":"object","properties":{"steps":{"type":"array"}},"required":["steps"],"additionalProperties":false}`
	for _, c := range []struct{ name, schema, text, want string }{
		{"W01 fence", ab, "```json\n{\"a\":\"x\ny\"}\n```", "The answer stands in a Markdown fence; return the JSON alone."},
		{"W08 think block", ab, "<think>x</think>{}", "The answer begins with a thinking block; return the JSON alone."},
		{"byte order mark", ab, "\ufeff{}", "The answer begins with a byte order mark; return the JSON alone."},
		{"W11 several values", ab, `{"a":"x","b":1}` + "\n" + `{"a":"x","b":1}`, "The answer holds more than one JSON value; return exactly one."},
		{"schema echoed", ab, ab, "The answer repeats the schema; return a value that the schema describes."},
		{"W13 tool envelope", steps, `{"tool_name":"out","parameters":{"steps":[]}}`, `What is asked for stands inside the key "parameters"; return that alone, without anything around it.`},
		{"arguments as text", steps, `{"name":"out","arguments":"{\"steps\":[]}"}`, `What is asked for stands inside the key "arguments"; return that alone, without anything around it.`},
		{"W14 class name", ab, `{"Answer":{"a":"x","b":1}}`, `What is asked for stands inside the key "Answer"; return that alone, without anything around it.`},
		{"array in a key", `{"type":"array"}`, `{"items":[1]}`, `The array stands inside the key "items"; return the array alone.`},
		{"object in an array", ab, `[{"a":"x","b":1}]`, "The object stands inside an array; return the object alone."},
		{"W16 array as text", editsSchema, `{"edits":"[{\"old\":\"a\"}]"}`, "At edits the array is given as text; write the array itself, without quotes around it."},
		{"object as text", editsSchema, `{"edits":[],"o":" {} "}`, "At o the object is given as text; write the object itself, without quotes around it."},
		{"whole answer as text", ab, `"{\"a\":\"x\"}"`, "At (root) the object is given as text; write the object itself, without quotes around it."},

		{"text that is no JSON", editsSchema, `{"edits":"[see above]"}`, ""},
		{"text of another kind", editsSchema, `{"edits":"{}"}`, ""},
		{"a key inside a declared key", `{"properties":{"child":{},"name":{}},"required":["name"]}`, `{"child":{"name":"x"}}`, ""},
		{"properties as a key of its own", `{"properties":{"properties":{},"type":{}},"required":["x"]}`, `{"type":"a","properties":{"b":1}}`, ""},
		{"part of what is asked for", ab, `{"Answer":{"a":"x"}}`, ""},
		{"two items", ab, `[{"a":"x","b":1},{}]`, ""},
		{"plain fault", ab, `{"a":1,"b":1}`, ""},
		{"prose", ab, "Here is `the` result: {}", ""},
		{"blank", ab, " ", ""},
	} {
		v := judge(t, c.schema, c.text)
		for _, style := range []string{repair.StyleConversation, repair.StyleTargeted, repair.StyleRegenerate} {
			message := repair.Message([]byte(c.text), v, repair.Style{Style: style})
			_, rest, found := strings.Cut(message, "\nHINT\n")
			got, _, _ := strings.Cut(rest, "\n\n")
			if found != (c.want != "") || got != c.want {
				t.Errorf("%s, %s: hint %q, expected %q", c.name, style, got, c.want)
			}
		}
	}
}

// An answer that was cut off is asked for again; what its beginning looks like does not matter.
func TestCutAnswerGetsNoHint(t *testing.T) {
	text := "```json\n{\"a\":"
	if got := repair.Message([]byte(text), judge(t, ab, text), repair.Style{Style: repair.StyleRegenerate, Cut: true}); strings.Contains(got, "HINT") {
		t.Errorf("hint:\n%s", got)
	}
}

// A key that a model made up is quoted and bounded where a hint names it.
func TestHintBoundsTheKeyItNames(t *testing.T) {
	text := `{"` + strings.Repeat("k", 500) + `\nRULE":{"a":"x","b":1}}`
	got := repair.Message([]byte(text), judge(t, ab, text), repair.Style{})
	if _, hint, _ := strings.Cut(got, "HINT\n"); strings.Contains(hint, strings.Repeat("k", 100)) || strings.Contains(hint, "\nRULE") {
		t.Errorf("hint: %s", hint)
	}
}
