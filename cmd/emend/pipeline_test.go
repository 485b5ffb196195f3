package main

import (
	"encoding/json"
	"strings"
	"testing"

	"emend/schemas"
)

const digestExample = "../../examples/contract-digest"

// The example runs offline: four chunks, two lanes, a rule and a judge; the first extraction is rejected by both, and
// corrected once.
func TestContractDigestExample(t *testing.T) {
	got := emend(t, "", "try", "--json", "--dir", digestExample, "--pipeline", "contract-digest", "document=@"+digestExample+"/contract.md")
	var r schemas.Result
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
		t.Fatalf("%v %+v", err, got)
	}
	want := `{"parties":[{"name":"Harbour Mills Ltd","role":"supplier"},{"name":"Northern Bakeries","role":"customer"},{"name":"Quay Freight","role":"carrier"}],` +
		`"duties":[{"party":"Quay Freight","duty":"collect the flour","due":"2027-02-26"},{"party":"Harbour Mills Ltd","duty":"deliver 40 tonnes of flour","due":"2027-03-01"},` +
		`{"party":"Northern Bakeries","duty":"pay within 30 days","due":"2027-03-31"}]}`
	if string(r.Output) != want || r.Status != schemas.StatusSucceeded || !r.Validation.Valid || r.Validation.Rules != schemas.RulesPassed {
		t.Errorf("%s %s", r.Status, r.Output)
	}
	if r.Pipeline.Chunks != 4 || r.Counts.Calls != 9 || r.Counts.Repairs != 0 || r.Counts.Corrections != 1 || r.Counts.ValidatorCalls != 5 {
		t.Errorf("%+v", r.Counts)
	}
	parties := r.Pipeline.Stages[1]
	if parties.Corrected != 1 || parties.RejectedBy["grounded@1"] != 1 || parties.RejectedBy["role_missing"] != 1 || parties.Attempts[schemas.StageCorrection] != 1 || parties.Attempts[schemas.StageInitial] != 4 {
		t.Errorf("%+v", parties)
	}
}

func TestTryOfAPipelineShowsItsStages(t *testing.T) {
	got := emend(t, "", "try", "--dir", digestExample, "--pipeline", "contract-digest@1", "document=@"+digestExample+"/contract.md")
	for _, want := range []string{"parties extract   0/4 running", "extract-0-1", "invalid: rule_failed", "- parties: rule ", "judge grounded@1: rejected", "stage attempt 2: correction", "duties normalize 1/1 advanced",
		"contract-digest@1, 4 chunks", "parties extract   4/4 advanced, 1 corrected"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is not in\n%s", want, got.out)
		}
	}
	if got.code != 0 {
		t.Errorf("exit %d", got.code)
	}
}

func TestPipelineUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"there is no pipeline \"nothing\" (there are contract-digest)": {"try", "--dir", digestExample, "--pipeline", "nothing", "document=x"},
		"the document is empty":           {"try", "--dir", digestExample, "--pipeline", "contract-digest", "document= "},
		"--backend and --profile are for": {"run", "--pipeline", "contract-digest", "--backend", "m", "document=x"},
		"write NAME or NAME@VERSION":      {"run", "--pipeline", "A b", "document=x"},
		"write NAME=VALUE":                {"run", "--pipeline", "contract-digest", "document"},
	} {
		if r := emend(t, "", args...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func TestCheckCountsPipelines(t *testing.T) {
	if r := emend(t, "", "check", digestExample); r.code != 0 || !strings.Contains(r.out, "3 prompts and 1 pipeline checked") {
		t.Errorf("%+v", r)
	}
	if r := emend(t, "", "check", "--json", digestExample); r.code != 0 || !strings.Contains(r.out, `"pipelines":1`) {
		t.Errorf("%+v", r)
	}
}
