package main

import (
	"context"
	"errors"
	"fmt"

	"emend/engine"
	"emend/prompts"
)

// rehearsal is how one test of a prompt went.
type rehearsal struct {
	Prompt string `json:"prompt"`
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Fault  string `json:"fault,omitempty"`
}

// rehearsals plays the tests of all prompts: the answers that a test lists, in order, in place of a model.
func rehearsals(ctx context.Context, dir string) ([]rehearsal, error) {
	snap, err := prompts.LoadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []rehearsal
	for _, p := range snap.Prompts() {
		for _, t := range p.Tests {
			r := rehearsal{Prompt: fmt.Sprintf("%s@%d", p.ID, p.Version), Name: t.Name, OK: true}
			if err := rehearseOne(ctx, snap, p, t); err != nil {
				r.OK, r.Fault = false, err.Error()
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// rehearse shows the rehearsals.
func (a *app) rehearse(ctx context.Context, dir string) error {
	played, err := rehearsals(ctx, dir)
	if err != nil {
		return err
	}
	bad := 0
	for _, r := range played {
		if !r.OK {
			bad++
			fmt.Fprintf(a.out, "%s %s %q: %s\n", a.colour(red, "FAIL"), r.Prompt, r.Name, r.Fault)
		}
	}
	if bad > 0 {
		return &exitError{code: exitUsage, err: fmt.Errorf("%d of %d rehearsals failed", bad, len(played))}
	}
	fmt.Fprintf(a.out, "%s %d rehearsals played\n", a.colour(green, "ok"), len(played))
	return nil
}

// answers is a client that gives a test's answers, in order.
type answers struct {
	texts []string
	calls int
}

var errNoAnswer = errors.New("the test lists no further answer")

// Generate gives the next answer.
func (c *answers) Generate(context.Context, *engine.GenerateRequest) (*engine.GenerateResponse, error) {
	c.calls++
	if c.calls > len(c.texts) {
		return nil, errNoAnswer
	}
	return &engine.GenerateResponse{Text: c.texts[c.calls-1]}, nil
}

func rehearseOne(ctx context.Context, snap *prompts.Snapshot, p prompts.Prompt, t prompts.Test) error {
	client := &answers{texts: t.Answers}
	eng, err := engine.New(snap, engine.WithLLMClient(client))
	if err != nil {
		return err
	}
	inputs := make(map[string]any, len(t.Inputs))
	for name, raw := range t.Inputs {
		inputs[name] = raw
	}
	status := "failed"
	r, err := eng.Run(ctx, engine.RunRequest{Prompt: fmt.Sprintf("%s@%d", p.ID, p.Version), Inputs: inputs})
	switch {
	case errors.Is(err, errNoAnswer):
		return fmt.Errorf("%w: call %d was made", errNoAnswer, client.calls)
	case errors.Is(err, engine.ErrInvalidRequest):
		return err
	case err == nil:
		status = r.Status
	}
	if t.Expect.Status != "" && status != t.Expect.Status {
		return fmt.Errorf("status is %s, expected %s", status, t.Expect.Status)
	}
	if t.Expect.Calls != 0 && client.calls != t.Expect.Calls {
		return fmt.Errorf("%d calls were made, expected %d", client.calls, t.Expect.Calls)
	}
	return nil
}
