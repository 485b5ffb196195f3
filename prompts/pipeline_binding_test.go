package prompts

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/schemas"
)

// boundJob plans a job of lane a, whose extract binding is given, of a prompt with a budget and a judge of its own, where people
// decide about answers that stay invalid.
func boundJob(t *testing.T, binding string, change func(*schemas.Request)) (*run.Plan, error) {
	t.Helper()
	s, err := loadPipeline(map[string]string{
		"emend.yaml":              digestFiles["emend.yaml"] + "escalation: {sink: review}\n",
		"prompts/dates@1.yaml":    "profile: fast\ninputs: {chunk: {}}\nmessages: [{user: '{{ .chunk }}'}]\noutputs: {day: {type: integer}}\nretries: 3\nchecks: [{judge: judge@1}]\n",
		"pipelines/digest@1.yaml": "chunk: {by: paragraphs, size: 1KiB}\nlanes: {a: {extract: {prompt: dates" + binding + "}}}\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := s.PipelinePlan("digest")
	req := schemas.Request{Prompt: "dates@1", Inputs: map[string]json.RawMessage{"chunk": json.RawMessage(`"x"`)},
		Stage: &schemas.StageRef{Pipeline: "digest@1", Digest: p.Digest, Stage: schemas.StageExtract, Lane: "a", Chunk: 1, Attempt: 1}}
	if change != nil {
		change(&req)
	}
	return s.Plan(req, Origin{ID: "x", Queue: "default", Backend: "m"})
}

// A binding's retries stand in place of the prompt's, none of them too; its checks come after the prompt's own; and a job waits for
// nobody.
func TestABindingGoesOverItsPrompt(t *testing.T) {
	const checks = ", checks: [{rule: 'day < 32'}]"
	for binding, want := range map[string]int{"": 3, ", retries: 0": 0, ", retries: 5": 5} {
		p, err := boundJob(t, binding+checks, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Retries != want || p.Sink != run.SinkNone {
			t.Errorf("{%s}: %d retries, want %d; goes to %q", binding, p.Retries, want, p.Sink)
		}
		if len(p.Validators) != 2 || p.Validators[0].Name != "judge@1" || p.Validators[1].Rule != 1 {
			t.Errorf("{%s}: %+v", binding, p.Validators)
		}
	}
}

// What the binding decides, no request says: each such field is refused by name.
func TestWhatAJobsRequestMayNotSay(t *testing.T) {
	none := 0
	for name, change := range map[string]func(*schemas.Request){
		"append_messages":   func(r *schemas.Request) { r.AppendMessages = []schemas.Message{{Role: schemas.RoleUser, Content: "x"}} },
		"settings":          func(r *schemas.Request) { r.Settings = &schemas.Settings{} },
		"output":            func(r *schemas.Request) { r.Output = &schemas.Output{Mode: schemas.ModeNone} },
		"profile":           func(r *schemas.Request) { r.Profile = "fast" },
		"transient_retries": func(r *schemas.Request) { r.TransientRetries = &none },
	} {
		if _, err := boundJob(t, "", change); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), name+": stands beside stage") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A job ends with its parent: it has its deadline, session and word on attempts, whatever its inputs; and the request's word of reuse
// goes over the definition's.
func TestAJobHasWhatItsParentHas(t *testing.T) {
	s, err := loadPipeline(map[string]string{"pipelines/digest@1.yaml": "chunk: {by: paragraphs, size: 1KiB}\nlanes: {a: {extract: {prompt: dates}}}\nreuse: refresh\n"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(time.Hour).Round(0)
	for word, want := range map[string]string{"": schemas.ReuseRefresh, schemas.ReuseNone: schemas.ReuseNone, schemas.ReuseAuto: schemas.ReuseAuto} {
		for _, deadline := range []*time.Time{nil, &at} {
			req := pipelineRequest("x")
			req.Reuse, req.Deadline, req.SessionID, req.Attempts = word, deadline, "s-1", schemas.AttemptsFull
			r, err := s.PlanPipeline("digest", req, Origin{ID: "x", Queue: "default", Published: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			job := r.JobRequest(pipeline.Job{Stage: schemas.StageExtract, Chunk: 1, Attempt: 1}, nil)
			if r.Reuse != want || job.SessionID != "s-1" || job.Attempts != schemas.AttemptsFull {
				t.Errorf("%q: %s, %+v", word, r.Reuse, job)
			}
			if (job.Deadline == nil) != (deadline == nil) || deadline != nil && !job.Deadline.Equal(at) {
				t.Errorf("its deadline is %v, its parent's %v", job.Deadline, deadline)
			}
		}
	}
}
