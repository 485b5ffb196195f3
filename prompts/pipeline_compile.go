package prompts

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"emend/engine/contract"
	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/schemas"
)

// pipelineCompiler makes one pipeline ready.
type pipelineCompiler struct {
	src *source
	s   *Snapshot
	*report
	def Pipeline
	out *compiledPipeline
}

// compilePipeline makes a pipeline ready, or notes why it cannot be.
func (src *source) compilePipeline(s *Snapshot, p Pipeline, r *report) *compiledPipeline {
	if r.bad[""] {
		return nil
	}
	if !subjectName.MatchString(p.Name) || p.Version < 1 {
		r.fault("", "pipeline %s@%d: the name must be %s, the version a whole number from 1", quoted(p.Name), p.Version, pipelineWords)
		return nil
	}
	v := reflect.ValueOf(&p).Elem()
	pipelineObject.fill(r, "", v, src.program)
	pipelineObject.check(r, "", v)
	publishedPipeline.check(r)
	if file := p.Output.Schema.File; file != "" && !r.bad["output.schema"] {
		if _, err := src.schema(file); err != nil {
			r.fault("output.schema", "%v", err)
		}
	}
	if len(r.problems) > 0 {
		return nil
	}
	c := &pipelineCompiler{src: src, s: s, report: r, def: p, out: &compiledPipeline{def: p, bindings: map[stageKey]*compiled{}}}
	c.inputs()
	plan := &pipeline.Plan{Name: p.Name, Version: p.Version, Window: p.Window, Chunker: pipeline.Chunker{By: p.Chunk.By, Size: int(p.Chunk.Size),
		Overlap: int(p.Chunk.Overlap), Level: cmp.Or(p.Chunk.Level, 2), Per: cmp.Or(p.Chunk.Per, 1)}}
	plan.Chunk = c.chunk()
	for _, l := range p.Lanes {
		plan.Lanes = append(plan.Lanes, c.lane(l))
	}
	plan.Output = c.output()
	if len(r.problems) > 0 {
		return nil
	}
	plan.Digest = c.digest(plan)
	c.out.plan = plan
	return c.out
}

// inputs refuses names that the stages give themselves.
func (c *pipelineCompiler) inputs() {
	for _, name := range sortedKeys(c.def.Inputs) {
		for _, given := range pipeline.Given {
			if slices.Contains(given, name) {
				c.once(join("inputs", name), "is given by the pipeline itself; name it otherwise")
			}
		}
	}
}

func (c *pipelineCompiler) chunk() pipeline.Step {
	spec := c.def.Chunk
	step := c.step(schemas.StageChunk, "", "chunk", spec.Producer)
	if spec.Prompt == "" && len(spec.Checks) > 0 {
		c.once("chunk.checks", "have nothing to judge: a chunker cuts as it is told; remove them, or give prompt")
	}
	return step
}

func (c *pipelineCompiler) lane(l LaneSpec) pipeline.Lane {
	at := join("lanes", l.Name)
	out := pipeline.Lane{Name: l.Name}
	if l.Extract == nil {
		return out // the table has said so
	}
	if l.Extract.Prompt == "" {
		c.once(join(at, "extract.prompt"), "is missing: a lane extracts with a prompt")
		return out
	}
	out.Extract = c.step(schemas.StageExtract, l.Name, join(at, "extract"), l.Extract.Producer)
	merge := l.Merge
	if merge.By == "" && merge.Prompt == "" {
		merge.By = pipeline.ByConcatenate
	}
	out.Merge = c.combined(schemas.StageMerge, l.Name, join(at, "merge"), merge, pipeline.VarItems)
	if l.Normalize.By != "" || l.Normalize.Prompt != "" || c.given(join(at, "normalize")) {
		out.Normalize = c.normalize(l.Name, join(at, "normalize"), l.Normalize)
	}
	return out
}

// combined is a merge or a normalize.
func (c *pipelineCompiler) combined(stage, lane, at string, spec CombineSpec, variable string) pipeline.Step {
	if (spec.By == "") == (spec.Prompt == "") {
		c.once(at, "needs by or prompt, one of the two")
		return pipeline.Step{}
	}
	c.fitting(at, spec)
	step := c.step(stage, lane, at, spec.Producer)
	if spec.By == "" {
		return step
	}
	step.Combine = pipeline.Combine{By: spec.By, At: pathOf(spec.At), Descending: spec.Order == orderDescending, Separator: "\n\n"}
	if spec.Separator != nil {
		step.Combine.Separator = *spec.Separator
	}
	for _, key := range spec.Key {
		step.Combine.Key = append(step.Combine.Key, pathOf(key))
	}
	if spec.By == pipeline.ByCEL && spec.Expression != "" {
		step.Combine.Expression = c.expression(join(at, "expression"), spec.Expression, false, variable)
	}
	return step
}

func pathOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ".")
}

