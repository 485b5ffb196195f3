package prompts

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/schemas"
)

// digestFiles are a pipeline with two lanes; a test replaces some of them.
var digestFiles = map[string]string{
	"emend.yaml": "backends: {m: {dialect: openai, url: http://localhost}}\nprofiles: {fast: {backend: m, model: small}}\n",
	"prompts/parties@1.yaml": "profile: fast\ninputs: {chunk: {max: 1KiB}, index: {}, tone: {}}\nmessages: [{user: '{{ .index }} {{ .tone }} {{ .chunk }}'}]\n" +
		"output: {mode: json_schema, schema: {type: object, properties: {names: {type: array, items: {type: string}}}, required: [names]}, repair_attempts: 1}\nretries: 1\n",
	"prompts/dates@1.yaml": "profile: fast\ninputs: {chunk: {}}\nmessages: [{user: '{{ .chunk }}'}]\noutput: {mode: json}\n",
	"prompts/judge@1.yaml": "profile: fast\ninputs: {candidate: {}}\nmessages: [{user: '{{ .candidate }}'}]\n",
	"prompts/tidy@1.yaml":  "profile: fast\ninputs: {merged: {}}\nmessages: [{user: '{{ .merged }}'}]\noutput: {mode: json}\n",
	"prompts/split@1.yaml": "profile: fast\ninputs: {numbered: {}}\nmessages: [{user: '{{ .numbered }}'}]\n",
	"pipelines/digest@1.yaml": `
inputs: {tone: {default: dry}}
chunk: {by: paragraphs, size: 1KiB}
lanes:
  parties:
    extract: {prompt: parties@1, checks: [{rule: 'size(names) < 9'}, {judge: judge}]}
    merge: {by: unique, at: names}
    normalize: {prompt: tidy, retries: 2, retry_when: 'size(normalized) > size(merged)'}
  dates:
    extract: {prompt: dates, retries: 3, validation_policy: {semantic_rejection: reject_output}}
output: {schema: {type: object, required: [parties, dates]}}
validation_policy: {validator_failure: fail_run}
`,
}

