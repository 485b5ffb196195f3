package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"emend/engine"
	"emend/engine/event"
	"emend/engine/provider/dialects"
	state "emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

type tryOptions struct {
	dir, model, profile, mode, schema, url, keyEnv string
	pipeline, attempts, maxCost                    string
	repairs                                        int
	// keyGiven says that keyEnv was given, perhaps empty.
	keyGiven bool
}

// try runs a prompt with the engine in this process: no NATS.
func (a *app) try() *cobra.Command {
	var o tryOptions
	c := &cobra.Command{Use: "try PROMPT [NAME=VALUE | NAME=@FILE]...", Short: "Run a prompt in this process, without NATS; every call and finding is shown",
		Long: "Runs PROMPT of the working folder. With --model DIALECT/NAME (openai, anthropic, gemini, ollama) no folder is needed:\n" +
			"PROMPT is then the user's message, sent to the provider's own address with the key from OPENAI_API_KEY, ANTHROPIC_API_KEY or\n" +
			"GEMINI_API_KEY (--key-env names another variable, --url another server that speaks the dialect).",
		Example: "  emend try extract-invoice document=@sample.txt\n  OPENAI_API_KEY=... emend try --model openai/gpt-4o-mini --mode json 'List three colours as JSON'",
		Args:    needs(1, "the prompt, or with --model the message"), RunE: func(c *cobra.Command, args []string) error {
			for _, name := range []string{"mode", "schema", "repairs", "url", "key-env"} {
				if o.model == "" && c.Flags().Changed(name) {
					return fmt.Errorf("--%s goes with --model DIALECT/NAME; without it PROMPT is one of the folder, which says so itself", name)
				}
			}
			if err := knownWord("--attempts", o.attempts, schemas.AttemptsWords); err != nil {
				return err
			}
			if o.pipeline != "" {
				return a.tryPipeline(c.Context(), o, args)
			}
			o.keyGiven = c.Flags().Changed("key-env")
			return a.tryOut(c.Context(), o, args)
		}}
	c.Flags().StringVar(&o.dir, "dir", ".", "the `FOLDER` with emend.yaml and prompts/")
	c.Flags().StringVar(&o.model, "model", "", "`DIALECT/NAME`: run a message without definitions")
	c.Flags().StringVar(&o.profile, "profile", "", "a profile in place of the prompt's")
	c.Flags().StringVar(&o.pipeline, "pipeline", "", "run the pipeline `NAME` (or NAME@VERSION) of the folder: all arguments are its inputs")
	c.Flags().StringVar(&o.attempts, "attempts", "", "how much the result tells of what came before its output: summary (the default), none or full, with content")
	c.Flags().StringVar(&o.maxCost, "max-cost", "", "the most that all calls may cost, in US `DOLLARS`: the call, or the pipeline's job, that could exceed it is not made")
	c.Flags().StringVar(&o.mode, "mode", "", "with --model: the output mode (default: json_schema with --schema, else none)")
	c.Flags().StringVar(&o.schema, "schema", "", "with --model: a JSON Schema `FILE`")
	c.Flags().IntVar(&o.repairs, "repairs", 1, "with --model and a checked mode: corrective calls, 0 to 3")
	c.Flags().StringVar(&o.url, "url", "", "with --model: the server's base `URL` (default: the provider's own)")
	c.Flags().StringVar(&o.keyEnv, "key-env", "", "with --model: the `VARIABLE` that holds the key (default: the provider's customary one; empty for none)")
	return c
}

func (a *app) tryOut(ctx context.Context, o tryOptions, args []string) error {
	snap, req, err := o.request(args)
	if err != nil {
		return err
	}
	most, err := maxCost(o.maxCost)
	if err != nil {
		return err
	}
	if most != nil {
		req.MaxCost = *most
	}
	eng, err := engine.New(snap)
	if err != nil {
		return err
	}
	defer eng.Close()
	req.ID, req.Attempts = "try", o.attempts
	p, err := eng.Prepare(ctx, req)
	if err != nil {
		return tryError(err)
	}
	x := engine.Execution{Plan: p.Plan(), State: p.Plan().Start()}
	if !a.json {
		sink := snap.Config().Escalation.Sink
		x.Observer = event.Func(func(_ context.Context, e event.Event) { a.tryEvent(event.Wire(e), sink) })
	}
	began := time.Now()
	res, err := eng.Execute(ctx, x)
	if err != nil {
		return failed(err)
	}
	r := engine.WireResult(x.Plan, res)
	r.TimingMS.Total = time.Since(began).Milliseconds()
	return a.printTry(&r)
}

