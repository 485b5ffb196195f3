package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// runCmd publishes a run, follows it live and prints its result.
func (a *app) runCmd() *cobra.Command {
	var f natsFlags
	var o runOptions
	c := &cobra.Command{Use: "run PROMPT [NAME=VALUE | NAME=@FILE]...", Short: "Publish a run, follow it live, print its result",
		Long: "Publishes a run of PROMPT (\"id\" or \"id@version\"), shows its events and prints its result.\n" +
			"An input's value is text; NAME=@FILE reads it from a file, NAME:=JSON takes any JSON value.",
		Example: "  emend run extract-invoice document=@sample.txt\n  emend run classify --backend openai text='hello'\n  emend run --pipeline contract-digest document=@contract.md",
		Args:    needs(1, "the prompt, or with --pipeline its inputs"), RunE: func(c *cobra.Command, args []string) error {
			if o.pipeline != "" {
				return a.runPipeline(c.Context(), f, o, args)
			}
			return a.publish(c.Context(), f, o, args)
		}}
	f.register(c)
	c.Flags().StringVar(&o.dir, "dir", ".", "the working `FOLDER` that tells the prompt's backend")
	c.Flags().StringVar(&o.backend, "backend", "", "the backend's `NAME` (default: the prompt's, from --dir)")
	c.Flags().StringVar(&o.queue, "queue", defaultQueue, "the queue's `NAME`")
	c.Flags().StringVar(&o.id, "id", "", "the run's `ID` (default: a new one)")
	c.Flags().StringVar(&o.profile, "profile", "", "a profile in place of the prompt's")
	c.Flags().StringVar(&o.pipeline, "pipeline", "", "run the pipeline `NAME` (or NAME@VERSION) in place of a prompt: all arguments are its inputs")
	c.Flags().StringVar(&o.reuse, "reuse", "", "with --pipeline: auto, refresh or none (default: as the pipeline says)")
	c.Flags().StringVar(&o.attempts, "attempts", "", "how much the result tells of what came before its output: summary (the default), none or full, with content")
	c.Flags().StringVar(&o.maxCost, "max-cost", "", "the most that all calls may cost, in US `DOLLARS`: the call, or the pipeline's job, that could exceed it is not made")
	c.Flags().DurationVar(&o.timeout, "timeout", 0, "give up waiting after this `TIME`; the run goes on")
	return c
}

type runOptions struct {
	dir, backend, queue, id, profile string
	pipeline, reuse, attempts        string
	maxCost                          string
	timeout                          time.Duration
}

func (a *app) publish(ctx context.Context, f natsFlags, o runOptions, args []string) error {
	inputs, err := readInputs(args[1:])
	if err != nil {
		return err
	}
	req := schemas.Request{Prompt: args[0], Inputs: inputs, Profile: o.profile, Attempts: o.attempts}
	if err := knownWord("--attempts", o.attempts, schemas.AttemptsWords); err != nil {
		return err
	}
	if req.MaxCost, err = maxCost(o.maxCost); err != nil {
		return err
	}
	told := o.backend != ""
	if !told {
		if o.backend, err = backendOf(o.dir, req); err != nil {
			return err
		}
	}
	if err := localOf(o.dir, o.backend, o.queue, told).check(req); err != nil {
		return err
	}
	if o.id == "" {
		o.id = subjects.NewID()
	}
	if err := subjects.CheckID(o.id); err != nil {
		return err
	}
	// Events are for show, and a lost reply is rare: a run does without the rights to see events and to get.
	return f.ask(ctx, asking{dir: o.dir, name: "run", limit: o.timeout, spares: []string{"event", "get"}}, func(ctx context.Context, client *consumer.Client) error {
		return a.runOn(ctx, client, o, req)
	})
}

// maxCost reads --max-cost; without it nothing is said.
func maxCost(s string) (*schemas.USD, error) {
	if s == "" {
		return nil, nil
	}
	most, err := schemas.ParseUSD(s)
	if err == nil && most == 0 {
		err = errors.New("must be above 0, in US dollars")
	}
	if err != nil {
		return nil, fmt.Errorf("--max-cost %q: %w", short(s), err)
	}
	return &most, nil
}

