package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/internal/batch"
	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// batchOptions are shared by the commands of a batch: together with the file they say which runs it has.
type batchOptions struct {
	natsFlags
	dir, out, backend, queue, prompt, profile, prefix string
	window                                            int
	unordered, retry                                  bool
	// told says that the backend was given, not found.
	told bool
}

// batchCmd runs files of runs.
func (a *app) batchCmd() *cobra.Command {
	c := &cobra.Command{Use: "batch", Short: "Run a file of runs, and go on with it"}
	c.AddCommand(a.batchRun(), a.batchStatus(), a.batchCancel())
	return c
}

func (o *batchOptions) add(c *cobra.Command, do func(context.Context, *batchOptions, string) error) *cobra.Command {
	o.register(c)
	c.Args = exactly("the file of runs")
	c.RunE = func(c *cobra.Command, args []string) error {
		o.told = o.backend != ""
		return do(c.Context(), o, args[0])
	}
	c.Flags().StringVarP(&o.out, "output", "o", "", "the `FILE` of results, a line each")
	c.Flags().StringVar(&o.prompt, "prompt", "", "the prompt of lines that name none, \"id\" or \"id@version\"; lines with messages of their own are refused then")
	c.Flags().StringVar(&o.profile, "profile", "", "a profile in place of the prompt's, or of the model that OpenAI Batch lines name")
	c.Flags().StringVar(&o.prefix, "prefix", "", "a `TEXT` before every id, so that batches do not share ids")
	c.Flags().StringVar(&o.backend, "backend", "", "the backend's `NAME` (default: that of the profile or prompt, from --dir)")
	c.Flags().StringVar(&o.queue, "queue", defaultQueue, "the queue's `NAME`")
	c.Flags().StringVar(&o.dir, "dir", ".", "the working `FOLDER` that tells backends and profiles")
	return c
}

func (a *app) batchRun() *cobra.Command {
	o := &batchOptions{}
	c := o.add(&cobra.Command{Use: "run IN.jsonl -o OUT.jsonl", Short: "Run every line of a file; started again, it goes on where it was",
		Long: "Reads lines {\"id\": \"...\", \"inputs\": {...}} (and any other field of a request), or OpenAI Batch lines\n" +
			"{\"custom_id\", \"method\", \"url\", \"body\"}, runs each once, and writes its result as a line of OUT. The file is checked\n" +
			"before anything is published. Interrupted and started again, results in OUT are kept, stored ones are fetched, and\n" +
			"nothing is published twice. With --retry-failed, lines that failed, expired or were cancelled run again, and their new\n" +
			"results replace the old ones.",
		Example: "  emend batch run invoices.jsonl -o results.jsonl --prompt extract-invoice\n" +
			"  emend batch run invoices.jsonl -o results.jsonl --prompt extract-invoice --retry-failed"}, a.runBatch)
	c.Flags().IntVar(&o.window, "in-flight", batch.DefaultWindow, "runs under way at once")
	c.Flags().BoolVar(&o.unordered, "unordered", false, "write results as they come, not in the order of the file")
	c.Flags().BoolVar(&o.retry, "retry-failed", false, "run lines again whose result is failed, expired or cancelled")
	return c
}

func (a *app) batchStatus() *cobra.Command {
	o := &batchOptions{}
	return o.add(&cobra.Command{Use: "status IN.jsonl -o OUT.jsonl", Short: "Show how far a batch is, by status"}, a.statusOfBatch)
}

func (a *app) batchCancel() *cobra.Command {
	o := &batchOptions{}
	return o.add(&cobra.Command{Use: "cancel IN.jsonl -o OUT.jsonl", Short: "Stop the runs of a batch that have not ended",
		Long: "Stops the runs that are published and have not ended. Interrupt `batch run` first: it would publish more."}, a.cancelBatch)
}

// input checks the file and the flags.
func (o *batchOptions) input(path string) (*batch.Input, *batch.Survey, error) {
	if o.out == "" {
		return nil, nil, errors.New("give -o FILE: where the results are, or go")
	}
	if same(path, o.out) {
		return nil, nil, errors.New("-o names the input itself; give another file")
	}
	in := &batch.Input{Path: path, Prompt: o.prompt, Profile: o.profile, Prefix: o.prefix, CheckID: subjects.CheckID, ProfileOf: o.profileOf()}
	o.known(in)
	survey, err := in.Check()
	if err == nil {
		err = survey.Err()
	}
	if err == nil && o.backend == "" {
		o.backend, err = o.backendOf(in)
	}
	return in, survey, err
}

// known has the lines checked by the folder's definitions. The first line tells the backend, as backendOf has it.
func (o *batchOptions) known(in *batch.Input) {
	l := localOf(o.dir, o.backend, o.queue, o.told)
	if l.snap == nil {
		return
	}
	in.CheckRequest = func(req schemas.Request) error {
		if l.backend == "" {
			if req.Prompt == "" && req.Profile == "" {
				return nil // backendOf says what is missing
			}
			var err error
			if l.backend, err = backendIn(l.snap, o.dir, req); err != nil {
				return err
			}
		}
		return l.check(req)
	}
}

