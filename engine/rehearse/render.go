package rehearse

import (
	"encoding/json"
	"fmt"

	"emend/engine/provider"
	"emend/engine/provider/dialects"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// Rendering is a run as its first call would be sent.
type Rendering struct {
	Prompt   string            `json:"prompt,omitempty"`
	Profile  string            `json:"profile,omitempty"`
	Backend  string            `json:"backend"`
	Dialect  string            `json:"dialect"`
	Model    string            `json:"model"`
	Settings schemas.Settings  `json:"settings"`
	Messages []schemas.Message `json:"messages"`
	Output   schemas.Output    `json:"output"`
	// Native is nil for a contract without a schema.
	Native *Native `json:"native,omitempty"`
	// MaxCalls is the most calls that the run can make, MaxValidatorCalls the most that its judges add.
	MaxCalls          int      `json:"max_calls"`
	MaxValidatorCalls int      `json:"max_validator_calls"`
	Validators        []string `json:"validators"`
	Warnings          []string `json:"warnings"`
	// Request is what the backend would receive, without its key and headers.
	Request Wire `json:"request"`
}

// Native is how a schema goes to the provider as its own constraint. Weakened says what the provider does not enforce.
type Native struct {
	Sent     bool            `json:"sent"`
	Form     string          `json:"form"`
	Whole    bool            `json:"whole"`
	Weakened []string        `json:"weakened"`
	Schema   json.RawMessage `json:"schema,omitempty"`
}

// Wire is the body of a call and where it goes.
type Wire struct {
	URL  string          `json:"url"`
	Body json.RawMessage `json:"body"`
}

// Render plans a run and shows it. Where the request is at fault its error is a *prompts.RequestError. No secret is
// looked up.
func Render(snap *prompts.Snapshot, req schemas.Request) (*Rendering, error) {
	plan, err := snap.Plan(req, origin)
	if err != nil {
		return nil, err
	}
	b, ok := snap.Backend(plan.Backend)
	if !ok {
		return nil, fmt.Errorf("backend %q is an endpoint of a profile; only the engine library can call it", plan.Backend)
	}
	entry, err := dialects.Lookup(b.Dialect)
	if err != nil {
		return nil, err
	}
	r := &Rendering{Prompt: plan.Prompt, Profile: plan.Profile, Backend: plan.Backend, Dialect: b.Dialect, Model: plan.Model,
		Settings: plan.Settings, Messages: plan.Messages, Output: plan.Output, Native: native(plan, entry, b), MaxCalls: plan.MaxCalls(),
		MaxValidatorCalls: plan.MaxValidatorCalls(), Validators: []string{}, Warnings: append(append([]string{}, plan.Warnings...), plan.Notes...)}
	for _, v := range plan.Validators {
		if v.MaxCalls == 0 {
			continue // rules and functions take no call
		}
		r.Validators = append(r.Validators, v.Name)
	}
	r.Request, err = built(plan, entry, b)
	return r, err
}

func native(p *run.Plan, entry dialects.Entry, b prompts.Backend) *Native {
	if p.Output.Mode != schemas.ModeJSONSchema {
		return nil
	}
	if p.NativeSchema == nil && b.Native == prompts.NativeNone {
		return &Native{Form: provider.FormNone, Weakened: []string{"backend " + b.Name + " has native: none"}}
	}
	c := entry.Carry(b.Options, p.Output.Schema)
	return &Native{Sent: p.NativeSchema != nil, Form: c.Form, Whole: c.Whole, Weakened: append([]string{}, c.Weakened...), Schema: c.Schema}
}

// built has the dialect make the first call's request.
func built(p *run.Plan, entry dialects.Entry, b prompts.Backend) (Wire, error) {
	url := b.URL
	if url == "" {
		url = entry.URL
	}
	req := &provider.Request{Model: p.Model, Messages: p.Messages, Settings: p.Settings, Session: p.Session}
	if p.NativeSchema != nil {
		req.Schema = &provider.Schema{Name: p.NativeName, Bytes: p.NativeSchema}
	}
	wire, err := entry.New().Build(&provider.Endpoint{Backend: b.Name, URL: url, Options: b.Options}, req)
	if err != nil {
		return Wire{}, fmt.Errorf("backend %s: %w", b.Name, err)
	}
	return Wire{URL: url + wire.Path, Body: wire.Body}, nil
}