// runOn publishes the run, shows its events and prints its result.
func (a *app) runOn(ctx context.Context, client *consumer.Client, o runOptions, req schemas.Request) error {
	k := consumer.Key{Queue: o.queue, ID: o.id}
	body, err := client.Body(ctx, o.queue, req)
	if err != nil {
		return failed(err)
	}
	watch := a.printEvent
	if a.json {
		watch = nil
	}
	r, err := client.Run(ctx, o.backend, k, body, watch)
	return a.printRun(ctx, client, o, r, err)
}

// printRun prints the result of a run, or says that it goes on.
func (a *app) printRun(ctx context.Context, client *consumer.Client, o runOptions, r *schemas.Result, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return pending(fmt.Errorf("no result within %s; the run goes on: %s", o.timeout, a.again("get", o.id)))
	case errors.Is(err, context.Canceled):
		return pending(fmt.Errorf("interrupted; the run goes on: %s", a.again("get", o.id)))
	}
	if waits, ok := errors.AsType[*consumer.InReviewError](err); ok {
		return a.printProgress(&waits.Progress)
	}
	if err == nil {
		err = client.Fill(ctx, r)
	}
	if err != nil {
		return failed(err)
	}
	return a.printResult(r)
}

// backendOf finds the backend that a prompt's profile names.
func backendOf(dir string, req schemas.Request) (string, error) {
	snap, err := prompts.LoadDir(dir)
	if err != nil {
		return "", fmt.Errorf("the prompt's backend is not known without definitions; give --backend, or --dir with a good folder: %w", err)
	}
	return backendIn(snap, dir, req)
}

// backendIn is backendOf in definitions that are read.
func backendIn(snap *prompts.Snapshot, dir string, req schemas.Request) (string, error) {
	profile := req.Profile
	if profile == "" {
		p, ok := snap.Prompt(req.Prompt)
		if !ok {
			return "", fmt.Errorf("the folder %s has no prompt %s (it has %s); give --backend if a worker elsewhere has it", where(dir), req.Prompt, promptNames(snap))
		}
		profile = p.Profile
	}
	p, ok := snap.Profiles()[profile]
	if !ok {
		return "", fmt.Errorf("the folder %s has no profile %s (it has %s); give --backend if a worker elsewhere has it", where(dir), profile,
			strings.Join(slices.Sorted(maps.Keys(snap.Profiles())), ", "))
	}
	return p.Backend, nil
}

func where(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

func promptNames(snap *prompts.Snapshot) string {
	var out []string
	for _, p := range snap.Prompts() {
		out = append(out, fmt.Sprintf("%s@%d", p.ID, p.Version))
	}
	return strings.Join(out, ", ")
}

// readInputs reads NAME=VALUE, NAME=@FILE and NAME:=JSON.
func readInputs(args []string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("input %q: write NAME=VALUE, NAME=@FILE or NAME:=JSON", short(arg))
		}
		raw, err := readInput(&name, value)
		if err != nil {
			return nil, err
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("input %q is given twice", name)
		}
		out[name] = raw
	}
	return out, nil
}

func readInput(name *string, value string) (json.RawMessage, error) {
	if n, ok := strings.CutSuffix(*name, ":"); ok {
		*name = n
		if !json.Valid([]byte(value)) {
			return nil, fmt.Errorf("input %q: the value after := is no JSON", n)
		}
		return json.RawMessage(value), nil
	}
	if path, ok := strings.CutPrefix(value, "@"); ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", *name, err)
		}
		value = string(b)
	}
	if !utf8.ValidString(value) {
		return nil, fmt.Errorf("input %q is no valid UTF-8 and would be changed on its way; convert it (`iconv -t UTF-8`), or send base64", *name)
	}
	return schemas.Marshal(value)
}

func short(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
