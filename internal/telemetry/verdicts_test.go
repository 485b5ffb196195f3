package telemetry

import (
	"reflect"
	"sync"
	"testing"

	"emend/engine/event"
	"emend/schemas"
)

func verdict(prompt, class, mended string, keywords ...string) event.Validation {
	v := event.Validation{Position: event.Position{Prompt: prompt}, Class: class, Valid: class == "ok", Mended: mended}
	for _, k := range keywords {
		v.Findings = append(v.Findings, schemas.EventFinding{Pointer: "/x", Keyword: k})
	}
	return v
}

func TestVerdictsAreCountedPerPromptAndKeyword(t *testing.T) {
	var v Verdicts
	for _, e := range []event.Event{
		event.Started{}, verdict("a@1", "ok", ""), verdict("a@1", "schema_invalid", "", "type", "type", "required"), verdict("a@1", "schema_invalid", "", "type"),
		verdict("a@1", "not_json", "", "not_json"), verdict("a@1", "", ""), verdict("", "ok", "unwrap"), event.Finished{},
	} {
		v.Count(e)
	}
	want := map[string]PromptVerdicts{
		"a@1":  {Candidates: 5, Invalid: 3, Unjudged: 1, Keywords: map[string]int64{"type": 2, "required": 1, "not_json": 1}},
		Inline: {Candidates: 1, Mended: 1, Keywords: map[string]int64{}},
	}
	got := v.Snapshot()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	got["a@1"].Keywords["type"] = 99
	if v.Snapshot()["a@1"].Keywords["type"] != 2 {
		t.Error("a snapshot can be changed from outside")
	}
}

func TestCountingIsConcurrent(t *testing.T) {
	var v Verdicts
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { v.Count(verdict("a@1", "schema_invalid", "", "type")) })
		wg.Go(func() { _ = v.Snapshot() })
	}
	wg.Wait()
	if got := v.Snapshot()["a@1"]; got.Invalid != 50 || got.Keywords["type"] != 50 {
		t.Errorf("%+v", got)
	}
}
