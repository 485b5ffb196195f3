package prompts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"emend/engine/run"
	"emend/schemas"
)

// judge is a prompt that another one names in its checks.
type judge struct {
	compiled         *compiled
	retries, repairs int
}

// Inputs that a judge's prompt may declare, and is given: the answer, the conversation that it answers as a list of
// messages, and what its contract found wrong.
const (
	inputCandidate = "candidate"
	inputMessages  = "messages"
	inputFindings  = "findings"
)

// judgeSchema is the contract of every judge, judgeNative what is sent of it to providers: their strict subset wants every
// property and knows no condition, and an answer without warnings is as good. An approval that gives reasons contradicts itself,
// so that it is no decision; the condition stands there from both sides, so that its correction leans to neither. What a schema
// cannot say, the engine checks.
const (
	judgeReasons = `{"type":"array","items":{"type":"object","properties":{` +
		`"code":{"type":"string","description":"what is wrong, in a few words of a-z and _"},"guidance":{"type":"string","description":"how to correct it"}},` +
		`"required":["code","guidance"],"additionalProperties":false}}`
	judgeProperties = `{"type":"object","properties":{"reasons":` + judgeReasons + `,"warnings":` + judgeReasons +
		`,"decision":{"type":"string","enum":["approve","reject"]}},"additionalProperties":false,"required":["reasons",`
	judgeSchema = judgeProperties + `"decision"],"allOf":[` +
		`{"if":{"properties":{"decision":{"const":"approve"}},"required":["decision"]},"then":{"properties":{"reasons":{"maxItems":0}}}},` +
		`{"if":{"properties":{"reasons":{"minItems":1}},"required":["reasons"]},"then":{"properties":{"decision":{"const":"reject"}}}}]}`
	judgeNative = judgeProperties + `"warnings","decision"]}`
)

// judgeInstruction ends every judge's conversation.
const judgeInstruction = `Answer with JSON only: {"reasons": [{"code": "what_is_wrong", "guidance": "how to correct it"}], "warnings": [], "decision": "approve" or "reject"}. ` +
	`Give at least one reason when you reject, and none when you approve. In warnings, of the same form as reasons, you may remark what rejects nothing.`

// judges resolves what a prompt's checks name, once all prompts are compiled.
func (src *source) judges(s *Snapshot, c *compiled, r *report) {
	for i, check := range c.def.Checks {
		if check.Judge == "" {
			continue
		}
		at := join(index("checks", i), "judge")
		if !validRef(check.Judge) {
			continue // the table has said so
		}
		found, problem := s.find(check.Judge)
		if problem != nil {
			if !src.broken(check.Judge) {
				r.fault(at, "%s", problem.Message)
			}
			continue
		}
		for _, fault := range found.unfitJudge() {
			r.fault(at, "%s cannot judge: %s", found.ref(), fault)
		}
		c.judges = append(c.judges, judge{found, check.Retries, check.RepairAttempts})
	}
}

// broken reports whether a prompt is there, but its own faults keep it from being compiled.
func (src *source) broken(ref string) bool {
	return slices.ContainsFunc(src.prompts, func(p Prompt) bool { return ref == p.ID || ref == fmt.Sprintf("%s@%d", p.ID, p.Version) })
}

// unfitJudge lists why a prompt cannot be a judge.
func (c *compiled) unfitJudge() (faults []string) {
	if c.def.Profile == "" {
		faults = append(faults, "it names no profile of its own")
	}
	if c.output.Mode != schemas.ModeNone || c.def.Outputs != nil {
		faults = append(faults, "it has an output contract, and a judge's is Emend's own; remove output")
	}
	if len(c.def.Checks)+len(c.def.ValidationRules) > 0 {
		faults = append(faults, "it has checks of its own")
	}
	if _, ok := c.def.Inputs[inputCandidate]; !ok {
		faults = append(faults, "it declares no input named "+inputCandidate)
	}
	for _, name := range sortedKeys(c.def.Inputs) {
		if known := []string{inputCandidate, inputMessages, inputFindings}; !slices.Contains(known, name) && c.def.Inputs[name].Needed() {
			faults = append(faults, fmt.Sprintf("its input %s is given by nobody; a judge gets candidate, messages and findings", name))
		}
	}
	return faults
}

// validators of a run under this prompt, in configured order. Rules are among them in a stage, which is a run with judges,
// with functions, with retries or of a pipeline (seed 004); in others they are findings alone.
func (s *Snapshot) validators(c *compiled, stage bool) []run.Validator {
	if len(c.votes) == 0 || !stage && c.def.judges() == 0 {
		return nil
	}
	out, next := slices.Clone(c.votes), 0
	for i := range out {
		if out[i].Rule == 0 && !out[i].Go {
			out[i] = s.judgeValidator(c.judges[next])
			next++
		}
	}
	return out
}

func (s *Snapshot) judgeValidator(j judge) run.Validator {
	retries := j.compiled.retries(s)
	return run.Validator{Name: j.compiled.ref(), Backend: s.config.Profiles[j.compiled.def.Profile].Backend, Retries: j.retries,
		MaxCalls: (retries + 1) * (j.repairs + 1), Plan: func(q run.Question) (*run.Plan, error) { return s.judgePlan(j, retries, q) }}
}

