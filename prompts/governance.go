package prompts

import (
	"fmt"

	"emend/engine/contract"
	"emend/engine/run"
	"emend/schemas"
)

// defaultMaxRetries is the budget where output_governance stands without one (seed 002).
const defaultMaxRetries = 2

// governed makes the output contract of a prompt's forms: output, or seed 002's outputs with output_governance. Its schema
// file is read later. implied says that nobody wrote the escalation down.
func (src *source) governed(p Prompt, explicit Output, r *report) (out schemas.Output, implied bool) {
	out = schemas.Output{Mode: p.Output.Mode, RepairAttempts: p.Output.RepairAttempts, DuplicateKeys: p.Output.DuplicateKeys, OnExhausted: p.Output.OnExhausted}
	if p.Output.Repair != (schemas.Repair{}) {
		words := p.Output.Repair
		out.Repair = &words
	}
	if p.Outputs != nil {
		out.Mode = schemas.ModeJSONSchema
		for _, name := range []string{"mode", "schema"} {
			if r.given("output." + name) {
				r.once("output."+name, "stands beside outputs, which is the contract already; remove one of the two")
			}
		}
		raw, err := schemaOf(p.Outputs)
		if err != nil {
			r.once("outputs", "has no JSON form: %v", err)
		}
		out.Schema = raw
	}
	if why := structural(&out, p, explicit); why != "" {
		r.once("validation_policy.producer_structural_failure", "%s", why)
	}
	g := src.governance(p)
	if g == nil {
		return out, false
	}
	attempts := defaultMaxRetries
	if g.MaxRetries != nil {
		attempts = *g.MaxRetries
	}
	switch given := explicit.RepairAttempts != 0 || r.given("output.repair_attempts"); {
	case !given:
		out.RepairAttempts = attempts
	case p.Governance != nil && p.Governance.MaxRetries != nil && attempts != explicit.RepairAttempts:
		r.once("output_governance.max_retries", "is %d, but output.repair_attempts is %d; they are one number, give it once", attempts, explicit.RepairAttempts)
	}
	escalate := g.EscalateOnFailure == nil || *g.EscalateOnFailure
	switch {
	case explicit.OnExhausted == "" && p.ValidationPolicy.ProducerStructuralFailure == "" && escalate:
		out.OnExhausted = exhaustedEscalate
		return out, p.Governance == nil || p.Governance.EscalateOnFailure == nil
	case explicit.OnExhausted != "" && p.Governance != nil && p.Governance.EscalateOnFailure != nil && escalate != (explicit.OnExhausted == exhaustedEscalate):
		r.once("output_governance.escalate_on_failure", "contradicts output.on_exhausted: %s; give one of the two", explicit.OnExhausted)
	}
	return out, false
}

// structural gives a run with judges the end that seed 004 says for an answer that stays invalid, unless the contract says
// another. The two words for one thing must agree.
func structural(out *schemas.Output, p Prompt, explicit Output) (why string) {
	words := map[string]string{run.PolicyFailRun: exhaustedFail, run.PolicyRejectOutput: exhaustedReturn}
	policy := p.ValidationPolicy.ProducerStructuralFailure
	switch {
	case policy != "" && explicit.OnExhausted != "" && words[policy] != explicit.OnExhausted:
		return fmt.Sprintf("is %s, but output.on_exhausted is %s; give one of the two", policy, explicit.OnExhausted)
	case policy != "":
		out.OnExhausted = words[policy]
	case explicit.OnExhausted == "" && p.judges() > 0:
		out.OnExhausted = exhaustedFail
	}
	return ""
}

// governance is the block that counts for a prompt: its own over that of emend.yaml, which is for prompts with outputs.
func (src *source) governance(p Prompt) *Governance {
	if p.Governance == nil && p.Outputs == nil {
		return nil
	}
	g := src.config.Governance
	if own := p.Governance; own != nil {
		if own.MaxRetries != nil {
			g.MaxRetries = own.MaxRetries
		}
		if own.EscalateOnFailure != nil {
			g.EscalateOnFailure = own.EscalateOnFailure
		}
	}
	return &g
}

// rules of a prompt, those of checks first; where maps each to its place in the file.
func (p Prompt) rules() (rules []contract.Rule, where []string) {
	for i, c := range p.Checks {
		if c.isRule() {
			rules, where = append(rules, c.Rule.rule()), append(where, index("checks", i))
		}
	}
	for i, c := range p.ValidationRules {
		rules, where = append(rules, c.rule()), append(where, index("validation_rules", i))
	}
	return rules, where
}

func (c CheckSpec) isRule() bool { return c.Judge == "" && c.Go == "" }

// judges counts the checks that are judges or functions.
func (p Prompt) judges() int {
	n := 0
	for _, c := range p.Checks {
		if !c.isRule() {
			n++
		}
	}
	return n
}

// sink is where an exhausted run goes besides its judges; a library has nobody to send it to.
func (s *Snapshot) sink(library bool) string {
	if library || s.config.Escalation.Sink == "" {
		return run.SinkNone
	}
	return s.config.Escalation.Sink
}

// unheard says why an explicit escalation would reach nobody; "" if it does.
func (s *Snapshot) unheard(o schemas.Output, judges int) string {
	if o.OnExhausted != exhaustedEscalate || judges > 0 || s.config.Escalation.Sink == run.SinkReview {
		return ""
	}
	return "escalate reaches nobody: set escalation: {sink: review} in emend.yaml, list a judge in checks, or use return"
}
