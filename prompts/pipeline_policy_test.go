package prompts

import (
	"slices"
	"strings"
	"testing"

	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/schemas"
)

// keyed is digestFiles with what shapes an output in every way: rules of the short form and settings, of prompt and profile.
func keyed() map[string]string {
	return map[string]string{
		"emend.yaml": "backends: {m: {dialect: openai, url: http://localhost}}\nprofiles: {fast: {backend: m, model: small, settings: {top_p: 0.9}}, slow: {backend: m, model: small}}\n",
		"prompts/dates@1.yaml": "profile: slow\ninputs: {chunk: {}}\nmessages: [{user: '{{ .chunk }}'}]\noutputs: {day: {type: integer}}\n" +
			"validation_rules: [{field: day, max: 31}]\nsettings: {temperature: 0.5}\ntransient_retries: 1\n",
		"pipelines/digest@1.yaml": `
inputs: {tone: {default: dry}}
chunk: {prompt: split, checks: [{rule: 'size(starts) < 9'}, {judge: judge}]}
lanes:
  parties:
    extract: {prompt: parties@1, checks: [{rule: 'size(names) < 9'}, {judge: judge}]}
    normalize: {prompt: tidy}
  dates:
    extract: {prompt: dates, validation_policy: {semantic_rejection: reject_output}}
validation_policy: {validator_failure: fail_run}
`,
	}
}

func keyedPlan(t *testing.T, file, from, to string) *pipeline.Plan {
	t.Helper()
	files := keyed()
	if file != "" {
		before := files[file]
		if before == "" {
			before = digestFiles[file]
		}
		if files[file] = strings.Replace(before, from, to, 1); files[file] == before {
			t.Fatalf("%s has no %s", file, from)
		}
	}
	s, err := loadPipeline(files)
	if err != nil {
		t.Fatalf("%s: %v", to, err)
	}
	p, _ := s.PipelinePlan("digest")
	return p
}

// keys are those of the outputs that a pipeline keeps, by stage.
func keys(p *pipeline.Plan) map[string]string {
	return map[string]string{"chunk": p.Chunk.Digest, "parties": p.Lanes[0].Extract.Digest, "tidy": p.Lanes[0].Normalize.Digest, "dates": p.Lanes[1].Extract.Digest}
}

// The key of a kept output changes with all that shaped it, and with nothing else.
func TestKeysOfKeptOutputs(t *testing.T) {
	const pipe, config, dates, parties = "pipelines/digest@1.yaml", "emend.yaml", "prompts/dates@1.yaml", "prompts/parties@1.yaml"
	first := keys(keyedPlan(t, "", "", ""))
	for name, key := range first {
		if len(key) != 64 {
			t.Errorf("%s has the key %q", name, key)
		}
	}
	for _, c := range []struct{ file, from, to, changes string }{
		{pipe, "validator_failure: fail_run", "validator_failure: warn_continue", "chunk dates parties tidy"},
		{pipe, "semantic_rejection: reject_output", "semantic_rejection: fail_run", "dates"},
		{pipe, "size(names) < 9", "size(names) < 8", "parties"},
		{pipe, "size(starts) < 9", "size(starts) < 8", ""},
		{pipe, ", {judge: judge}]}\nlanes", "]}\nlanes", "chunk"},
		{pipe, "{judge: judge}]}\n    normalize", "{judge: judge, repair_attempts: 1}]}\n    normalize", "parties"},
		{pipe, "{prompt: tidy}", "{prompt: tidy, retries: 1}", "tidy"},
		{pipe, "default: dry", "default: warm", ""},
		{dates, "max: 31", "max: 30", "dates"},
		{dates, "temperature: 0.5", "temperature: 0.6", "dates"},
		{dates, "transient_retries: 1", "transient_retries: 2", "dates"},
		{dates, "type: integer", "type: number", "dates"},
		{dates, "{{ .chunk }}", "Read {{ .chunk }}", "dates"},
		{parties, "repair_attempts: 1", "repair_attempts: 2", "parties"},
		{parties, "profile: fast", "description: words\nprofile: fast", ""},
		{config, "top_p: 0.9", "top_p: 0.8", "chunk parties tidy"},
		{config, "slow: {backend: m, model: small}", "slow: {backend: m, model: large}", "dates"},
		{"prompts/judge@1.yaml", "{{ .candidate }}", "Judge {{ .candidate }}", "chunk parties"},
	} {
		var changed []string
		for name, key := range keys(keyedPlan(t, c.file, c.from, c.to)) {
			if key != first[name] {
				changed = append(changed, name)
			}
		}
		slices.Sort(changed)
		if got := strings.Join(changed, " "); got != c.changes {
			t.Errorf("%s: %q changes the keys of %q, want %q", c.file, c.to, got, c.changes)
		}
	}
}