func (c *pipelineCompiler) expression(at, source string, predicate bool, names ...string) *pipeline.Expression {
	e, err := pipeline.CompileExpression(source, predicate, names...)
	if err != nil {
		c.once(at, "%v", err)
	}
	return e
}

// fitting refuses fields that the operation does not look at.
func (c *pipelineCompiler) fitting(at string, spec CombineSpec) {
	for _, f := range []struct {
		name  string
		given bool
		with  []string
	}{
		{"at", spec.At != "", []string{pipeline.ByConcatenate, pipeline.ByUnique, pipeline.BySort}},
		{"key", spec.Key != nil, []string{pipeline.ByUnique, pipeline.BySort}},
		{"order", spec.Order != "", []string{pipeline.BySort}},
		{"separator", spec.Separator != nil, []string{pipeline.ByConcatenate}},
		{"expression", spec.Expression != "", []string{pipeline.ByCEL}},
	} {
		if f.given && !slices.Contains(f.with, spec.By) {
			c.once(join(at, f.name), "has no effect here; it belongs to %s", strings.Join(f.with, ", "))
		}
	}
	if spec.By == pipeline.ByCEL && spec.Expression == "" {
		c.once(join(at, "expression"), "is missing: by cel needs it")
	}
}

func (c *pipelineCompiler) normalize(lane, at string, spec NormalizeSpec) pipeline.Step {
	step := c.combined(schemas.StageNormalize, lane, at, spec.CombineSpec, pipeline.VarMerged)
	switch {
	case spec.RetryWhen != "" && spec.Prompt == "":
		c.once(join(at, "retry_when"), "has no effect without prompt: the same value would give the same again; remove it")
	case spec.Fallback != "" && spec.RetryWhen == "":
		c.once(join(at, "fallback"), "has no effect without retry_when; remove it")
	case spec.RetryWhen != "":
		step.Again = &pipeline.Again{When: c.expression(join(at, "retry_when"), spec.RetryWhen, true, pipeline.VarNormalized, pipeline.VarMerged),
			Fallback: cmp.Or(spec.Fallback, pipeline.FallbackMerged)}
	}
	return step
}

// output compiles the contract of the whole; nil where there is none.
func (c *pipelineCompiler) output() *contract.Contract {
	o := c.def.Output
	if o.Schema.File == "" && o.Schema.Inline == nil && o.Rules == nil {
		return nil
	}
	out := schemas.Output{Mode: schemas.ModeJSON}
	if raw := o.Schema.Inline; o.Schema.File != "" || raw != nil {
		if o.Schema.File != "" {
			var err error
			if raw, err = c.src.schema(o.Schema.File); err != nil {
				c.once("output.schema", "%v", err)
				return nil
			}
			c.out.def.Output.Schema = SchemaRef{Inline: raw, File: o.Schema.File}
		}
		out.Mode, out.Schema = schemas.ModeJSONSchema, raw
	}
	rules, where := rulesAt("output.rules", o.Rules)
	return c.contract(out, rules, where)
}

func rulesAt(at string, list []Rule) (rules []contract.Rule, where []string) {
	for i, r := range list {
		rules, where = append(rules, r.rule()), append(where, index(at, i))
	}
	return rules, where
}

func (c *pipelineCompiler) contract(o schemas.Output, rules []contract.Rule, where []string) *contract.Contract {
	out, err := compileContract(effective(o), rules)
	if err != nil {
		for _, f := range placed(err, where, c.def.Output.Schema.File) {
			c.once(f.field, "%s", f.message)
		}
		return nil
	}
	return out
}

// policy resolves field by field: the stage's word, the pipeline's, the default.
func (c *pipelineCompiler) policy(own StagePolicy, model bool) schemas.StagePolicy {
	all := c.def.ValidationPolicy
	out := schemas.StagePolicy{
		SemanticRejection: cmp.Or(own.SemanticRejection, all.SemanticRejection, run.PolicyFailRun),
		ValidatorFailure:  cmp.Or(own.ValidatorFailure, all.ValidatorFailure, run.PolicyWarnContinue),
	}
	if model {
		out.ProducerStructuralFailure = cmp.Or(own.ProducerStructuralFailure, all.ProducerStructuralFailure, run.PolicyFailRun)
	}
	return out
}

// digest covers the definition and the bindings that it leads to.
func (c *pipelineCompiler) digest(plan *pipeline.Plan) string {
	def := c.out.def
	def.Description, def.File = "", ""
	raw, err := json.Marshal(struct {
		Protocol int
		Def      Pipeline
	}{pipeline.Protocol, def})
	if err != nil {
		c.fault("", "has no JSON form: %v", err)
	}
	parts := [][]byte{raw, []byte(plan.Chunk.Digest)}
	for _, l := range plan.Lanes {
		parts = append(parts, []byte(l.Extract.Digest), []byte(l.Merge.Digest), []byte(l.Normalize.Digest))
	}
	return pipeline.Digest(parts...)
}
