package main

import (
	"bytes"
	"strings"
	"testing"

	"emend/schemas"
)

// A result with attempts: full is shown call by call; without, nothing is.
func TestAttemptsAreShownWhereTheResultTellsThem(t *testing.T) {
	first, second := "{\"a\":\n\"x\"}", `{"a":1}`
	r := &schemas.Result{ID: "r", Status: schemas.StatusSucceeded, Output: []byte(second), Attempts: []schemas.Attempt{
		{Generation: 1, GenerationKind: schemas.GenerationInitial, Attempt: 1, Outcome: schemas.OutcomeCompleted, Finish: "stop", Content: &schemas.AttemptContent{Answer: &first,
			Verdict: &schemas.AttemptVerdict{Class: "schema_invalid", Findings: []schemas.Finding{{Pointer: "/a", Message: "must be an integer"}}}}},
		{StageAttempt: 2, Generation: 2, GenerationKind: schemas.GenerationRepair, Attempt: 2, Outcome: schemas.CategoryProviderStatus, Status: 503,
			Content: &schemas.AttemptContent{Appended: []schemas.Turn{{Role: schemas.RoleUser, Content: "mend it\n"}}, Omitted: map[string]int{schemas.PartAnswer: 9}}},
		{Generation: 2, GenerationKind: schemas.GenerationRepair, Attempt: 3, Outcome: schemas.OutcomeCompleted, Content: &schemas.AttemptContent{Answer: &second,
			Votes: []schemas.Validator{{Name: "j@1", Outcome: schemas.VoteRejected, Reasons: []schemas.Reason{{Code: "low", Guidance: "be higher"}}, Warnings: []schemas.Reason{{Code: "dry", Guidance: "wit"}}}}}},
		{Generation: 1, GenerationKind: schemas.GenerationInitial, Attempt: 1, Outcome: schemas.OutcomeCompleted},
	}}
	var out bytes.Buffer
	a := &app{streams: streams{out: &out}}
	if err := a.printResult(r); err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(out.String(), "call 1: ")
	want := `initial generation 1, completed (stop)
  answered
    {"a":
    "x"}
  verdict schema_invalid
    - a: must be an integer
call 2: stage attempt 2, repair generation 2, attempt 2, provider_status (503)
  sent as user
    mend it
  answer: 9 bytes left out
call 3: repair generation 2, attempt 3, completed
  answered
    {"a":1}
  ` + a.voteText("j@1", schemas.VoteRejected, "") + `
    low: be higher
    warning dry: wit
`
	if shown != want {
		t.Errorf("shown is\n%s\nwant\n%s", shown, want)
	}
	out.Reset()
	r.Attempts, r.AttemptsBlob = nil, &schemas.Blob{SHA256: "abc"}
	if err := a.printResult(r); err != nil || strings.Contains(out.String(), "call 1") || !strings.Contains(out.String(), "no longer stored: object sha256:abc") {
		t.Errorf("%v %s", err, out.String())
	}
}
