package schemas

import (
	"strings"
	"testing"
)

func TestReferenceNamesEveryFieldOfEveryMessage(t *testing.T) {
	text := ReferenceMarkdown()
	for _, s := range [][]byte{requestSchema, pipelineSchema, resultSchema, eventSchema, serviceSchema} {
		root := orderedJSON(s)
		for _, schema := range append([]pair{{"", root}}, root.get("$defs").pairs...) {
			for _, f := range schema.value.get("properties").pairs {
				if !strings.Contains(text, "| `"+f.name+"` | ") {
					t.Errorf("%s.%s is missing", schema.name, f.name)
				}
			}
		}
	}
	for _, want := range []string{"| `transient_retries` | integer, at least 0, at most 10 |", "| `messages` | array of message |", "| `settings` | settings |", "## Event"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
}
