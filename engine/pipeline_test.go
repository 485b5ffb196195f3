package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"emend/engine"
	"emend/engine/event"
	"emend/engine/pipeline"
	"emend/prompts"
	"emend/schemas"
)

// pipelineEngine is an engine over a pipeline whose backend plays script.
func pipelineEngine(t *testing.T, script string, replace ...string) *engine.Engine {
	t.Helper()
	e, err := engine.New(pipelineSnapshot(t, script, replace...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func pipelineSnapshot(t *testing.T, script string, replace ...string) *prompts.Snapshot {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"emend.yaml":           "backends: {m: {dialect: scripted, options: {script: script.yaml}, permits: 3}}\nprofiles: {fast: {backend: m, model: small}}\ntransient_retries: 0\n",
		"script.yaml":          script,
		"prompts/names@1.yaml": "profile: fast\ninputs: {chunk: {}, index: {}}\nmessages: [{user: 'NAMES {{ .index }} {{ .chunk }}'}]\noutput: {mode: json}\nretries: 1\nchecks: [{judge: judge}]\n",
		"prompts/judge@1.yaml": "profile: fast\ninputs: {candidate: {}}\nmessages: [{user: 'JUDGE {{ .candidate }}'}]\n",
		"prompts/tidy@1.yaml":  "profile: fast\ninputs: {merged: {}}\nmessages: [{user: 'TIDY {{ .merged }}'}]\noutput: {mode: json}\n",
		"prompts/split@1.yaml": "profile: fast\ninputs: {numbered: {}}\nmessages: [{user: 'SPLIT {{ .numbered }}'}]\n",
		"pipelines/p@1.yaml":   "chunk: {by: paragraphs, size: 16B}\nlanes:\n  names: {extract: {prompt: names}, normalize: {prompt: tidy, retries: 2, retry_when: 'size(normalized) < 2'}}\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(strings.NewReplacer(replace...).Replace(text))}
	}
	snap, err := prompts.LoadFS(files)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

const approving = `
rules:
  - match: {contains: JUDGE}
    replies: [{json: {reasons: [], decision: approve}}]
`

func TestRunPipelineInThisProcess(t *testing.T) {
	e := pipelineEngine(t, approving+`
  - match: {contains: NAMES 1}
    replies: [{json: [a, b]}]
  - match: {contains: NAMES 2}
    replies: [{json: [c]}]
  - match: {contains: TIDY}
    replies: [{json: [x]}, {json: [x, y]}]
`)
	var told []string
	seen := map[string]int{}
	var mu sync.Mutex
	r, err := e.RunPipeline(context.Background(), engine.PipelineRequest{ID: "try", Pipeline: "p", Inputs: map[string]any{"document": "First one.\n\nSecond one."},
		Attempts: schemas.AttemptsFull, Metadata: map[string]string{"a": "b"}, Progress: func(p pipeline.Tell) { told = append(told, p.Lane+" "+p.Stage+" "+p.Outcome) },
		Observer: event.Func(func(_ context.Context, ev event.Event) { mu.Lock(); defer mu.Unlock(); seen[fmt.Sprintf("%T", ev)]++ })})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != schemas.StatusSucceeded || string(r.Output) != `{"names":["x","y"]}` || r.Metadata["a"] != "b" || r.Usage.Calls != 4 || r.ValidatorUsage.Calls != 2 {
		t.Fatalf("%s %s %+v", r.Status, r.Output, r)
	}
	normalize := r.Pipeline.Stages[3]
	if normalize.Attempts["initial"] != 1 || normalize.Attempts["retry"] != 1 || normalize.Jobs.Done != 1 {
		t.Errorf("the second normalize is asked from the same budget: %+v", normalize)
	}
	if len(r.Pipeline.Jobs) != 4 || r.Pipeline.Jobs[0].Chunk != 1 || string(r.Pipeline.Jobs[1].Output) != `["c"]` {
		t.Errorf("%+v", r.Pipeline.Jobs)
	}
	if seen["event.Finished"] != 4 || len(told) == 0 || told[0] != " chunk advanced" {
		t.Errorf("%v %v", seen, told)
	}
}

// A rejection with budget left is corrected inside its job, and told in the provenance.
func TestPipelineCorrectsWhatAJudgeRejects(t *testing.T) {
	e := pipelineEngine(t, `
rules:
  - match: {contains: 'JUDGE ["bad"]'}
    replies: [{json: {reasons: [{code: invented, guidance: leave it out}], decision: reject}}]
`+strings.TrimPrefix(approving, "\nrules:\n")+`
  - match: {contains: leave it out}
    replies: [{json: [good]}]
  - match: {contains: NAMES 1}
    replies: [{json: [bad]}]
  - match: {contains: TIDY}
    replies: [{json: [x, y]}]
`)
	r, err := e.RunPipeline(context.Background(), engine.PipelineRequest{Pipeline: "p@1", Inputs: map[string]any{"document": "Only one."}})
	if err != nil || r.Status != schemas.StatusSucceeded {
		t.Fatalf("%+v %v", r, err)
	}
	extract := r.Pipeline.Stages[1]
	if extract.Corrected != 1 || extract.Attempts["correction"] != 1 || extract.RejectedBy["judge@1"] != 1 || r.Counts.Corrections != 1 || extract.Decision != schemas.StageAdvanced {
		t.Errorf("%+v", extract)
	}
	if r.Pipeline.Jobs != nil {
		t.Error("content without attempts: full")
	}
}

func TestNormalizeFallback(t *testing.T) {
	script := approving + `
  - match: {contains: NAMES}
    replies: [{json: [a]}]
  - match: {contains: TIDY}
    replies: [{json: [x]}]
`
	for fallback, want := range map[string]string{"": `{"names":["a"]}`, ", fallback: last": `{"names":["x"]}`, ", fallback: fail": ""} {
		e := pipelineEngine(t, script, "size(normalized) < 2'", "size(normalized) < 2'"+fallback)
		r, err := e.RunPipeline(context.Background(), engine.PipelineRequest{Pipeline: "p", Inputs: map[string]any{"document": "One."}})
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Output) != want || r.Pipeline.Stages[3].Attempts["retry"] != 2 || (want == "") != (r.Status == schemas.StatusFailed) {
			t.Errorf("%s: %s %s %+v", fallback, r.Status, r.Output, r.Pipeline.Stages[3])
		}
	}
}

func TestChunkPromptCuts(t *testing.T) {
	e := pipelineEngine(t, approving+`
  - match: {contains: SPLIT}
    replies: [{json: {starts: [9]}}, {json: {starts: [1, 3]}}]
  - match: {contains: NAMES 1}
    replies: [{json: [a]}]
  - match: {contains: NAMES 2}
    replies: [{json: [b]}]
  - match: {contains: TIDY}
    replies: [{json: [x, y]}]
`, "{by: paragraphs, size: 16B}", "{prompt: split}")
	r, err := e.RunPipeline(context.Background(), engine.PipelineRequest{Pipeline: "p", Inputs: map[string]any{"document": "one\ntwo\nthree\n"}, Attempts: schemas.AttemptsFull})
	if err != nil || r.Status != schemas.StatusSucceeded || r.Pipeline.Chunks != 2 || r.Counts.Repairs != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	if first := r.Pipeline.Jobs[0]; first.Stage != schemas.StageChunk || string(first.Output) != `{"starts":[1,3]}` {
		t.Errorf("%+v", first)
	}
}

func TestPipelineIsRefusedOrStopped(t *testing.T) {
	e := pipelineEngine(t, "default: {replies: [{json: [a], delay: 1h}]}\n")
	_, err := e.RunPipeline(context.Background(), engine.PipelineRequest{Pipeline: "q", Inputs: map[string]any{"document": "One."}})
	if !errors.Is(err, engine.ErrInvalidRequest) || !strings.Contains(err.Error(), "there is no pipeline") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, err := e.RunPipeline(ctx, engine.PipelineRequest{Pipeline: "p", Inputs: map[string]any{"document": "One."},
		Observer: event.Func(func(_ context.Context, ev event.Event) {
			if _, ok := ev.(event.AttemptStarted); ok {
				cancel()
			}
		})})
	if err != nil || r.Status != schemas.StatusCancelled || r.Output != nil {
		t.Errorf("%+v %v", r, err)
	}
}

// A validator in Go judges the jobs of a pipeline run too, behind the judges; what it rejects is corrected from the stage's retries,
// and what it cannot decide is incomplete.
func TestGoValidatorsInAPipeline(t *testing.T) {
	snap := pipelineSnapshot(t, approving+`
  - match: {contains: NAMES 1}
    replies: [{json: [a, b]}, {json: [a]}]
  - match: {contains: NAMES 2}
    replies: [{json: [c]}]
  - match: {contains: TIDY}
    replies: [{json: [x, y]}]
`, "{judge: judge}", "{judge: judge}, {go: one}")
	one := engine.Validator{Name: "one", Validate: func(_ context.Context, c engine.CandidateView) (engine.Vote, error) {
		switch {
		case strings.Contains(string(c.Value), "b"):
			return engine.Vote{Reject: []engine.Reason{{Code: "many", Guidance: "name one"}}}, nil
		case strings.Contains(string(c.Value), "c"):
			return engine.Vote{}, engine.ErrSkip
		}
		return engine.Vote{}, nil
	}}
	e, err := engine.New(snap, engine.WithValidators(one))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	r, err := e.RunPipeline(t.Context(), engine.PipelineRequest{Pipeline: "p", Inputs: map[string]any{"document": "First one.\n\nSecond one."}})
	if err != nil || r.Status != schemas.StatusUnverified || string(r.Output) != `{"names":["x","y"]}` {
		t.Fatalf("%+v %v", r, err)
	}
	extract := r.Pipeline.Stages[1]
	if extract.Attempts["initial"] != 2 || extract.Attempts["correction"] != 1 || extract.Corrected != 1 || extract.Jobs.Incomplete != 1 ||
		extract.RejectedBy["one"] != 1 || extract.SkippedValidators["one"] != 1 {
		t.Errorf("%+v", extract)
	}
}

// What a deterministic stage made is rejected by its rules, each under its name; nothing is asked again.
func TestRulesRejectADeterministicStage(t *testing.T) {
	snap := pipelineSnapshot(t, approving+`
  - match: {contains: NAMES 1}
    replies: [{json: [a, b]}]
  - match: {contains: NAMES 2}
    replies: [{json: [c]}]
`, "normalize: {prompt: tidy, retries: 2, retry_when: 'size(normalized) < 2'}",
		"merge: {checks: [{rule: 'size(output) < 3', code: few, message: at most two}, {rule: 'size(output) < 4'}, {rule: 'size(output) == 1'}], validation_policy: {semantic_rejection: reject_output}}")
	e, err := engine.New(snap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	r, err := e.RunPipeline(t.Context(), engine.PipelineRequest{Pipeline: "p", Inputs: map[string]any{"document": "First one.\n\nSecond one."}})
	if err != nil || r.Status != schemas.StatusRejected || r.Counts.Calls != 2 || len(r.Pipeline.Rejections) != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	if got := r.Pipeline.Rejections[0]; got.Stage != schemas.StageMerge || !slices.Equal(got.By, []string{"few", "rule_3"}) || !slices.Equal(got.Codes, []string{"few", "rule_3"}) {
		t.Errorf("%+v", got)
	}
}

// A chunk plan whose chunks a lane's prompt does not take is an invalid answer like any: it is mended, and what stays is the
// stage's policy's. A line that no plan can cut is refused before anything is paid.
func TestChunkPlanIsMendedWhereAChunkIsTooLarge(t *testing.T) {
	script := approving + `
  - match: {contains: SPLIT}
    replies: [{json: {starts: [1]}}, {json: {starts: [%s]}}]
  - match: {contains: NAMES}
    replies: [{json: [a]}]
  - match: {contains: TIDY}
    replies: [{json: [x, y]}]
`
	ask := func(second, document string) (*schemas.Result, error) {
		t.Helper()
		snap := pipelineSnapshot(t, fmt.Sprintf(script, second), "chunk: {by: paragraphs, size: 16B}", "chunk: {prompt: split}", "inputs: {chunk: {}, index: {}}", "inputs: {chunk: {max: 20B}, index: {}}")
		e, err := engine.New(snap)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		return e.RunPipeline(t.Context(), engine.PipelineRequest{Pipeline: "p", Inputs: map[string]any{"document": document}})
	}
	r, err := ask("1, 2", "First line here.\nSecond line there.\n")
	if err != nil || r.Status != schemas.StatusSucceeded || r.Pipeline.Chunks != 2 || r.Counts.Repairs != 1 {
		t.Errorf("%+v %v", r, err)
	}
	r, err = ask("1", "First line here.\nSecond line there.\n")
	if err != nil || r.Status != schemas.StatusFailed || r.Error.Category != schemas.CategoryOutputInvalid || r.Counts.Calls != 2 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err = ask("1", "A line that is far too long for the prompt.\n"); err == nil || !strings.Contains(err.Error(), "line 1 has 44 bytes") {
		t.Errorf("%v", err)
	}
}

// A pipeline run stays within its max_cost: what may be spent is set aside, and the job that does not fit is never begun.
func TestPipelineMaxCost(t *testing.T) {
	usage := "usage: {input: 1000, output: 10}"
	snap := pipelineSnapshot(t, "rules:\n  - match: {contains: NAMES}\n    replies: [{json: [a], "+usage+"}]\n", "permits: 3}", "permits: 3, prices: openai}", "model: small", "model: gpt-4o-mini",
		"retries: 1\nchecks: [{judge: judge}]", "max_cost: 0.05\nsettings: {max_output_tokens: 100}", "normalize: {prompt: tidy, retries: 2, retry_when: 'size(normalized) < 2'}", "merge: {by: concatenate}")
	e, err := engine.New(snap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	for limit, want := range map[schemas.USD]string{schemas.Dollar: schemas.StatusSucceeded, schemas.Dollar / 100: schemas.CategoryBudget} {
		r, err := e.RunPipeline(t.Context(), engine.PipelineRequest{Pipeline: "p", MaxCost: limit, Inputs: map[string]any{"document": "First one.\n\nSecond one."}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Error == nil && (r.Status != want || r.Cost == nil || r.Cost.USD == nil || *r.Cost.USD == 0) || r.Error != nil && (r.Error.Category != want || r.Counts.Calls != 0) {
			t.Errorf("%s: %+v %+v", limit, r, r.Error)
		}
	}
}
