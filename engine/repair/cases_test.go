package repair_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"emend/engine/contract"
	"emend/engine/repair"
	"emend/schemas"
)

// text is one line of package contract's testdata/texts.jsonl: an answer that broke another system.
type text struct {
	ID, Text string
	Schema   json.RawMessage
}

func (c text) judge(t *testing.T) contract.Verdict {
	t.Helper()
	if string(c.Schema) != "null" {
		return judge(t, string(c.Schema), c.Text)
	}
	compiled, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSON})
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Judge([]byte(c.Text))
}

// targetedTexts are the recorded answers that a targeted correction mends, with its targets. All others that are
// invalid get a conversation.
var targetedTexts = map[string]string{
	"W16": "/edits", "S05": "/k", "S06": "/0", "S11": "/org", "L01.c0": "/age", "L06.c0": "/movie", "L06.c1": "/movie",
	"S15.c0": "/a", "S15.c1": "/a", "S15.c2": "/a", "S15.c3": "/a", "L08.c0": "/a", "L10.c0": "/a", "U01.c0": "/a", "U03.c0": "/a",
	"H07.1": "/A",
}

func TestRecordedTexts(t *testing.T) {
	file, err := os.Open("../contract/testdata/texts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var c text
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			if v := c.judge(t); !v.Valid() {
				c.corrected(t, v)
			}
		})
	}
	if n < 50 {
		t.Errorf("%d texts", n)
	}
}

func (c text) corrected(t *testing.T, v contract.Verdict) {
	t.Helper()
	style, targets := repair.StyleConversation, targetedTexts[c.ID]
	if targets != "" {
		style = repair.StyleTargeted
	}
	choice := repair.Choose([]byte(c.Text), v, repair.Options{})
	if choice.Style != style || strings.Join(choice.Targets, " ") != targets {
		t.Errorf("%+v, expected %s %s", choice, style, targets)
	}
	turns := 2
	if c.Text == "" {
		turns = 1
	}
	got := repair.Correct(base, []byte(c.Text), v, repair.Style{Mode: schemas.ModeJSONSchema, N: 1, M: 1, Style: choice.Style})
	if len(got) != len(base)+turns || turns == 2 && got[2].Content != c.Text {
		t.Errorf("conversation %+v", got)
	}
	if last := got[len(got)-1].Content; len(last) > 8192 {
		t.Errorf("the correction has %d bytes", len(last))
	}
}

// Report W13: under on_shape: regenerate the whole is asked for anew, and its wrong form is not shown again.
func TestWrongShapeIsAskedForAgain(t *testing.T) {
	text := `{"tool_name":"out","parameters":{"steps":[]}}`
	v := judge(t, `{"type":"object","properties":{"steps":{"type":"array"}},"required":["steps"],"additionalProperties":false}`, text)
	choice := repair.Choose([]byte(text), v, repair.Options{OnShape: repair.OnShapeRegenerate})
	got := repair.Correct(base, []byte(text), v, repair.Style{Mode: schemas.ModeJSONSchema, N: 1, M: 1, Style: choice.Style})
	if len(got) != len(base)+1 || strings.Contains(got[2].Content, text) {
		t.Fatalf("conversation %+v", got)
	}
	for _, want := range []string{"does not have the shape", "not shown", `"steps"`, "HINT", "from the beginning", "Correction 1 of 1"} {
		if !strings.Contains(got[2].Content, want) {
			t.Errorf("the correction lacks %q:\n%s", want, got[2].Content)
		}
	}
	if strings.Contains(got[2].Content, "cut off") {
		t.Error("it was not cut off")
	}
}
