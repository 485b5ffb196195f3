package run

import (
	"maps"
	"slices"

	"emend/schemas"
)

// MaxContent bounds the text that the attempts of a run hold under attempts: full, in bytes. What does not fit is left out
// whole, and its length is noted.
const MaxContent = 1 << 20

// told makes the attempts of a State tell what the plan wants of them: what e brought, which led from before to s, or nothing.
func (p *Plan) told(before, s State, e Event) State {
	if p.Attempts == schemas.AttemptsNone {
		s.Attempts = nil
		return s
	}
	called := len(s.Attempts) > len(before.Attempts)
	switch e := e.(type) {
	case Answered:
		return s.tell(schemas.AttemptContent{Appended: s.news(before, e.Call.Appended), Answer: &e.Candidate.Text, Usage: e.Tokens})
	case Failed:
		if called {
			return s.tell(schemas.AttemptContent{Appended: s.news(before, e.Call.Appended), Usage: e.Tokens})
		}
	case Cancelled:
		if called {
			return s.tell(schemas.AttemptContent{Appended: s.news(before, e.Call.Appended)})
		}
	case Voted:
		return s.tellMore(schemas.PartFindings, func(c *schemas.AttemptContent) { c.Verdict = verdictOf(e) })
	}
	return s
}

// toldVotes notes the votes so far on the latest answer.
func (p *Plan) toldVotes(s State) State {
	if p.Attempts != schemas.AttemptsFull || len(s.Votes) == 0 {
		return s
	}
	return s.tellMore(schemas.PartVotes, func(c *schemas.AttemptContent) { c.Votes = s.Votes })
}

// news are messages that the latest call was sent, unless the one before it in its generation was sent the same.
func (s State) news(before State, appended []schemas.Message) []schemas.Turn {
	now := s.Attempts[len(s.Attempts)-1]
	var out []schemas.Turn
	for _, m := range appended {
		out = append(out, schemas.Turn{Role: m.Role, Content: m.Content})
	}
	for _, t := range slices.Backward(before.Attempts) {
		switch {
		case t.StageAttempt != now.StageAttempt || t.Generation != now.Generation:
			return out
		case t.Content == nil || t.Content.Appended == nil:
		case slices.Equal(t.Content.Appended, out):
			return nil
		default:
			return out
		}
	}
	return out
}

// tell sets the content of the latest attempt, as far as there is room.
func (s State) tell(c schemas.AttemptContent) State {
	return s.with(&c, schemas.PartAppended, schemas.PartAnswer)
}

// tellMore has a part of the latest attempt's content written.
func (s State) tellMore(part string, write func(*schemas.AttemptContent)) State {
	if len(s.Attempts) == 0 {
		return s
	}
	c := schemas.AttemptContent{}
	if old := s.Attempts[len(s.Attempts)-1].Content; old != nil {
		c = *old
	}
	c.Omitted = maps.Clone(c.Omitted)
	delete(c.Omitted, part)
	write(&c)
	return s.with(&c, part)
}

// with puts a content into a copy of the attempts, without those of the parts that there is no room for.
func (s State) with(c *schemas.AttemptContent, parts ...string) State {
	s.Attempts = slices.Clone(s.Attempts)
	last := len(s.Attempts) - 1
	room := MaxContent
	for _, t := range s.Attempts[:last] {
		room -= t.Content.Bytes()
	}
	for _, part := range parts {
		if c.Bytes() <= room {
			break
		}
		c = c.Without(part)
	}
	s.Attempts[last].Content = c
	return s
}

func verdictOf(v Voted) *schemas.AttemptVerdict {
	out := &schemas.AttemptVerdict{Class: string(v.Verdict.Class), Complete: v.Verdict.Omitted == 0 && v.Verdict.Rules.Skipped == 0, Mended: v.Verdict.Mended,
		Changed: v.Changed}
	for _, f := range v.Verdict.Findings {
		out.Findings = append(out.Findings, schemas.Finding{Pointer: f.Pointer, Keyword: f.Keyword, Message: f.Message, Expected: f.Expected})
	}
	return out
}

// Stages lists the stage attempts of a run that ended, as the plan wants them told: all of a run that needed more than one,
// and under attempts: full of every run that made a call, with their repairs and codes.
func (p *Plan) Stages(s State) []schemas.Stage {
	switch {
	case p.Attempts == schemas.AttemptsNone:
		return nil
	case p.Attempts != schemas.AttemptsFull:
		return p.AllStages(s)
	case s.Generation == 0:
		return nil
	}
	out := append(slices.Clip(s.Stages), p.stage(s, s.Status))
	for _, t := range s.Attempts {
		if at := max(t.StageAttempt, 1); at <= len(out) {
			of := &out[at-1]
			of.Repairs = max(of.Repairs, t.Generation-1)
			of.Codes = codes(of.Codes, t.Content)
		}
	}
	return out
}

// codes adds those of all rejections to what is there, equal ones once.
func codes(known []string, c *schemas.AttemptContent) []string {
	if c == nil {
		return known
	}
	for _, v := range c.Votes {
		for _, r := range v.Reasons {
			if v.Outcome == schemas.VoteRejected && !slices.Contains(known, r.Code) {
				known = append(known, r.Code)
			}
		}
	}
	return known
}
