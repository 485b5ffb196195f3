package prompts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"emend/engine/contract"
	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/schemas"
)

// step makes one stage's binding.
func (c *pipelineCompiler) step(stage, lane, at string, p Producer) pipeline.Step {
	if p.Prompt == "" {
		return c.deterministic(at, p)
	}
	step := pipeline.Step{Policy: c.policy(p.ValidationPolicy, true)}
	bound := c.bind(stage, at, p, step.Policy)
	if bound == nil {
		return step
	}
	c.out.bindings[stageKey{stage, lane}] = bound
	step.Prompt, step.Backend, step.Retries = bound.ref(), c.s.config.Profiles[bound.def.Profile].Backend, bound.def.Retries
	step.MaxCost = usd(bound.def.MaxCost)
	step.Inputs = map[string]int{}
	for name, in := range bound.def.Inputs {
		step.Inputs[name] = int(in.Max)
	}
	if stage == schemas.StageChunk {
		step.Contract = bound.contract
	}
	step.Digest = c.s.stepDigest(pipeline.Protocol, bound, stage == schemas.StageChunk)
	return step
}

// deterministic is a stage without a prompt: nothing of it is asked again, and rules alone judge it.
func (c *pipelineCompiler) deterministic(at string, p Producer) pipeline.Step {
	step := pipeline.Step{Policy: c.policy(p.ValidationPolicy, false)}
	if p.Retries != nil {
		c.once(join(at, "retries"), "has no effect without prompt: the same input gives the same output; remove it")
	}
	if p.ValidationPolicy.ProducerStructuralFailure != "" {
		c.once(join(at, "validation_policy.producer_structural_failure"), "belongs to stages with a prompt; remove it")
	}
	var rules []contract.Rule
	var where []string
	for i, check := range p.Checks {
		if !check.isRule() {
			word := "judge"
			if check.Go != "" {
				word = "go"
			}
			c.once(join(index(join(at, "checks"), i), word), "needs a stage with a prompt; let the stage before or behind it be judged, or use rules")
			continue
		}
		rules, where = append(rules, check.Rule.rule()), append(where, index(join(at, "checks"), i))
		step.Rules = append(step.Rules, check.name(len(rules)))
	}
	if len(rules) > 0 {
		step.Contract = c.contract(schemas.Output{Mode: schemas.ModeJSON}, rules, where)
	}
	return step
}

// bind compiles a prompt once more, with what the stage says of it.
func (c *pipelineCompiler) bind(stage, at string, p Producer, policy schemas.StagePolicy) *compiled {
	if !validRef(p.Prompt) {
		c.once(join(at, "prompt"), "must be id or id@version, the version a whole number from 1")
		return nil
	}
	found, problem := c.s.find(p.Prompt)
	if problem != nil {
		if !c.src.broken(p.Prompt) {
			c.once(join(at, "prompt"), "%s", problem.Message)
		}
		return nil
	}
	def := c.src.prompts[slices.IndexFunc(c.src.prompts, func(o Prompt) bool { return o.ID == found.def.ID && o.Version == found.def.Version })]
	def.Tests = nil
	def.ValidationPolicy = ValidationPolicy(policy)
	def.Output.OnExhausted = "" // the policy says it
	def.Checks = append(slices.Clip(def.Checks), p.Checks...)
	if p.Retries != nil {
		def.Retries = *p.Retries
	}
	for _, why := range c.unfit(stage, found, &def) {
		c.once(join(at, "prompt"), "%s cannot be the prompt of %s: %s", found.ref(), stage, why)
	}
	if c.bad[join(at, "prompt")] {
		return nil
	}
	return c.rebuilt(at, def, found.report)
}

// rebuilt compiles a definition whose own faults were told already: what is wrong now is the stage's.
func (c *pipelineCompiler) rebuilt(at string, def Prompt, own *report) *compiled {
	scratch, warned := newReport(c.file), len(c.s.warnings)
	scratch.lines[""] = c.line(at)
	out := c.src.compile(c.s, def, scratch)
	if out != nil {
		c.src.judges(c.s, out, scratch)
		c.src.affordable(c.s, out)
	}
	c.s.warnings = c.s.warnings[:warned]
	for _, p := range scratch.problems {
		if !slices.ContainsFunc(own.problems, func(o Problem) bool { return o.Path == p.Path && o.Message == p.Message }) {
			c.once(join(at, p.Path), "%s", p.Message)
		}
	}
	return out
}

// unfit lists why a prompt cannot be that of a stage.
func (c *pipelineCompiler) unfit(stage string, found *compiled, def *Prompt) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if def.Profile == "" {
		add("it names no profile of its own")
	}
	if found.output.OnExhausted == exhaustedEscalate && !found.implied {
		add("its answers go to people when they stay invalid (on_exhausted: escalate), and a pipeline does not wait for them; use return or fail")
	}
	given := pipeline.Given[stage]
	works := given[:1]
	if stage == schemas.StageChunk {
		works = given
		for _, why := range chunkContract(def, c.def.Chunk) {
			add("%s", why)
		}
	}
	if !slices.ContainsFunc(works, func(name string) bool { _, ok := def.Inputs[name]; return ok }) {
		add("it declares no input named %s", works[0])
	}
	for _, name := range sortedKeys(def.Inputs) {
		_, own := c.def.Inputs[name]
		if !own && !slices.Contains(given, name) && found.def.Inputs[name].Needed() {
			add("its input %s is given by nobody; declare it in the pipeline's inputs", name)
		}
	}
	return faults
}