// A chunk stage that gets its first rule, or loses its last, still takes the plans that are kept, to judge them again.
func TestTheFirstRuleOfAChunkStageLeavesItsKey(t *testing.T) {
	const checks, judge = ", checks: [{rule: 'size(starts) < 9'}, {judge: judge}]", ", {judge: judge}]}\nlanes"
	none := keyedPlan(t, "pipelines/digest@1.yaml", checks, "")
	rule := keyedPlan(t, "pipelines/digest@1.yaml", judge, "]}\nlanes")
	if none.Chunk.Digest != rule.Chunk.Digest || none.Digest == rule.Digest {
		t.Errorf("%s and %s", none.Chunk.Digest, rule.Chunk.Digest)
	}
}

// Another protocol keeps nothing of this one's outputs, be they of a chunk prompt or of another.
func TestTheProtocolIsInTheKey(t *testing.T) {
	s := digestSnapshot(t)
	of, _ := s.findPipeline("digest")
	bound := of.bindings[stageKey{schemas.StageExtract, "parties"}]
	if key := of.plan.Lanes[0].Extract.Digest; key != s.stepDigest(pipeline.Protocol, bound, false) || key == s.stepDigest(pipeline.Protocol+1, bound, false) {
		t.Error("the key is not that of the protocol")
	}
	if s.stepDigest(1, bound, true) == s.stepDigest(2, bound, true) {
		t.Error("the key of a chunk plan does not hang on the protocol")
	}
}

// A stage that says nothing has the pipeline's word, one that says something its own: field by field.
func TestPoliciesAreInherited(t *testing.T) {
	f, r, w := run.PolicyFailRun, run.PolicyRejectOutput, run.PolicyWarnContinue
	for all, want := range map[string]schemas.StagePolicy{
		"":                                  {ProducerStructuralFailure: f, SemanticRejection: f, ValidatorFailure: w},
		"semantic_rejection: reject_output": {ProducerStructuralFailure: f, SemanticRejection: r, ValidatorFailure: w},
		"producer_structural_failure: reject_output":                               {ProducerStructuralFailure: r, SemanticRejection: f, ValidatorFailure: w},
		"validator_failure: fail_run":                                              {ProducerStructuralFailure: f, SemanticRejection: f, ValidatorFailure: f},
		"semantic_rejection: reject_output, validator_failure: fail_run":           {ProducerStructuralFailure: f, SemanticRejection: r, ValidatorFailure: f},
		"semantic_rejection: reject_output, producer_structural_failure: fail_run": {ProducerStructuralFailure: f, SemanticRejection: r, ValidatorFailure: w},
	} {
		s, err := loadPipeline(map[string]string{"pipelines/digest@1.yaml": "chunk: {by: records}\nlanes:\n  a: {extract: {prompt: dates}}\n" +
			"  b: {extract: {prompt: dates, validation_policy: {semantic_rejection: fail_run}}}\n" +
			"  c: {extract: {prompt: dates, validation_policy: {validator_failure: warn_continue, producer_structural_failure: reject_output}}}\nvalidation_policy: {" + all + "}\n"})
		if err != nil {
			t.Fatal(err)
		}
		p, _ := s.PipelinePlan("digest")
		merge, b, c := want, want, want
		merge.ProducerStructuralFailure = "" // no prompt produces it
		b.SemanticRejection = f
		c.ValidatorFailure, c.ProducerStructuralFailure = w, r
		for name, got := range map[string][2]schemas.StagePolicy{"a": {p.Lanes[0].Extract.Policy, want}, "merge": {p.Lanes[0].Merge.Policy, merge}, "b": {p.Lanes[1].Extract.Policy, b}, "c": {p.Lanes[2].Extract.Policy, c}} {
			if got[0] != got[1] {
				t.Errorf("{%s}: %s has %+v, want %+v", all, name, got[0], got[1])
			}
		}
	}
}
