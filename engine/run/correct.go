package run

import (
	"fmt"
	"slices"

	"emend/engine/contract"
	"emend/schemas"
)

// maxChanged bounds the places that a run remembers as changed unasked.
const maxChanged = 20

func voted(p *Plan, s State, e Event) State {
	v := e.(Voted)
	s.Judged = judged(v.Verdict)
	for _, c := range v.Changed {
		if len(s.Changed) < maxChanged && !slices.Contains(s.Changed, c) {
			s.Changed = append(slices.Clip(s.Changed), c)
		}
	}
	switch {
	case v.Verdict.Valid() && len(p.Validators) > 0:
		return p.asked(s)
	case v.Verdict.Valid():
		s.Phase, s.Status = Done, schemas.StatusSucceeded
	case p.chained(s):
		s.Chain = true
		return p.asked(s)
	case s.Left.Repair == 0 || (s.Cut() && s.Regenerated):
		return exhausted(p, s)
	default:
		return repair(p, s, v)
	}
	return s
}

// chained reports whether what rules refuse goes to the validators, to be rejected with their reasons in one correction: while
// the stage has retries for it, and when the attempt has no repair left that would mend it. Then those whom an exhausted run
// escalates to are asked in that order instead.
func (p *Plan) chained(s State) bool {
	return s.Judged.Class == contract.RuleFailed && p.rulesVote() && !s.Cut() &&
		(s.Left.Stage > 0 || s.Left.Repair == 0 && p.Output.OnExhausted != "escalate")
}

// Cut reports whether the latest candidate is invalid because it ends too early: the provider said so, or the text
// shows it whatever the provider said.
func (s State) Cut() bool {
	return s.Candidate != nil && !s.Judged.Valid() && (s.Candidate.Finish == "length" || (s.Judged != nil && s.Judged.CutOff))
}

// repair starts a corrective generation. A cut answer is asked for again from the beginning, once a run: showing it
// would only lengthen the next answer's prompt (design section 5).
func repair(p *Plan, s State, v Voted) State {
	s.Left.Repair--
	s.Style = v.Style
	if s.Style == "" {
		s.Style = StyleConversation
	}
	if s.Cut() {
		s.Style, s.Regenerated = StyleRegenerate, true
	}
	s = aim(s, v)
	s.Counts.Repairs++
	s.Generation++
	s.Attempt, s.Left.Transient, s.Phase = 0, p.TransientRetries, Calling
	return s
}

// aim notes what a targeted correction may change, and of which value. A correction that has to put back what the one
// before it changed is still about the value before both.
//
// What must be put back stays so in whatever style it is asked for, and a correction that gave no value at all has not
// ended the one before it.
func aim(s State, v Voted) State {
	switch {
	case s.Style == StyleRegenerate:
		s.Base, s.Targets = "", nil
	case slices.ContainsFunc(s.Judged.Findings, isPreserve):
		s.Targets = slices.Clip(s.Targets)
		for _, t := range v.Targets {
			if !slices.Contains(s.Targets, t) && !s.putsBack(t) {
				s.Targets = append(s.Targets, t)
			}
		}
	case s.Style == StyleTargeted:
		s.Base, s.Targets = s.Text(), v.Targets
	case s.Judged.Value != nil:
		s.Base, s.Targets = "", nil
	}
	return s
}

func isPreserve(f contract.Finding) bool { return f.Keyword == contract.KeywordPreserve }

func (s State) putsBack(pointer string) bool {
	return slices.ContainsFunc(s.Judged.Findings, func(f contract.Finding) bool { return isPreserve(f) && f.Path() == pointer })
}

// exhausted ends a run whose final candidate is invalid: a result, not an error, unless the contract says fail or wants
// somebody to look at it.
func exhausted(p *Plan, s State) State {
	if next, ok := p.again(s, schemas.StageStructural, string(s.Judged.Class), nil); ok {
		return next
	}
	switch p.Output.OnExhausted {
	case "escalate":
		s.Phase = Escalating
		s.Sink = p.nextSink(s)
		return s
	case "fail":
		s.Phase, s.Status = Done, schemas.StatusFailed
		s.Failure = &Failure{Category: schemas.CategoryOutputInvalid, Exhausted: true, Attempts: s.Counts.Calls, Billed: true,
			Message: fmt.Sprintf("the final candidate is %s after %d corrective calls", s.Judged.Class, s.Counts.Repairs)}
		return s
	}
	s.Phase, s.Status = Done, schemas.StatusInvalid
	return s
}

// nextSink is where an escalated run goes from where it is: to its judges first, then to people, else nowhere.
func (p *Plan) nextSink(s State) string {
	switch {
	case s.Sink == "" && p.judged() && !s.Chain:
		return SinkJudge
	case p.Sink == SinkReview:
		return SinkReview
	case s.Sink == "":
		return SinkNone
	}
	return s.Sink
}

func escalated(p *Plan, s State, _ Event) State {
	switch s.Sink {
	case SinkJudge:
		return p.asked(s)
	case SinkReview:
		s.Phase = Reviewing
	default:
		s.Phase, s.Status = Done, schemas.StatusInvalid
	}
	return s
}
