package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"emend/engine/rehearse"
	"emend/prompts"
	"emend/schemas"
)

// promptsCmd groups what can be tried on a prompt without a provider.
func (a *app) promptsCmd() *cobra.Command {
	c := &cobra.Command{Use: "prompts", Short: "Rehearse prompts offline: what is sent, what is corrected, what tests say"}
	c.AddCommand(a.promptsRender(), a.promptsRepair(), a.promptsTest(), a.promptsGrade())
	return c
}

// rehearsed are the flags that make a request of a prompt.
type rehearsed struct{ dir, inputs, test, profile string }

func (o *rehearsed) register(c *cobra.Command) {
	c.Flags().StringVar(&o.dir, "dir", ".", "the `FOLDER` with emend.yaml and prompts/")
	c.Flags().StringVar(&o.inputs, "inputs", "", "a JSON `FILE` with the inputs by name; those of the command line go over them")
	c.Flags().StringVar(&o.test, "test", "", "take the inputs of the prompt's test of that `NAME`")
	c.Flags().StringVar(&o.profile, "profile", "", "a profile in place of the prompt's")
}

// request loads the folder and makes the request: inputs of a test, then of a file, then of the command line.
func (o *rehearsed) request(args []string) (*prompts.Snapshot, schemas.Request, error) {
	req := schemas.Request{Prompt: args[0], Profile: o.profile, Inputs: map[string]json.RawMessage{}}
	snap, err := prompts.LoadDir(o.dir)
	if err != nil {
		return nil, req, err
	}
	if o.test != "" {
		t, err := testOf(snap, args[0], o.test)
		if err != nil {
			return nil, req, err
		}
		maps.Copy(req.Inputs, t.Inputs)
	}
	if o.inputs != "" {
		b, err := os.ReadFile(o.inputs)
		if err != nil {
			return nil, req, err
		}
		if err := json.Unmarshal(b, &req.Inputs); err != nil {
			return nil, req, fmt.Errorf("%s is no JSON object of inputs by name", o.inputs)
		}
	}
	given, err := readInputs(args[1:])
	maps.Copy(req.Inputs, given)
	return snap, req, err
}

func testOf(snap *prompts.Snapshot, prompt, name string) (prompts.Test, error) {
	p, ok := snap.Prompt(prompt)
	if !ok {
		return prompts.Test{}, fmt.Errorf("there is no prompt %s", prompt)
	}
	var names []string
	for _, t := range p.Tests {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return prompts.Test{}, fmt.Errorf("prompt %s@%d has no test %q; it has: %s", p.ID, p.Version, name, strings.Join(names, ", "))
}

func (a *app) promptsRender() *cobra.Command {
	var o rehearsed
	c := &cobra.Command{Use: "render PROMPT [NAME=VALUE | NAME=@FILE]...", Short: "Show what a run would send: messages, target, settings, native constraint",
		Example: "  emend prompts render extract-invoice document=@sample.txt\n  emend prompts render extract-invoice@2 --test 'currency suffix' --json",
		Args:    needs(1, "the prompt"), RunE: func(_ *cobra.Command, args []string) error {
			snap, req, err := o.request(args)
			if err != nil {
				return err
			}
			r, err := rehearse.Render(snap, req)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r)
			}
			a.showRendering(r)
			return nil
		}}
	o.register(c)
	return c
}