func loadPipeline(replace map[string]string) (*Snapshot, error) {
	files := fstest.MapFS{}
	all := maps.Clone(digestFiles)
	maps.Copy(all, replace)
	for name, text := range all {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return LoadFS(files)
}

func digestSnapshot(t *testing.T) *Snapshot {
	t.Helper()
	s, err := loadPipeline(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPipelineIsCompiled(t *testing.T) {
	s := digestSnapshot(t)
	p, ok := s.PipelinePlan("digest")
	if !ok || p.Ref() != "digest@1" || p.Window != 128 || len(p.Digest) != 64 || !slices.Equal(s.Config().Pipelines, []string{"digest"}) {
		t.Fatalf("%+v", p)
	}
	if p.Lanes[0].Name != "parties" || p.Lanes[1].Name != "dates" {
		t.Errorf("the lanes stand as %s, %s", p.Lanes[0].Name, p.Lanes[1].Name)
	}
	parties, dates := p.Lanes[0], p.Lanes[1]
	if parties.Extract.Prompt != "parties@1" || parties.Extract.Backend != "m" || parties.Extract.Retries != 1 || parties.Extract.Inputs["chunk"] != 1024 {
		t.Errorf("%+v", parties.Extract)
	}
	if want := (schemas.StagePolicy{ProducerStructuralFailure: run.PolicyFailRun, SemanticRejection: run.PolicyFailRun, ValidatorFailure: run.PolicyFailRun}); parties.Extract.Policy != want {
		t.Errorf("%+v", parties.Extract.Policy)
	}
	if want := (schemas.StagePolicy{ProducerStructuralFailure: run.PolicyFailRun, SemanticRejection: run.PolicyRejectOutput, ValidatorFailure: run.PolicyFailRun}); dates.Extract.Policy != want || dates.Extract.Retries != 3 {
		t.Errorf("%+v", dates.Extract)
	}
	if dates.Merge.Combine.By != pipeline.ByConcatenate || dates.Normalize.Model() || parties.Normalize.Again.Fallback != pipeline.FallbackMerged {
		t.Errorf("%+v %+v", dates, parties.Normalize)
	}
}

// The digest changes with everything that shapes a run, and with nothing else.
func TestPipelineDigest(t *testing.T) {
	first, _ := digestSnapshot(t).PipelinePlan("digest")
	same, err := loadPipeline(map[string]string{"pipelines/digest@1.yaml": digestFiles["pipelines/digest@1.yaml"] + "description: words\n", "prompts/other@1.yaml": digestFiles["prompts/dates@1.yaml"]})
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := same.PipelinePlan("digest@1"); p.Digest != first.Digest {
		t.Error("a description changes the digest")
	}
	for _, c := range []struct{ file, from, to string }{
		{"emend.yaml", "model: small", "model: large"},
		{"emend.yaml", "http://localhost", "http://other"},
		{"emend.yaml", "http://localhost", "http://localhost, query: {version: '2'}"},
		{"emend.yaml", "http://localhost", "http://localhost, headers: {X-Tier: high}"},
		{"emend.yaml", "http://localhost", "http://localhost, headers: {X-Tier: {env: TIER}}"},
		{"emend.yaml", "http://localhost", "http://localhost, options: {max_tokens_field: max_tokens}"},
		{"prompts/judge@1.yaml", "user: '", "user: 'Judge "},
		{"prompts/dates@1.yaml", "mode: json", "mode: basic"},
		{"prompts/parties@1.yaml", "\nretries: 1", "\nretries: 2"},
		{"prompts/parties@1.yaml", "repair_attempts: 1", "repair_attempts: 2"},
		{"prompts/parties@1.yaml", "items: {type: string}", "items: {type: string, minLength: 1}"},
		{"prompts/tidy@1.yaml", "merged: {}", "merged: {max: 2MiB}"},
		{"pipelines/digest@1.yaml", "validator_failure: fail_run", "validator_failure: warn_continue"},
		{"pipelines/digest@1.yaml", "{judge: judge}", "{judge: judge, retries: 1}"},
		{"pipelines/digest@1.yaml", "{judge: judge}", "{judge: judge, repair_attempts: 1}"},
		{"pipelines/digest@1.yaml", "size(names) < 9", "size(names) < 8"},
	} {
		p := digestWith(t, c.file, c.from, c.to)
		if p.Digest == first.Digest {
			t.Errorf("%s: %s leaves the digest as it is", c.file, c.to)
		}
		if strings.HasPrefix(c.file, "emend") && (p.Lanes[0].Extract.Digest == first.Lanes[0].Extract.Digest || p.Lanes[1].Extract.Digest == first.Lanes[1].Extract.Digest) {
			t.Errorf("%s leaves the key of kept outputs as it is", c.to)
		}
	}
	header := digestWith(t, "emend.yaml", "http://localhost", "http://localhost, headers: {X-Tier: {env: TIER}}")
	for _, to := range []string{"http://localhost, key: {env: NEW}, headers: {x-tier: {env: OTHER}}", "http://localhost, permits: 3, headers: {X-Tier: {file: /run/tier}}"} {
		if p := digestWith(t, "emend.yaml", "http://localhost", to); p.Digest != header.Digest {
			t.Errorf("%s changes the digest", to)
		}
	}
}

// digestWith is the plan of the pipeline with one place of a file changed.
func digestWith(t *testing.T, file, from, to string) *pipeline.Plan {
	t.Helper()
	text := strings.Replace(digestFiles[file], from, to, 1)
	if text == digestFiles[file] {
		t.Fatalf("%s has no %s", file, from)
	}
	s, err := loadPipeline(map[string]string{file: text})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	p, _ := s.PipelinePlan("digest")
	return p
}

func TestPipelineProblems(t *testing.T) {
	lane := "lanes: {a: {extract: {prompt: dates}}}\n"
	for text, want := range map[string]string{
		"chunk: {by: size, size: 1KiB}\nlanes: {a: {}}\n":                                                    "lanes.a.extract: is missing: a prompt that is run on every chunk",
		"chunk: {by: size, size: 1KiB}\nlanes: {a: {extract: {retries: 1}}}\n":                               "lanes.a.extract.prompt: is missing: a lane extracts with a prompt",
		"chunk: {by: size, size: 1KiB}\nlanes: {}\n":                                                         "has 0 lanes; allowed are 1 to 20",
		"chunk: {by: size, size: 1KiB}\nlanes: {a: {extract: {prompt: dates}, review: {}}}\n":                "lanes.a.review: unknown field; known are extract, merge, normalize",
		"chunk: {by: size, size: 1KiB}\nlanes: {a: {extract: {prompt: nobody}}}\n":                           "lanes.a.extract.prompt: there is no prompt \"nobody\"",
		"chunk: {by: size, size: 1KiB}\nlanes: {a: {extract: {prompt: tidy}}}\n":                             "tidy@1 cannot be the prompt of extract: it declares no input named chunk",
		"chunk: {by: size, size: 1KiB}\nlanes: {a: {extract: {prompt: parties}}}\n":                          "its input tone is given by nobody",
		"chunk: {by: size, size: 1KiB}\nvalidation_policy: null\n" + lane:                                    "validation_policy: must not be null",
		"chunk: {by: size, size: 1KiB}\nvalidation_policy: {semantic_rejection: null}\n" + lane:              "validation_policy.semantic_rejection: must not be null",
		"chunk: {by: size, size: 1KiB}\nvalidation_policy: {semantic_rejection: warn_continue}\n" + lane:     "must be one of fail_run, reject_output",
		"chunk: {by: size, size: 1KiB}\nvalidation_policy: {rejection: fail_run}\n" + lane:                   "validation_policy.rejection: unknown field",
		"chunk: {by: size, size: 1KiB}\noutput: {validation_policy: {}}\n" + lane:                            "output.validation_policy: unknown field",
		"chunk: {by: size, size: 1KiB}\ninputs: {x: {validation_policy: {}}}\n" + lane:                       "inputs.x.validation_policy: unknown field",
		"chunk: {by: size, size: 1KiB}\ninputs: {chunk: {}}\n" + lane:                                        "inputs.chunk: is given by the pipeline itself",
		"chunk: {by: size, size: 1KiB, validation_policy: {producer_structural_failure: fail_run}}\n" + lane: "belongs to stages with a prompt",
		"chunk: {by: size, size: 1KiB, retries: 1}\n" + lane:                                                 "chunk.retries: has no effect without prompt",
		"chunk: {by: size}\n" + lane:                                                                            "chunk.size: is missing: by size needs it",
		"chunk: {by: size, size: 1KiB, overlap: 1KiB}\n" + lane:                                                 "chunk.overlap: is more than half of size",
		"chunk: {by: headings, per: 3}\n" + lane:                                                                "chunk.per: has no effect here",
		"chunk: {by: size, size: 1KiB, prompt: split}\n" + lane:                                                 "chunk: needs by or prompt, one of the two",
		"chunk: {prompt: dates}\n" + lane:                                                                       "it has an output contract, and a chunk plan's is Emend's own",
		"chunk: {by: size, size: 1KiB, checks: [{rule: 'output.a'}]}\n" + lane:                                  "chunk.checks: have nothing to judge",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates}, merge: {by: cel}}}\n":                      "lanes.a.merge.expression: is missing",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates}, merge: {by: cel, expression: 'itms'}}}\n":  "undeclared reference to 'itms'",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates}, merge: {by: sort, separator: x}}}\n":       "separator: has no effect here",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates}, merge: {retries: 2}}}\n":                   "lanes.a.merge.retries: has no effect without prompt",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates}, merge: {checks: [{judge: judge}]}}}\n":     "needs a stage with a prompt",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates}, merge: {checks: [{go: even}]}}}\n":         "checks[0].go: needs a stage with a prompt",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates}, normalize: {by: sort, fallback: last}}}\n": "has no effect without retry_when",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates, checks: [{rule: 'output.x +'}]}}}\n":        "lanes.a.extract.checks[0]",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates, checks: [{judge: dates}]}}}\n":              "dates@1 cannot judge",
		lane: "chunk: is missing",
		// No stage names another, so that none can wait for itself: what would make a cycle is no field, and no YAML.
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates, after: normalize}}}\n":         "lanes.a.extract.after: unknown field",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates}, merge: {from: b}}}\n":         "lanes.a.merge.from: unknown field",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates, pipeline: digest}}}\n":         "lanes.a.extract.pipeline: unknown field",
		"chunk: {by: records}\nlanes: &l {a: {extract: {prompt: dates}, merge: *l}}\n":             "anchors and aliases are not supported",
		"chunk: {by: records}\nlanes: {a: {extract: {prompt: dates}}}\nstages: [chunk, summary]\n": "stages: unknown field",
		"chunk: {by: pages}\n" + lane: "chunk.by: must be one of",
	} {
		_, err := loadPipeline(map[string]string{"pipelines/digest@1.yaml": text})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "pipelines/digest@1.yaml:") {
			t.Errorf("%s\nsays %v\nwant %s", text, err, want)
		}
	}
	if _, err := loadPipeline(map[string]string{"pipelines/Digest@1.yaml": ""}); err == nil || !strings.Contains(err.Error(), "<name>@<version>.yaml") {
		t.Errorf("%v", err)
	}
}

