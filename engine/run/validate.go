package run

import (
	"fmt"
	"slices"
	"strings"

	"emend/schemas"
)

// validated notes one vote. When all are in, they decide; on an invalid candidate they are only advice, since no judge's
// approval changes invalid (design section 6).
func validated(p *Plan, s State, e Event) State {
	v := e.(Validated)
	s.Votes = append(slices.Clip(s.Votes), v.Vote)
	s.ValidatorUsage.Join(v.Usage)
	s.Cost.Join(v.Cost)
	s.Counts.ValidatorCalls += v.Vote.Calls
	s.Waited += v.Waited
	return p.asked(s)
}

// asked asks the next validator, or goes on from all of their votes; they may be in already where a run is taken up whose
// result could not be stored.
func (p *Plan) asked(s State) State {
	s = p.toldVotes(p.ruled(s))
	switch {
	case len(s.Votes) < len(p.Validators):
		s.Phase = Validating
		return s
	case s.Judged.Valid() || s.Chain:
		return p.decide(s)
	}
	if next := p.nextSink(s); next != s.Sink {
		s.Phase, s.Sink = Escalating, next
		return s
	}
	s.Phase, s.Status = Done, schemas.StatusInvalid
	return s
}

// ruled takes the votes of the rules that come next, which the verdict has decided.
func (p *Plan) ruled(s State) State {
	for len(s.Votes) < len(p.Validators) && p.Validators[len(s.Votes)].Rule > 0 {
		s.Votes = append(slices.Clip(s.Votes), s.Judged.ruleVote(p.Validators[len(s.Votes)]))
	}
	return s
}

// decide applies seed 004's precedence: a rejection wins over a validator that came to no decision.
func (p *Plan) decide(s State) State {
	if named(s.Votes, schemas.VoteRejected) != "" {
		next, impossible, ok := p.corrected(s)
		if ok {
			return next
		}
		if impossible != nil {
			s.Impossible = impossible.Error()
		}
	}
	rejected, open := named(s.Votes, schemas.VoteRejected), named(s.Votes, schemas.VoteFailed, schemas.VoteSkipped)
	s.Phase, s.Status = Done, schemas.StatusSucceeded
	switch {
	case s.Chain && p.Output.OnExhausted == "escalate":
		s.Phase, s.Status, s.Sink = Escalating, "", p.nextSink(s)
	case rejected != "" && p.Policy.SemanticRejection == PolicyRejectOutput:
		s.Status = schemas.StatusRejected
	case rejected != "":
		return s.fail(schemas.CategoryRejected, fmt.Sprintf("the candidate was rejected by %s", rejected))
	case open != "" && p.Policy.ValidatorFailure == PolicyFailRun:
		return s.fail(schemas.CategoryValidator, fmt.Sprintf("%s came to no decision", open))
	case open != "":
		s.Status = schemas.StatusUnverified
	}
	return s
}

func named(votes []schemas.Validator, outcomes ...string) string {
	var names []string
	for _, v := range votes {
		if slices.Contains(outcomes, v.Outcome) {
			names = append(names, v.Name)
		}
	}
	return strings.Join(names, ", ")
}

func (s State) fail(category, message string) State {
	s.Status = schemas.StatusFailed
	s.Failure = &Failure{Category: category, Message: message, Attempts: s.Counts.Calls, Billed: true}
	return s
}

// decided ends a run in review. Only a person can overrule a verdict: the verdict itself stays as it is, but that of an
// edit, which is judged before it comes here.
func decided(_ *Plan, s State, e Event) State {
	d := e.(Decided)
	s.Phase, s.Review = Done, &d.Review
	switch d.Review.Decision {
	case schemas.DecisionReject:
		s.Status = schemas.StatusInvalid
		return s
	case schemas.DecisionEdit:
		s.Candidate = &Candidate{Text: d.Text, Finish: "", Model: s.Candidate.Model}
		s.Judged = judged(d.Verdict)
	}
	s.Status = schemas.StatusSucceeded
	return s
}
