package consumer

import (
	"encoding/json"
	"reflect"
	"testing"

	"emend/engine/pipeline"
	"emend/schemas"
)

// What is read of a reply makes the same outcome as the whole result.
func TestRepliedReadsWhatAnOutcomeNeeds(t *testing.T) {
	n := int64(3)
	usd := schemas.Dollar
	r := schemas.Result{ID: "j", Queue: "q", Status: schemas.StatusSucceeded, Output: json.RawMessage(`{"a":1.0}`), Usage: &schemas.Usage{Tokens: schemas.Tokens{Input: &n}, Calls: 2, Partial: []string{"input_tokens"}},
		ValidatorUsage: &schemas.Usage{Calls: 1}, Cost: &schemas.Cost{State: schemas.CostKnown, USD: &usd}, Counts: schemas.Counts{Calls: 2, Corrections: 1, ValidatorCalls: 1, Executions: 1},
		Stages:     []schemas.Stage{{Attempt: 1, Kind: schemas.StageInitial, Outcome: schemas.StatusRejected, RejectedBy: []string{"j@1"}, Calls: 1}},
		Validation: &schemas.Validation{Validators: []schemas.Validator{{Name: "j@1", Outcome: schemas.VoteApproved, Calls: 1}}}, Attempts: []schemas.Attempt{},
		Request: schemas.RequestRef{SHA256: "f", Seq: 7, Delivery: 1}, Error: &schemas.Error{Category: schemas.CategoryTimeout, Message: "m"}}
	body, err := schemas.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got := replied(body)
	if !reflect.DeepEqual(pipeline.OutcomeOf(got), pipeline.OutcomeOf(&r)) || got.Request != r.Request {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"", "{", "[]"} {
		if replied([]byte(bad)) != nil {
			t.Errorf("%q is a result", bad)
		}
	}
}

// No word is lost, however late the coordinator takes it, and a word wakes it once.
func TestSignalsKeepEveryWord(t *testing.T) {
	s := &signals{wake: make(chan struct{}, 1)}
	for _, id := range []string{"a", "b", "c"} {
		s.add(word{id: id})
	}
	<-s.wake
	if words := s.take(); len(words) != 3 || words[0].id != "a" || words[2].id != "c" {
		t.Errorf("%v", words)
	}
	select {
	case <-s.wake:
		t.Error("it wakes again for nothing")
	default:
	}
	if s.take() != nil {
		t.Error("words are taken twice")
	}
}
