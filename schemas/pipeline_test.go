package schemas

import (
	"reflect"
	"strings"
	"testing"
)

func TestPipelineRequestIsStrict(t *testing.T) {
	good := `{"pipeline": "digest@1", "inputs": {"document": "text", "tags": [1]}, "reuse": "none", "attempts": "full", "timeout_s": 1.5,
		"deadline": null, "session_id": "s", "metadata": {"a": "b"}}`
	r, err := DecodePipelineRequest([]byte(good))
	if err != nil || r.Pipeline != "digest@1" || string(r.Inputs["tags"]) != "[1]" || *r.TimeoutS != 1.5 || r.Deadline != nil || r.Metadata["a"] != "b" {
		t.Fatalf("%+v %v", r, err)
	}
	_, err = DecodePipelineRequest([]byte(`{"input": {}, "reuse": 1}`))
	if err == nil || !strings.Contains(err.Error(), "input: unknown field") || !strings.Contains(err.Error(), "reuse: expected a string") {
		t.Errorf("%v", err)
	}
}

func TestStageOfARequest(t *testing.T) {
	r, err := DecodeRequest([]byte(`{"prompt": "a@1", "stage": {"pipeline": "p@1", "digest": "d", "stage": "extract", "lane": "x", "chunk": 3, "attempt": 2}}`))
	want := &StageRef{Pipeline: "p@1", Digest: "d", Stage: StageExtract, Lane: "x", Chunk: 3, Attempt: 2}
	if err != nil || !reflect.DeepEqual(r.Stage, want) {
		t.Errorf("%+v %v", r.Stage, err)
	}
	if _, err := DecodeRequest([]byte(`{"stage": {"lanes": "x"}}`)); err == nil || !strings.Contains(err.Error(), `stage.lanes`) {
		t.Errorf("%v", err)
	}
}

// The sum of wire forms tells as much as they do.
func TestSumOfUsage(t *testing.T) {
	one, two := int64(3), int64(4)
	var a, b, all UsageSum
	a.Add(&Tokens{Input: &one, Output: &two})
	b.Add(&Tokens{Input: &two})
	b.Add(&Tokens{Input: &two, Output: &one, Other: map[string]float64{"audio": 2}})
	all.Join(SumOf(a.Usage()))
	all.Join(SumOf(b.Usage()))
	all.Join(SumOf(nil))
	u := all.Usage()
	if u.Calls != 3 || *u.Input != 11 || *u.Output != 7 || u.Complete || !reflect.DeepEqual(u.Partial, []string{"audio", "output_tokens"}) || u.Other["audio"] != 2 {
		t.Errorf("%+v", u)
	}
	if u := SumOf(a.Usage()).Usage(); !u.Complete || len(u.Partial) != 0 {
		t.Errorf("%+v", u)
	}
}

func TestPipelineRequestHasAMaxCost(t *testing.T) {
	req, err := DecodePipelineRequest([]byte(`{"inputs":{"document":"x"},"max_cost":0.5}`))
	if err != nil || *req.MaxCost != Dollar/2 {
		t.Errorf("%+v %v", req, err)
	}
	if req, err = DecodePipelineRequest([]byte(`{"max_cost":null}`)); err != nil || req.MaxCost != nil {
		t.Errorf("%+v %v", req, err)
	}
}
