package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"emend/engine/contract"
	"emend/prompts"
	"emend/schemas"
)

// portability says how each dialect carries a schema: that of a file, or of a prompt with its backend's options.
func (a *app) portability(file, prompt, dir string) error {
	schema, own, err := portable(file, prompt, dir)
	if err != nil {
		return err
	}
	if _, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSONSchema, Schema: schema}); err != nil {
		return fmt.Errorf("%s%s: %w", file, prompt, err)
	}
	carried := prompts.Portability(schema, own)
	if a.json {
		return a.printJSON(carriageJSON(carried))
	}
	for _, c := range carried {
		a.carriageLines(c)
	}
	fmt.Fprintln(a.out, "The full schema is judged here whatever is sent.")
	return nil
}

func portable(file, prompt, dir string) (json.RawMessage, prompts.Backend, error) {
	switch {
	case file == "" && prompt == "":
		return nil, prompts.Backend{}, errors.New("--portability needs --schema FILE or --prompt ID")
	case file != "" && prompt != "":
		return nil, prompts.Backend{}, errors.New("give --schema or --prompt, not both")
	case file != "":
		b, err := os.ReadFile(file)
		return b, prompts.Backend{}, err
	}
	snap, err := prompts.LoadDir(dir)
	if err != nil {
		return nil, prompts.Backend{}, err
	}
	return snap.Schema(prompt)
}

// carriage is one line of `emend validate --portability --json`. Wire is the schema that goes out.
type carriage struct {
	Dialect  string          `json:"dialect"`
	Backend  string          `json:"backend,omitempty"`
	Form     string          `json:"form"`
	Whole    bool            `json:"whole"`
	Weakened []string        `json:"weakened"`
	Wire     json.RawMessage `json:"wire,omitempty"`
}

func carriageJSON(carried []prompts.Carriage) any {
	out := make([]carriage, len(carried))
	for i, c := range carried {
		out[i] = carriage{Dialect: c.Dialect, Backend: c.Backend, Form: c.Form, Whole: c.Whole, Weakened: append([]string{}, c.Weakened...), Wire: c.Schema}
	}
	return struct {
		Dialects []carriage `json:"dialects"`
	}{out}
}

func (a *app) carriageLines(c prompts.Carriage) {
	name := c.Dialect
	if c.Backend != "" {
		name += " (backend " + c.Backend + ")"
	}
	switch {
	case c.Whole:
		fmt.Fprintf(a.out, "%s: %s, %s\n", name, c.Form, a.colour(green, "whole"))
		return
	case c.Schema == nil:
		fmt.Fprintf(a.out, "%s: %s\n", name, a.colour(yellow, "not sent"))
	default:
		fmt.Fprintf(a.out, "%s: %s, %s\n", name, c.Form, a.colour(yellow, "weakened"))
	}
	for _, clause := range c.Weakened {
		fmt.Fprintf(a.out, "  - %s\n", clause)
	}
}