func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// backendOf is that of the first line: all of a batch goes to one backend.
func (o *batchOptions) backendOf(in *batch.Input) (string, error) {
	for line, err := range in.Lines() {
		if err != nil {
			return "", err
		}
		if line.Request.Prompt == "" && line.Request.Profile == "" {
			break
		}
		return backendOf(o.dir, line.Request)
	}
	return "", errors.New("the batch has no prompt and no profile that tell its backend; give --backend")
}

// profileOf finds profiles for the models of OpenAI Batch lines: by the profile's own name, or by its model if one alone has it.
func (o *batchOptions) profileOf() func(model string) (string, error) {
	var snap *prompts.Snapshot
	var bad error
	return func(model string) (string, error) {
		if snap == nil && bad == nil {
			snap, bad = prompts.LoadDir(o.dir)
		}
		if bad != nil {
			return "", fmt.Errorf("the model's profile is not known without definitions; give --profile, or --dir with a good folder: %w", bad)
		}
		all := snap.Profiles()
		var fit []string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			p := all[name]
			if o.backend != "" && p.Backend != o.backend {
				continue
			}
			if name == model {
				return name, nil
			}
			if p.Model == model {
				fit = append(fit, name)
			}
		}
		if len(fit) == 1 {
			return fit[0], nil
		}
		return "", fmt.Errorf("body.model %q is the model of %s; give --profile", short(model), oneOf(fit))
	}
}

func oneOf(names []string) string {
	if len(names) == 0 {
		return "no profile"
	}
	return "the profiles " + strings.Join(names, ", ")
}

func (a *app) runBatch(ctx context.Context, o *batchOptions, path string) error {
	if o.window < 1 || o.window > batch.MaxWindow {
		return fmt.Errorf("--in-flight is %d, allowed are 1 to %d", o.window, batch.MaxWindow)
	}
	in, survey, err := o.input(path)
	if err != nil {
		return err
	}
	out, tally, err := batch.Open(o.out, survey)
	if err != nil {
		return err
	}
	r := &batch.Runner{In: in, Out: out, Window: o.window, Ordered: !o.unordered, Retry: o.retry}
	return o.ask(ctx, asking{dir: o.dir, name: "batch"}, func(ctx context.Context, client *consumer.Client) error {
		if o.retry {
			if tally, err = out.DropUnanswered(survey); err != nil {
				return failed(err)
			}
		}
		r.Prepare(tally)
		carrier, err := client.Batch(o.backend, o.queue, r.Arrived)
		if err != nil {
			return failed(err)
		}
		defer carrier.Close()
		r.Carrier = carrier
		enough := a.showBatch(r)
		tally, err := r.Do(ctx)
		enough()
		if err := a.printTally(tally, nil); err != nil {
			return err
		}
		return a.batchExit(ctx, path, tally, err)
	})
}

// batchExit is the exit of a batch: that of its worst result.
func (a *app) batchExit(ctx context.Context, path string, t batch.Tally, err error) error {
	switch {
	case err != nil:
		return failed(fmt.Errorf("%w; what is written is kept, and the same command goes on", err))
	case ctx.Err() != nil:
		return pending(fmt.Errorf("interrupted; runs under way go on. The same command goes on, `%s` stops them", a.again("batch cancel", path)))
	case t.Failures() > 0:
		return &exitError{code: exitFailed}
	case t.InReview > 0:
		return &exitError{code: exitPending}
	case t.Statuses[schemas.StatusInvalid]+t.Statuses[schemas.StatusRejected] > 0:
		return &exitError{code: exitInvalid}
	}
	return nil
}

// rest opens what status and cancel need, and asks for the runs that have no result in the output.
func (a *app) rest(ctx context.Context, o *batchOptions, path, name string, do func(context.Context, *consumer.Batch, string) error) error {
	in, survey, err := o.input(path)
	if err != nil {
		return err
	}
	out, tally, err := batch.Read(o.out, survey)
	if err != nil {
		return err
	}
	return o.ask(ctx, asking{dir: o.dir, name: name}, func(ctx context.Context, client *consumer.Client) error {
		carrier, err := client.Batch(o.backend, o.queue, func(string, *schemas.Result) {})
		if err != nil {
			return failed(err)
		}
		defer carrier.Close()
		states, err := batch.Rest(ctx, in, out, carrier, func(id, state string) error {
			if state == "" {
				return nil
			}
			return do(ctx, carrier, id)
		})
		if err != nil {
			return failed(err)
		}
		return a.printTally(tally, states)
	})
}

func (a *app) statusOfBatch(ctx context.Context, o *batchOptions, path string) error {
	return a.rest(ctx, o, path, "batch status", func(context.Context, *consumer.Batch, string) error { return nil })
}

func (a *app) cancelBatch(ctx context.Context, o *batchOptions, path string) error {
	stopped := 0
	err := a.rest(ctx, o, path, "batch cancel", func(ctx context.Context, b *consumer.Batch, id string) error {
		r, err := b.Cancel(ctx, id)
		if err == nil && r.Cancelled {
			stopped++
		}
		return err
	})
	if !a.json && err == nil {
		fmt.Fprintf(a.out, "%s cancelled\n", counted(stopped, "run"))
	}
	return err
}
