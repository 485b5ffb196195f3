package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"emend/engine/rehearse"
	"emend/prompts"
)

// check looks at definitions, offline.
func (a *app) check() *cobra.Command {
	var dir string
	c := &cobra.Command{Use: "check [FOLDER]", Short: "Check definitions, offline: every fault with file and line", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				dir = args[0]
			}
			warnings, err := prompts.Check(dir)
			faults, listed := errors.AsType[prompts.Errors](err)
			if err != nil && !listed {
				return err
			}
			if a.json {
				return a.checkJSON(c.Context(), dir, warnings, faults)
			}
			for _, w := range warnings {
				fmt.Fprintf(a.out, "%s %s\n", a.colour(yellow, "warning:"), w)
			}
			if err == nil {
				return a.checkTests(c.Context(), dir)
			}
			for _, f := range faults {
				fmt.Fprintln(a.out, f)
			}
			return &exitError{code: exitUsage, err: fmt.Errorf("%d faults in %s", len(faults), dir)}
		}}
	c.Flags().StringVar(&dir, "dir", ".", "the `FOLDER` with emend.yaml and prompts/")
	return c
}

func allTests(ctx context.Context, dir string) ([]rehearse.Outcome, error) {
	snap, err := prompts.LoadDir(dir)
	if err != nil {
		return nil, err
	}
	return rehearse.Tests(ctx, snap)
}

// checkTests shows the tests that fail.
func (a *app) checkTests(ctx context.Context, dir string) error {
	played, err := allTests(ctx, dir)
	if err != nil {
		return err
	}
	return a.printTests(played, false)
}

func (a *app) checkJSON(ctx context.Context, dir string, warnings []prompts.Problem, faults prompts.Errors) error {
	out := struct {
		OK         bool               `json:"ok"`
		Errors     []prompts.Problem  `json:"errors"`
		Warnings   []prompts.Problem  `json:"warnings"`
		Rehearsals []rehearse.Outcome `json:"rehearsals"`
	}{len(faults) == 0, append([]prompts.Problem{}, faults...), append([]prompts.Problem{}, warnings...), []rehearse.Outcome{}}
	if out.OK {
		played, err := allTests(ctx, dir)
		if err != nil {
			return err
		}
		out.OK, out.Rehearsals = !failedTests(played), played
	}
	if err := a.printJSON(out); err != nil {
		return err
	}
	if !out.OK {
		return &exitError{code: exitUsage}
	}
	return nil
}