func jobOf(s *Snapshot, t *testing.T, change func(*schemas.Request)) (*run.Plan, error) {
	t.Helper()
	p, _ := s.PipelinePlan("digest")
	req := schemas.Request{Prompt: "parties@1", Inputs: map[string]json.RawMessage{"chunk": json.RawMessage(`"text"`), "index": json.RawMessage("1"), "tone": json.RawMessage(`"dry"`)},
		Stage: &schemas.StageRef{Pipeline: "digest@1", Digest: p.Digest, Stage: schemas.StageExtract, Lane: "parties", Chunk: 1, Attempt: 1}}
	if change != nil {
		change(&req)
	}
	return s.Plan(req, Origin{ID: "x", Queue: "default", Backend: "m"})
}

// A job is planned under its binding: budgets, checks and policy are the stage's.
func TestJobIsPlannedUnderItsBinding(t *testing.T) {
	s := digestSnapshot(t)
	p, err := jobOf(s, t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Retries != 1 || len(p.Validators) != 2 || p.Validators[0].Rule != 1 || p.Validators[1].Name != "judge@1" || p.Policy.ValidatorFailure != run.PolicyFailRun || p.Output.OnExhausted != exhaustedFail || p.Sink != run.SinkNone {
		t.Errorf("%+v", p)
	}
	if v := p.Contract.Judge([]byte(`{"names":["a","b","c","d","e","f","g","h","i"]}`)); v.Valid() {
		t.Error("the stage's rule does not judge")
	}
	if p, err := jobOf(s, t, func(r *schemas.Request) { r.Stage.Attempt = 2 }); err != nil || p.Retries != 0 {
		t.Errorf("what is spent is not taken off: %+v %v", p, err)
	}
	plain, err := jobOf(s, t, func(r *schemas.Request) { r.Stage = nil })
	if err != nil || len(plain.Validators) != 0 || plain.PromptSHA256 == p.PromptSHA256 {
		t.Errorf("the prompt's own run: %+v %v", plain, err)
	}
}

func TestJobsThatAreRefused(t *testing.T) {
	s := digestSnapshot(t)
	for want, change := range map[string]func(*schemas.Request){
		"stage.pipeline: there is no pipeline": func(r *schemas.Request) { r.Stage.Pipeline = "digst@1" },
		"has no version \"9\"":                 func(r *schemas.Request) { r.Stage.Pipeline = "digest@9" },
		"has other content in this catalog":    func(r *schemas.Request) { r.Stage.Digest = "0" },
		"has no prompt in stage \"merge\"":     func(r *schemas.Request) { r.Stage.Stage = schemas.StageMerge },
		"is not the prompt of the stage":       func(r *schemas.Request) { r.Prompt = "dates@1"; delete(r.Inputs, "index"); delete(r.Inputs, "tone") },
		"the stage has attempts 1 to 2":        func(r *schemas.Request) { r.Stage.Attempt = 3 },
		"profile: stands beside stage":         func(r *schemas.Request) { r.Profile = "fast" },
	} {
		if _, err := jobOf(s, t, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := jobOf(s, t, func(r *schemas.Request) { r.Stage.Digest = "0" }); !errors.Is(err, ErrUnknown) {
		t.Errorf("another digest may come with the next catalog: %v", err)
	}
}

func pipelineRequest(document string) schemas.PipelineRequest {
	raw, _ := json.Marshal(document)
	return schemas.PipelineRequest{Inputs: map[string]json.RawMessage{"document": raw}}
}

func TestPipelineRequestIsPlanned(t *testing.T) {
	s := digestSnapshot(t)
	r, err := s.PlanPipeline("digest", pipelineRequest("One.\n\nTwo."), Origin{ID: "d", Queue: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Run.Chunks() != 1 || r.Reuse != schemas.ReuseAuto || r.Shell.PromptSHA256 != r.Plan.Digest || r.Shell.ID != "d" {
		t.Errorf("%+v", r)
	}
	job := pipeline.Job{Stage: schemas.StageExtract, Lane: 0, Chunk: 1, Attempt: 1}
	inputs, err := r.Run.Inputs(job)
	if err != nil || string(inputs["tone"]) != `"dry"` || string(inputs["index"]) != "1" || string(inputs["chunk"]) != `"One.\n\nTwo."` || len(inputs) != 3 {
		t.Errorf("%s %v", inputs, err)
	}
	if _, err := s.Plan(r.JobRequest(job, inputs), Origin{ID: "x", Queue: "default", Backend: "m"}); err != nil {
		t.Errorf("its own job is refused: %v", err)
	}
}

// The jobs of a request with attempts: full keep theirs, where they are stored and the queue allows it; none is of the
// pipeline's result alone, whose report is made of what jobs tell.
func TestJobsTellTheirAttemptsWhereThePipelineDoes(t *testing.T) {
	s := digestSnapshot(t)
	for _, c := range []struct {
		word  string
		allow []string
		lib   bool
		want  string
	}{{"", nil, false, ""}, {schemas.AttemptsSummary, nil, false, ""}, {schemas.AttemptsNone, nil, false, ""}, {schemas.AttemptsFull, nil, false, schemas.AttemptsFull},
		{schemas.AttemptsFull, []string{AllowSettings}, false, ""}, {schemas.AttemptsFull, []string{AllowAttempts}, false, schemas.AttemptsFull}, {schemas.AttemptsFull, nil, true, ""}} {
		s.config.Queues["default"] = Queue{Allow: c.allow}
		req := pipelineRequest("One.\n\nTwo.")
		req.Attempts = c.word
		r, err := s.PlanPipeline("digest", req, Origin{ID: "d", Queue: "default", Library: c.lib})
		if err != nil {
			t.Fatal(err)
		}
		job := pipeline.Job{Stage: schemas.StageExtract, Lane: 0, Chunk: 1, Attempt: 1}
		inputs, err := r.Run.Inputs(job)
		if got := r.JobRequest(job, inputs); err != nil || got.Attempts != c.want {
			t.Errorf("%+v: %q, %v", c, got.Attempts, err)
		}
		if p, err := s.Plan(r.JobRequest(job, inputs), Origin{ID: "x", Queue: "default", Backend: "m"}); err != nil || p.Attempts != c.want {
			t.Errorf("%+v: the job is planned as %+v, %v", c, p, err)
		}
	}
}

func TestPipelineRequestProblems(t *testing.T) {
	s := digestSnapshot(t)
	for want, change := range map[string]func(*schemas.PipelineRequest){
		"inputs.document: is missing":                        func(r *schemas.PipelineRequest) { r.Inputs = nil },
		"inputs.document: must be text":                      func(r *schemas.PipelineRequest) { r.Inputs["document"] = json.RawMessage("[1]") },
		"inputs.document: the document is empty":             func(r *schemas.PipelineRequest) { r.Inputs["document"] = json.RawMessage(`" \n"`) },
		"inputs.document: chunk 1 has 2000 bytes":            func(r *schemas.PipelineRequest) { *r = pipelineRequest(strings.Repeat("x", 2000)) },
		"inputs.tones: is no input of pipeline digest@1":     func(r *schemas.PipelineRequest) { r.Inputs["tones"] = json.RawMessage("1") },
		"pipeline: is \"other\", but the subject is that of": func(r *schemas.PipelineRequest) { r.Pipeline = "other" },
		"has no version \"7\"":                               func(r *schemas.PipelineRequest) { r.Pipeline = "digest@7" },
		"reuse: must be one of auto, refresh, none":          func(r *schemas.PipelineRequest) { r.Reuse = "always" },
		"attempts: must be one of summary, none, full":       func(r *schemas.PipelineRequest) { r.Attempts = "all" },
		"max_cost: must be above 0":                          func(r *schemas.PipelineRequest) { r.MaxCost = new(schemas.USD(0)) },
		"max_cost: needs a max_cost in every prompt of":      func(r *schemas.PipelineRequest) { r.MaxCost = new(schemas.Dollar) },
		"timeout_s: must be above 0":                         func(r *schemas.PipelineRequest) { r.TimeoutS = new(0.0) },
	} {
		req := pipelineRequest("text")
		change(&req)
		_, err := s.PlanPipeline("digest", req, Origin{ID: "d", Queue: "default"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := s.PlanPipeline("nothing", pipelineRequest("x"), Origin{Queue: "default"}); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
}

// The answer of a chunk prompt is bounded by the document that it is asked about.
func TestChunkPromptHasTheDocumentsContract(t *testing.T) {
	s, err := loadPipeline(map[string]string{"pipelines/digest@1.yaml": "chunk: {prompt: split, repair_attempts: 2}\nlanes: {a: {extract: {prompt: dates}}}\n"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.PlanPipeline("digest", pipelineRequest("a\nb\nc\n"), Origin{ID: "d", Queue: "default"})
	if err != nil {
		t.Fatal(err)
	}
	job := pipeline.Job{Stage: schemas.StageChunk, Lane: -1, Attempt: 1}
	inputs, err := r.Run.Inputs(job)
	if err != nil || string(inputs["numbered"]) != `"1\ta\n2\tb\n3\tc\n"` {
		t.Fatalf("%s %v", inputs, err)
	}
	p, err := s.Plan(r.JobRequest(job, inputs), Origin{ID: "x", Queue: "default", Backend: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Output.RepairAttempts != 2 || !strings.Contains(p.Messages[len(p.Messages)-1].Content, "starts") {
		t.Errorf("%+v", p)
	}
	for answer, valid := range map[string]bool{`{"starts":[1,3]}`: true, `{"starts":[4]}`: false, `{"starts":[]}`: false, `{"starts":[0]}`: false} {
		if p.Contract.Judge([]byte(answer)).Valid() != valid {
			t.Errorf("%s: valid is not %v", answer, valid)
		}
	}
}

// A catalog holds the pipelines with what they are made of.
func TestPackHoldsPipelines(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range digestFiles {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	files["pipelines/digest@1.yaml"] = &fstest.MapFile{Data: []byte("chunk: {by: records}\nlanes: {a: {extract: {prompt: dates}}}\noutput: {schema: whole.json}\n")}
	files["prompts/whole.json"] = &fstest.MapFile{Data: []byte(`{"type": "object"}`)}
	first, packed, err := Pack(files)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	s, err := LoadFS(back, WithCatalog(3))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := first.PipelinePlan("digest")
	after, ok := s.PipelinePlan("digest@1")
	if !ok || before.Digest != after.Digest || after.Output == nil {
		t.Errorf("%+v", after)
	}
	r, err := s.PlanPipeline("digest", schemas.PipelineRequest{Inputs: map[string]json.RawMessage{"document": json.RawMessage(`[1]`)}}, Origin{ID: "x", Queue: "default"})
	if err != nil || r.Shell.Catalog != 3 {
		t.Errorf("%+v %v", r, err)
	}
}

// A program defines pipelines without files.
func TestPipelinesOfAProgram(t *testing.T) {
	d := Definitions{
		Config: Config{Backends: map[string]Backend{"m": {Dialect: "openai", URL: "http://localhost"}}, Profiles: map[string]Profile{"fast": {Backend: "m", Model: "small"}}},
		Prompts: []Prompt{{ID: "read", Version: 1, Profile: "fast", Inputs: map[string]Input{"chunk": {}}, Messages: []Template{{Role: schemas.RoleUser, Text: "{{ .chunk }}"}},
			Output: Output{Mode: schemas.ModeJSON}}},
		Pipelines: []Pipeline{{Name: "p", Version: 1, Chunk: ChunkSpec{By: pipeline.ByHeadings}, Lanes: []LaneSpec{{Name: "a", Extract: &ExtractSpec{Producer{Prompt: "read"}}}}}},
	}
	s, err := NewSnapshot(d)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.PlanPipeline("p", pipelineRequest("# A\n"), Origin{Library: true}); err != nil || r.Plan.Window != 128 || r.Run.Chunks() != 1 {
		t.Errorf("%+v %v", r, err)
	}
	d.Pipelines = append(d.Pipelines, d.Pipelines[0])
	if _, err := NewSnapshot(d); err == nil || !strings.Contains(err.Error(), "pipeline p@1 is defined twice") {
		t.Errorf("%v", err)
	}
}
