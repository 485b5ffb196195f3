package rehearse

import (
	"context"
	"fmt"

	"emend/engine/contract"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// Correction is the verdict on one answer, and the conversation that would have it corrected.
type Correction struct {
	Valid    bool              `json:"valid"`
	Class    string            `json:"class"`
	Findings []schemas.Finding `json:"findings"`
	// Mended is unwrap or syntax for an answer that was mended without a call.
	Mended string `json:"mended,omitempty"`
	// Style is conversation, targeted or regenerate; "" for a valid answer. Targets are the places that a targeted
	// correction lets change, as people see them.
	Style   string   `json:"style,omitempty"`
	Targets []string `json:"targets"`
	// N of M: the correction that is shown is the first. M is 0 where the contract allows none; what is shown would then
	// take repair_attempts: 1.
	N int `json:"n"`
	M int `json:"m"`
	// Messages is the conversation; none for a valid answer.
	Messages []schemas.Message `json:"messages"`
}

// Correct gives a run its first answer and shows what the engine would send next. Judges are not asked. Where
// the request is at fault its error is a *prompts.RequestError.
func Correct(ctx context.Context, snap *prompts.Snapshot, req schemas.Request, answer Answer) (*Correction, error) {
	client := &script{answers: []Answer{answer}}
	budget := 0
	r, err := play(ctx, snap, req, client, func(p *run.Plan) {
		budget = p.Output.RepairAttempts
		p.Output.RepairAttempts = max(budget, 1)
		p.Validators = nil
	})
	if err != nil {
		return nil, err
	}
	if f := r.res.Failure; f != nil && !client.starved() {
		return nil, fmt.Errorf("the answer could not be judged: %s", f.Message)
	}
	if r.last.Judged == nil {
		j := r.res.State.Judged
		return &Correction{Valid: true, Class: string(j.Class), Findings: []schemas.Finding{}, Mended: j.Mended, Targets: []string{},
			Messages: []schemas.Message{}, M: budget}, nil
	}
	return corrected(r.last, client.asked[1].Messages, budget), nil
}

func corrected(s run.State, messages []schemas.Message, budget int) *Correction {
	c := &Correction{Class: string(s.Judged.Class), Findings: []schemas.Finding{}, Mended: s.Judged.Mended, Style: s.Style, Targets: []string{},
		Messages: messages, M: budget, N: 1}
	for _, f := range s.Judged.Findings {
		c.Findings = append(c.Findings, schemas.Finding{Pointer: f.Pointer, Keyword: f.Keyword, Message: f.Message, Expected: f.Expected})
	}
	for _, t := range s.Targets {
		c.Targets = append(c.Targets, contract.DisplayPath(t))
	}
	return c
}