// chunkContract gives a chunk prompt Emend's own contract.
func chunkContract(def *Prompt, spec ChunkSpec) (faults []string) {
	if def.Outputs != nil || def.Output.Schema.File != "" || def.Output.Schema.Inline != nil || def.Output.Mode != "" && def.Output.Mode != schemas.ModeNone {
		faults = append(faults, "it has an output contract, and a chunk plan's is Emend's own; remove output")
	}
	attempts := 1
	if spec.RepairAttempts != nil {
		attempts = *spec.RepairAttempts
	}
	def.Output = Output{Mode: schemas.ModeJSONSchema, Schema: SchemaRef{Inline: pipeline.StartsSchema(0)}, RepairAttempts: attempts}
	def.Messages = append(slices.Clip(def.Messages), Template{Role: schemas.RoleUser, Text: pipeline.StartsInstruction})
	return faults
}

// stepDigest covers what shapes a stage's outputs besides its inputs: protocol, prompt, schema, profile, validators, budgets,
// policy. A chunk plan that is reused is judged again by today's rules, so they are left out of its.
func (s *Snapshot) stepDigest(protocol int, c *compiled, chunk bool) string {
	checks := c.def.Checks
	if chunk {
		checks = slices.DeleteFunc(slices.Clone(checks), func(k CheckSpec) bool { return k.isRule() })
	}
	if len(checks) == 0 {
		checks = nil // none of many is none at all
	}
	judges := make([]string, 0, len(c.judges))
	for _, j := range c.judges {
		judges = append(judges, fmt.Sprint(j.retries, j.repairs), s.promptDigest(j.compiled))
	}
	raw, err := json.Marshal([]any{protocol, checks, c.def.ValidationRules, c.def.ValidationPolicy, c.def.Retries, judges})
	if err != nil {
		return ""
	}
	return pipeline.Digest([]byte(s.promptDigest(c)), raw)
}

// promptDigest covers a prompt with the profile that it runs on.
func (s *Snapshot) promptDigest(c *compiled) string {
	profile := s.config.Profiles[c.def.Profile]
	backend, _ := s.backend(profile.Backend)
	raw, err := json.Marshal([]any{c.ref(), c.def.Messages, c.def.Inputs, c.output, c.def.Settings, c.retries(s),
		c.def.Profile, profile.Backend, profile.Model, profile.Settings, backend.endpoint()})
	if err != nil {
		return ""
	}
	return pipeline.Digest(raw)
}

// endpoint is what of a backend shapes its answers: where it is, how it is spoken to, and what goes along with every call. Of what
// comes from a secret only the name counts, so that a new credential leaves outputs as they are.
func (b Backend) endpoint() []any {
	headers := make(map[string]string, len(b.Headers))
	for name, v := range b.Headers {
		headers[http.CanonicalHeaderKey(name)] = v.Literal
	}
	return []any{b.Dialect, b.URL, b.Query, headers, b.Native, b.Options}
}

// stage makes a request that is a job's be planned under its binding.
func (p *planner) stage() {
	ref := p.req.Stage
	if ref == nil {
		return
	}
	for _, f := range []struct {
		path string
		set  bool
	}{{"messages", p.req.Messages != nil}, {"append_messages", p.req.AppendMessages != nil}, {"settings", p.req.Settings != nil},
		{"output", p.req.Output != nil}, {"profile", p.req.Profile != ""}, {"transient_retries", p.req.TransientRetries != nil}} {
		if f.set {
			p.fault(f.path, "stands beside stage, whose binding decides it; remove it")
		}
	}
	c, problem := p.s.findPipeline(ref.Pipeline)
	switch {
	case problem != nil:
		p.missing("stage.pipeline", "%s", problem.Message)
		return
	case c.plan.Digest != ref.Digest:
		p.missing("stage.digest", "pipeline %s has other content in this catalog", c.def.Ref())
		return
	}
	bound := c.bindings[stageKey{ref.Stage, ref.Lane}]
	switch {
	case bound == nil:
		p.fault("stage", "pipeline %s has no prompt in stage %s of lane %s", c.def.Ref(), quoted(ref.Stage), quoted(ref.Lane))
	case p.compiled == nil || p.compiled.ref() != bound.ref():
		p.fault("prompt", "is not the prompt of the stage, %s", bound.ref())
	case ref.Attempt < 0 || ref.Attempt > bound.def.Retries+1:
		p.fault("stage.attempt", "is %d; the stage has attempts 1 to %d", ref.Attempt, bound.def.Retries+1)
	default:
		p.compiled, p.bound = bound, ref
	}
}

// staged fixes what the stage leaves of its binding's budget, and that nobody is waited for.
func (p *planner) staged(out *run.Plan) {
	if p.bound == nil {
		return
	}
	out.Retries -= max(p.bound.Attempt-1, 0)
	out.Sink = run.SinkNone
}

// chunkPlan holds the answer of a chunk prompt against the document that it is asked about: its lines, and what the prompts of
// the lanes take of a chunk.
func (p *planner) chunkPlan() {
	if p.bound == nil || p.bound.Stage != schemas.StageChunk || p.contract == nil {
		return
	}
	for _, name := range pipeline.Given[schemas.StageChunk] {
		var text string
		if json.Unmarshal(p.req.Inputs[name], &text) != nil {
			continue
		}
		if name == pipeline.InputNumbered {
			text = pipeline.Unnumbered(text)
		}
		p.effective.Schema = pipeline.StartsSchema(pipeline.Lines(text))
		rules, _ := p.compiled.def.rules()
		c, err := compileContract(p.effective, rules)
		if err != nil {
			p.fault("stage", "the chunk plan's contract: %v", err)
			return
		}
		of, _ := p.s.findPipeline(p.bound.Pipeline) // stage has found it
		p.contract = c.With(of.plan.StartsCheck(text))
		return
	}
}
