package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"emend/engine/rehearse"
	"emend/prompts"
)

// check looks at definitions, offline.
func (a *app) check() *cobra.Command {
	var dir string
	c := &cobra.Command{Use: "check [FOLDER]", Short: "Check definitions, offline: every fault with file and line", Args: atMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				dir = args[0]
			}
			return a.checkDir(c.Context(), dir)
		}}
	c.Flags().StringVar(&dir, "dir", ".", "the `FOLDER` with emend.yaml and prompts/")
	return c
}

func (a *app) checkDir(ctx context.Context, dir string) error {
	snap, err := prompts.LoadDir(dir)
	faults, listed := errors.AsType[prompts.Errors](err)
	if err != nil && !listed {
		return err
	}
	if a.json {
		return a.checkJSON(ctx, dir, snap, faults)
	}
	if err != nil {
		for _, f := range faults {
			fmt.Fprintln(a.out, f)
		}
		return &exitError{code: exitUsage, err: fmt.Errorf("%s in %s", counted(len(faults), "fault"), dir)}
	}
	for _, w := range warningsOf(dir, snap) {
		fmt.Fprintf(a.out, "%s %s\n", a.colour(yellow, "warning:"), w)
	}
	fmt.Fprintf(a.out, "%s %s%s checked\n", a.colour(green, "ok"), counted(len(snap.Prompts()), "prompt"), pipelinesChecked(snap))
	played, err := rehearse.Tests(ctx, snap)
	if err != nil {
		return err
	}
	return a.printTests(played, false)
}

// pipelinesChecked tells of pipelines only where there are some.
func pipelinesChecked(snap *prompts.Snapshot) string {
	if n := len(snap.Pipelines()); n > 0 {
		return fmt.Sprintf(" and %s", counted(n, "pipeline"))
	}
	return ""
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// warningsOf adds to the definitions' own that there are none: a folder with another name is not seen.
func warningsOf(dir string, snap *prompts.Snapshot) []prompts.Problem {
	out := append([]prompts.Problem{}, snap.Warnings()...)
	if len(snap.Prompts()) > 0 {
		return out
	}
	message := "holds no prompt; write one as " + prompts.PromptDir + "/<id>@<version>.yaml"
	if info, err := os.Stat(filepath.Join(dir, "prompt")); err == nil && info.IsDir() {
		message += "; there is a folder prompt, which is not read: rename it to " + prompts.PromptDir
	}
	return append(out, prompts.Problem{File: prompts.PromptDir, Message: message})
}

func (a *app) checkJSON(ctx context.Context, dir string, snap *prompts.Snapshot, faults prompts.Errors) error {
	out := struct {
		OK         bool               `json:"ok"`
		Prompts    int                `json:"prompts"`
		Pipelines  int                `json:"pipelines,omitempty"`
		Errors     []prompts.Problem  `json:"errors"`
		Warnings   []prompts.Problem  `json:"warnings"`
		Rehearsals []rehearse.Outcome `json:"rehearsals"`
	}{OK: len(faults) == 0, Errors: append([]prompts.Problem{}, faults...), Warnings: []prompts.Problem{}, Rehearsals: []rehearse.Outcome{}}
	if out.OK {
		played, err := rehearse.Tests(ctx, snap)
		if err != nil {
			return err
		}
		out.Pipelines = len(snap.Pipelines())
		out.OK, out.Rehearsals, out.Prompts, out.Warnings = !failedTests(played), played, len(snap.Prompts()), warningsOf(dir, snap)
	}
	if err := a.printJSON(out); err != nil {
		return err
	}
	if !out.OK {
		return &exitError{code: exitUsage}
	}
	return nil
}
