package schemas

import (
	"reflect"
	"testing"
)

// contentInFull is a content with something in each part.
func contentInFull() *AttemptContent {
	text := "the answer"
	return &AttemptContent{Appended: []Turn{{RoleAssistant, "before"}, {RoleUser, "mend it"}}, Answer: &text,
		Verdict: &AttemptVerdict{Class: "schema_invalid", Findings: []Finding{{Pointer: "/a", Keyword: "type", Message: "must be a number", Expected: []byte(`"number"`)}}, Changed: []string{"/b"}},
		Votes:   []Validator{{Name: "j@1", Outcome: VoteRejected, Reasons: []Reason{{"low", "higher"}, {"odd", ""}}, Warnings: []Reason{{"dry", "wit"}}, Calls: 1}}}
}

func TestAPartIsLeftOutWholeAndItsLengthNoted(t *testing.T) {
	c := contentInFull()
	sizes := c.Sizes()
	if want := map[string]int{PartAppended: 13, PartAnswer: 10, PartFindings: 28, PartVotes: 9}; !reflect.DeepEqual(sizes, want) || c.Bytes() != 60 {
		t.Fatalf("%v, %d in all", sizes, c.Bytes())
	}
	for part, size := range sizes {
		less := c.Without(part)
		if less.Omitted[part] != size || less.Bytes() != c.Bytes()-size || len(less.Omitted) != 1 {
			t.Errorf("%s: %v, %d bytes", part, less.Omitted, less.Bytes())
		}
	}
	if !reflect.DeepEqual(c, contentInFull()) {
		t.Error("the content itself has changed")
	}
	if v := c.Without(PartVotes).Votes[0]; len(v.Reasons) != 2 || v.Reasons[0] != (Reason{Code: "low"}) || v.Warnings[0] != (Reason{Code: "dry"}) || v.Outcome != VoteRejected {
		t.Errorf("what a vote still tells: %+v", v)
	}
	if v := c.Without(PartFindings).Verdict; v.Class != "schema_invalid" || v.Findings != nil || v.Changed != nil {
		t.Errorf("what a verdict still tells: %+v", v)
	}
	if none := (*AttemptContent)(nil); none.Bytes() != 0 {
		t.Error("no content has bytes")
	}
}

func TestLeanAttemptsHaveNoText(t *testing.T) {
	all := []Attempt{{Outcome: OutcomeCompleted, Content: contentInFull()}, {Outcome: CategoryTimeout}}
	lean, had := Lean(all)
	if !had || lean[0].Content.Bytes() != 0 || len(lean[0].Content.Omitted) != 4 || lean[1].Content != nil || !reflect.DeepEqual(all[0].Content, contentInFull()) {
		t.Errorf("%v %+v", had, lean)
	}
	if twice, had := Lean(lean); had || !reflect.DeepEqual(twice, lean) {
		t.Errorf("what is lean has text: %v %+v", had, twice)
	}
}