func (a *app) promptsRepair() *cobra.Command {
	var o rehearsed
	var candidate, finish string
	c := &cobra.Command{Use: "repair PROMPT --candidate FILE [NAME=VALUE | NAME=@FILE]...", Short: "Show the correction that a bad answer would get, offline",
		Long: "Judges the answer in FILE (- reads standard input) under the prompt's contract and shows the conversation that\n" +
			"would have it corrected, word for word. Exit 0: valid. Exit 3: invalid. Exit 2: usage, definitions or inputs are wrong.",
		Example: "  emend prompts repair extract-invoice --candidate answer.txt --test 'currency suffix'",
		Args:    needs(1, "the prompt"), RunE: func(c *cobra.Command, args []string) error {
			if candidate == "" {
				return errors.New("--candidate FILE is missing: it holds the answer to be judged; - reads standard input")
			}
			text, err := a.readText([]string{candidate})
			if err != nil {
				return err
			}
			snap, req, err := o.request(args)
			if err != nil {
				return err
			}
			r, err := rehearse.Correct(c.Context(), snap, req, rehearse.Answer{Text: string(text), Finish: finish})
			if err != nil {
				return err
			}
			return a.printCorrection(r)
		}}
	o.register(c)
	c.Flags().StringVar(&candidate, "candidate", "", "the `FILE` with the answer")
	c.Flags().StringVar(&finish, "finish", "", "the provider's stop `REASON`: length says that the answer was cut")
	return c
}

func (a *app) promptsTest() *cobra.Command {
	var dir string
	c := &cobra.Command{Use: "test [PROMPT]...", Short: "Play the tests of prompts: scripted answers in, what comes of it out",
		Long: "Plays the tests of the prompts that are named (an id is every version of it), or of all. Exit 0: all are as expected.\n" +
			"Exit 2: a test is not, or the definitions are wrong.",
		RunE: func(c *cobra.Command, args []string) error {
			snap, err := prompts.LoadDir(dir)
			if err != nil {
				return err
			}
			played, err := rehearse.Tests(c.Context(), snap, args...)
			if err != nil {
				return err
			}
			return a.printTests(played, true)
		}}
	c.Flags().StringVar(&dir, "dir", ".", "the `FOLDER` with emend.yaml and prompts/")
	return c
}

func (a *app) promptsGrade() *cobra.Command {
	var o rehearsed
	var answer string
	var live bool
	var minRate float64
	c := &cobra.Command{Use: "grade PROMPT [NAME=VALUE | NAME=@FILE]...", Short: "Corrupt a good answer in every way models are known for, and see what is repaired",
		Long: "Corrupts a good answer (--answer, else one of the prompt's tests, else one made from the schema), gives each corrupted\n" +
			"one as the model's first answer and follows the corrections. They go to a script that mends what a correction names, by\n" +
			"its words alone, or with --live to the prompt's own backend, which costs money. Without inputs those of the first test\n" +
			"are taken. Exit 0: at least --min-rate is repaired. Exit 3: less. Exit 2: usage, definitions, inputs or answer are wrong.",
		Example: "  emend prompts grade extract-invoice --min-rate 0.8\n  emend prompts grade extract-invoice --answer good.json --live",
		Args:    needs(1, "the prompt"), RunE: func(c *cobra.Command, args []string) error {
			if minRate < 0 || minRate > 1 {
				return fmt.Errorf("--min-rate %v: it is a share from 0 to 1", minRate)
			}
			snap, req, err := o.request(args)
			if err != nil {
				return err
			}
			if p, ok := snap.Prompt(args[0]); ok && len(req.Inputs) == 0 && len(p.Tests) > 0 {
				req.Inputs = p.Tests[0].Inputs
			}
			opts := rehearse.GradeOptions{Live: live}
			if answer != "" {
				if opts.Answer, err = os.ReadFile(answer); err != nil {
					return err
				}
			}
			return a.grade(c.Context(), snap, req, opts, minRate)
		}}
	o.register(c)
	c.Flags().StringVar(&answer, "answer", "", "a `FILE` with a good answer")
	c.Flags().BoolVar(&live, "live", false, "send the corrections to the prompt's backend")
	c.Flags().Float64Var(&minRate, "min-rate", 0, "the `SHARE` of corrupted answers that must be repaired, 0 to 1")
	return c
}

func (a *app) grade(ctx context.Context, snap *prompts.Snapshot, req schemas.Request, o rehearse.GradeOptions, minRate float64) error {
	if !a.json {
		o.Each = a.showGrade
	}
	r, err := rehearse.GradeContract(ctx, snap, req, o)
	if err != nil {
		return err
	}
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		a.showReport(r)
	}
	if r.Rate < minRate {
		return &exitError{code: exitInvalid}
	}
	return nil
}