// printTry prints a result; the error of a failed run goes to standard error, behind what judges said.
func (a *app) printTry(r *schemas.Result) error {
	if r.Error == nil || a.json {
		return a.printResult(r)
	}
	a.printGoverned(r)
	a.printAttempts(r)
	code := exitFailed
	if exit, ok := errors.AsType[*exitError](exitOf(r)); ok {
		code = exit.code
	}
	return &exitError{code: code, err: fmt.Errorf("%s: %s", r.Error.Category, r.Error.Message)}
}

// tryEvent prints an event; where the definitions send what stays invalid to people, it says why nobody is asked here.
func (a *app) tryEvent(e schemas.Event, sink string) {
	e.RunID = ""
	if e.Kind == schemas.EventEscalated && e.Outcome == state.SinkNone && sink != state.SinkNone {
		fmt.Fprintf(a.out, "%s %-24s %s\n", a.colour(dim, e.At.Local().Format("15:04:05.000")), "",
			a.colour(yellow, "stayed invalid; try has no NATS, so nobody is asked: a worker sends it to "+sink+" (escalation in emend.yaml)"))
		return
	}
	a.printEvent(e)
}

// request makes the run: of a folder's prompt, or of a message alone.
func (o tryOptions) request(args []string) (*prompts.Snapshot, engine.RunRequest, error) {
	if o.model != "" {
		return o.bare(args)
	}
	req := engine.RunRequest{Prompt: args[0], Profile: o.profile, Inputs: map[string]any{}}
	inputs, err := readInputs(args[1:])
	if err != nil {
		return nil, req, err
	}
	for name, raw := range inputs {
		req.Inputs[name] = raw
	}
	snap, err := prompts.LoadDir(o.dir)
	return snap, req, err
}

func (o tryOptions) bare(args []string) (*prompts.Snapshot, engine.RunRequest, error) {
	req := engine.RunRequest{Profile: "try", Messages: []engine.Message{{Role: schemas.RoleUser, Content: strings.Join(args, " ")}}}
	dialect, model, ok := strings.Cut(o.model, "/")
	if !ok || model == "" {
		return nil, req, fmt.Errorf("--model %q: write DIALECT/NAME, such as openai/gpt-4o-mini", o.model)
	}
	out, err := o.output()
	if err != nil {
		return nil, req, err
	}
	req.Output = out
	entry, err := dialects.Lookup(dialect)
	if err != nil {
		return nil, req, fmt.Errorf("--model %q: %w", o.model, err)
	}
	b := prompts.Backend{Dialect: dialect, URL: cmp.Or(o.url, entry.Home), Permits: 1, Admitted: 1}
	b.Key = prompts.Secret{Env: o.keyEnv}
	if !o.keyGiven {
		b.Key.Env = entry.KeyEnv
	}
	snap, err := prompts.NewSnapshot(prompts.Definitions{Config: prompts.Config{
		Backends: map[string]prompts.Backend{"try": b},
		Profiles: map[string]prompts.Profile{"try": {Backend: "try", Model: model}},
	}})
	return snap, req, err
}

func (o tryOptions) output() (*engine.OutputContract, error) {
	out := &engine.OutputContract{Mode: o.mode, RepairAttempts: o.repairs}
	if o.schema != "" {
		b, err := os.ReadFile(o.schema)
		if err != nil {
			return nil, err
		}
		out.Schema = b
	}
	if out.Mode == "" {
		out.Mode = schemas.ModeNone
		if o.schema != "" {
			out.Mode = schemas.ModeJSONSchema
		}
	}
	if out.Mode == schemas.ModeNone {
		out.RepairAttempts = 0
	}
	return out, nil
}

// tryError gives an error its exit code.
func tryError(err error) error {
	if errors.Is(err, engine.ErrInvalidRequest) {
		return err
	}
	return failed(err)
}
