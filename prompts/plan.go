package prompts

import (
	"maps"
	"strings"
	"time"

	"emend/engine/contract"
	"emend/engine/run"
	"emend/schemas"
)

// Origin is what the carrier knows of a request and the request itself cannot say.
type Origin struct {
	ID, Queue, Backend string
	// Published is when the request was stored; zero means now.
	Published time.Time
	// Library lifts what belongs to queues and subjects: no allow list, any backend.
	Library bool
}

// Plan checks a request and fixes everything that its run needs. Its error is a *RequestError that lists every fault;
// no message of it holds an input's text. A deadline in the past is no fault: the run will be settled as expired.
func (s *Snapshot) Plan(req schemas.Request, from Origin) (*run.Plan, error) {
	p := &planner{s: s, req: &req, from: from, report: newReport("")}
	p.origin()
	p.prompt()
	p.stage()
	p.target()
	p.permissions()
	p.messages()
	p.inputs()
	p.output()
	p.limits()
	if err := p.refusal(); err != nil {
		return nil, err
	}
	out := p.plan()
	p.affordable(out)
	if err := p.refusal(); err != nil {
		return nil, err
	}
	return out, nil
}

// planner gathers what a plan needs. Malformed problems go to the report, the others to their own lists.
type planner struct {
	s    *Snapshot
	req  *schemas.Request
	from Origin
	*report
	unknown, forbidden []Problem

	compiled    *compiled // nil for inline messages
	profileName string
	profile     Profile
	backend     Backend
	rendered    []schemas.Message
	contract    *contract.Contract
	effective   schemas.Output
	native      []byte
	warnings    []string
	notes       []string
	// bound is the stage whose binding decides, nil for a run that is no job.
	bound *schemas.StageRef
}

func (p *planner) refusal() error {
	problems := append(append(sorted(p.problems), sorted(p.forbidden)...), sorted(p.unknown)...)
	switch {
	case len(p.problems) > 0:
		return &RequestError{Malformed, problems}
	case len(p.forbidden) > 0:
		return &RequestError{Forbidden, problems}
	case len(p.unknown) > 0:
		return &RequestError{Unknown, problems}
	}
	return nil
}

// plan composes what was found sound.
func (p *planner) plan() *run.Plan {
	out := &run.Plan{ID: p.from.ID, Queue: p.from.Queue, Profile: p.profileName, Backend: p.profile.Backend, Model: p.profile.Model,
		Messages: append(p.rendered, p.req.AppendMessages...), Session: p.req.SessionID, Output: p.effective, Contract: p.contract,
		NativeSchema: p.native, NativeName: "output", TransientRetries: p.retries(), ExtraStatuses: p.backend.ExtraStatuses,
		HandsBack: !p.from.Library && p.backend.OnTrouble == OnTroubleWait, Catalog: p.s.config.Catalog, Sink: p.s.sink(p.from.Library), Audit: p.s.config.Audit == AuditFull, Deadline: p.deadline(), Metadata: maps.Clone(p.req.Metadata), Warnings: p.warnings, Notes: p.notes, Settings: p.profile.Settings}
	if p.compiled != nil {
		out.Prompt, out.NativeName = p.compiled.ref(), schemaName(p.compiled.def.ID)
		out.Settings = out.Settings.Over(&p.compiled.def.Settings)
	}
	if p.compiled != nil && p.req.Output == nil {
		policy := p.compiled.def.ValidationPolicy
		out.Retries = p.compiled.def.Retries
		out.Validators = p.s.validators(p.compiled, p.bound != nil || out.Retries > 0)
		out.Policy = run.Policy{SemanticRejection: policy.SemanticRejection, ValidatorFailure: policy.ValidatorFailure}
	}
	out.Price, out.MaxCost = p.s.priceOf[p.profileName], p.maxCost()
	p.staged(out)
	if p.req.Attempts != schemas.AttemptsSummary {
		out.Attempts = p.req.Attempts
	}
	out.Settings = out.Settings.Over(p.req.Settings)
	if p.compiled != nil && p.req.Output == nil {
		out.PromptSHA256 = fingerprint(out, p.compiled.checks, p.compiled.outputJSON)
	} else {
		out.PromptSHA256 = fingerprint(out, "", nil)
	}
	return out
}

func (p *planner) retries() int {
	switch {
	case p.req.TransientRetries != nil:
		return *p.req.TransientRetries
	case p.compiled != nil:
		return p.compiled.retries(p.s)
	}
	return *p.s.config.TransientRetries
}

// deadline is the earlier of deadline and publication plus timeout.
func (p *planner) deadline() time.Time {
	var at time.Time
	if p.req.Deadline != nil {
		if at = *p.req.Deadline; at.IsZero() {
			at = at.Add(time.Nanosecond) // the zero time is a deadline as well, long past; in a plan it is none
		}
	}
	if p.req.TimeoutS == nil {
		return at
	}
	from := p.from.Published
	if from.IsZero() {
		from = time.Now()
	}
	if by := from.Add(time.Duration(*p.req.TimeoutS * float64(time.Second))); at.IsZero() || by.Before(at) {
		at = by
	}
	return at
}

// schemaName makes a prompt's id fit for providers: 64 characters of [A-Za-z0-9_-].
func schemaName(id string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	return name[:min(len(name), 64)]
}