// votes are the places of all that may vote, in configured order: those of judges are empty. Rules of the short form stand behind.
func (p Prompt) votes() []run.Validator {
	var out []run.Validator
	number := 0
	rule := func(r Rule) run.Validator {
		number++
		return run.Validator{Rule: number, Name: r.name(number)}
	}
	for _, c := range p.Checks {
		switch {
		case c.isRule():
			out = append(out, rule(c.Rule))
		default:
			out = append(out, run.Validator{Name: c.Go, Go: c.Go != ""})
		}
	}
	for _, r := range p.ValidationRules {
		out = append(out, rule(r))
	}
	return out
}

// name of a rule that is the number-th of its prompt or stage.
func (c Rule) name(number int) string { return cmp.Or(c.Code, fmt.Sprintf("rule_%d", number)) }

// distinct refuses two validators of one name: votes, codes and counts could not be told apart. A judge may be asked twice.
func (c *compiled) distinct(r *report) {
	seen := map[string]bool{}
	for i, v := range c.votes {
		if v.Name != "" && seen[v.Name] {
			at := "validation_rules"
			if i < len(c.def.Checks) {
				at = index("checks", i)
			}
			r.fault(at, "has the name %s, as another entry has; give one of them a code of its own", v.Name)
		}
		seen[v.Name] = true
	}
}

// GoChecks lists the validators that prompts and stages name and a program must bring: each name, and who names it first.
func (s *Snapshot) GoChecks() map[string]string {
	return s.voters(func(c *compiled) (names []string) {
		for _, v := range c.votes {
			if v.Go {
				names = append(names, v.Name)
			}
		}
		return names
	})
}

// Judges lists the prompts that judge for others, as id@version, and who names each first.
func (s *Snapshot) Judges() map[string]string {
	return s.voters(func(c *compiled) (names []string) {
		for _, j := range c.judges {
			names = append(names, j.compiled.ref())
		}
		return names
	})
}

// voters lists the entries of checks of a kind, and who names each first.
func (s *Snapshot) voters(of func(*compiled) []string) map[string]string {
	out := map[string]string{}
	add := func(who string, c *compiled) {
		for _, name := range of(c) {
			if _, known := out[name]; !known {
				out[name] = who
			}
		}
	}
	for _, id := range sortedKeys(s.prompts) {
		for _, c := range s.prompts[id] {
			add("prompt "+c.ref(), c)
		}
	}
	for _, name := range sortedKeys(s.pipelines) {
		for _, c := range s.pipelines[name] {
			for _, bound := range c.bindings {
				add("pipeline "+c.def.Ref(), bound)
			}
		}
	}
	return out
}

// judgePlan renders one judge's run.
func (s *Snapshot) judgePlan(j judge, retries int, q run.Question) (*run.Plan, error) {
	c := j.compiled
	inputs, err := c.judgeInputs(q)
	if err != nil {
		return nil, err
	}
	messages, faults := c.render(inputs)
	if len(faults) > 0 {
		return nil, fmt.Errorf("judge %s: %s: %s", c.ref(), faults[0].at, faults[0].message)
	}
	profile := s.config.Profiles[c.def.Profile]
	backend, _ := s.backend(profile.Backend)
	output := effective(schemas.Output{Mode: schemas.ModeJSONSchema, Schema: json.RawMessage(judgeSchema), RepairAttempts: j.repairs})
	compiled, err := compileContract(output, nil)
	if err != nil {
		return nil, err
	}
	sent := output
	sent.Schema = json.RawMessage(judgeNative)
	schema, _, err := native(sent, backend)
	if err != nil {
		return nil, err
	}
	p := &run.Plan{Catalog: s.config.Catalog, Prompt: c.ref(), Profile: c.def.Profile, Backend: profile.Backend, Model: profile.Model, Output: output, Contract: compiled,
		Messages:     append(messages, schemas.Message{Role: schemas.RoleUser, Content: judgeInstruction}),
		Settings:     profile.Settings.Over(&c.def.Settings),
		NativeSchema: schema, NativeName: "verdict", TransientRetries: retries, ExtraStatuses: backend.ExtraStatuses, Sink: run.SinkNone}
	p.Price = s.priceOf[c.def.Profile]
	p.PromptSHA256 = fingerprint(p, "", nil)
	return p, nil
}

// judgeInputs are those of the three that the prompt declares.
func (c *compiled) judgeInputs(q run.Question) (map[string]json.RawMessage, error) {
	findings := make([]schemas.Finding, 0, len(q.Findings))
	for _, f := range q.Findings {
		findings = append(findings, schemas.Finding{Pointer: f.Pointer, Keyword: f.Keyword, Message: f.Message})
	}
	out := map[string]json.RawMessage{}
	for name, v := range map[string]any{inputCandidate: q.Candidate, inputMessages: q.Messages, inputFindings: findings} {
		if _, ok := c.def.Inputs[name]; !ok {
			continue
		}
		raw, err := schemas.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("judge %s: input %s: %w", c.ref(), name, err)
		}
		out[name] = raw
	}
	return out, nil
}

// checksum tells one set of checks from another; "" for none.
func (c *compiled) checksum() string {
	if len(c.def.Checks)+len(c.def.ValidationRules)+c.def.Retries == 0 {
		return ""
	}
	raw, err := json.Marshal([]any{c.def.Checks, c.def.ValidationRules, c.def.ValidationPolicy, c.def.Retries})
	if err != nil {
		return "" // bounds and names have a JSON form
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// retries are the transient retries of a prompt's runs.
func (c *compiled) retries(s *Snapshot) int {
	if c.def.TransientRetries != nil {
		return *c.def.TransientRetries
	}
	return *s.config.TransientRetries
}
