package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/engine/contract"
	"emend/schemas"
)

// review groups what people do with runs that wait for them.
func (a *app) review() *cobra.Command {
	c := &cobra.Command{Use: "review", Short: "Decide upon answers that stayed invalid"}
	c.AddCommand(a.reviewLs(), a.reviewShow(), a.reviewDecide(schemas.DecisionApprove, "Take the answer as it is: the run succeeds, its verdict stays"),
		a.reviewDecide(schemas.DecisionReject, "Leave the answer invalid: that is the run's result"), a.reviewEdit())
	return c
}

func (a *app) reviewLs() *cobra.Command {
	f := &queueFlags{}
	return f.add(&cobra.Command{Use: "ls", Short: "List the runs of a queue that wait for a person, oldest first", Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.with(c.Context(), "review", askWithin, func(ctx context.Context, client *consumer.Client) error {
				list, err := client.Reviews(ctx, f.queue, schemas.ReviewQuery{})
				if err != nil {
					return failed(err)
				}
				return a.printReviews(f.queue, list)
			})
		}})
}

func (a *app) printReviews(queue string, list *schemas.ReviewList) error {
	switch {
	case a.json:
		return a.printJSON(list)
	case len(list.Reviews) == 0:
		fmt.Fprintf(a.out, "no run of queue %s waits for a person\n", queue)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tPROMPT\tCLASS\tFINDINGS\tSINCE")
	for _, r := range list.Reviews {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", r.ID, r.Prompt, r.Class, r.Findings, r.Since.Local().Format(time.DateTime))
	}
	if list.More {
		fmt.Fprintln(w, "...\tmore wait behind these")
	}
	return w.Flush()
}

func (a *app) reviewShow() *cobra.Command {
	f := &queueFlags{}
	return f.add(&cobra.Command{Use: "show ID", Short: "Show what was asked, the answer, and what is wrong with it", Args: runID,
		RunE: func(c *cobra.Command, args []string) error {
			return f.with(c.Context(), "review", askWithin, func(ctx context.Context, client *consumer.Client) error {
				d, err := client.Review(ctx, consumer.Key{Queue: f.queue, ID: args[0]})
				if err != nil {
					return failed(err)
				}
				if a.json {
					return a.printJSON(d)
				}
				a.printReview(d)
				return nil
			})
		}})
}

func (a *app) printReview(d *schemas.ReviewDetail) {
	fmt.Fprintf(a.out, "%s  %s  %s since %s\n", a.colour(bold, d.ID), d.Prompt, a.colour(yellow, d.Class), d.Since.Local().Format(time.DateTime))
	if len(d.Messages) == 0 {
		fmt.Fprintln(a.out, "\n(the conversation is not shown: its definitions are gone)")
	}
	for _, m := range d.Messages {
		text := m.Content
		if m.Parts != nil {
			text = string(m.Parts)
		}
		fmt.Fprintf(a.out, "\n%s\n%s\n", a.colour(dim, m.Role), strings.TrimRight(text, "\n"))
	}
	fmt.Fprintf(a.out, "\n%s\n%s\n", a.colour(dim, "answer"), d.Candidate)
	for _, f := range d.Verdict.Findings {
		fmt.Fprintf(a.out, "\n%s %s: %s", a.colour(red, contract.DisplayPath(f.Pointer)), f.Keyword, f.Message)
	}
	for _, v := range d.Verdict.Validators {
		fmt.Fprintf(a.out, "\n%s: %s", voter(v.Name), v.Outcome)
		for _, r := range v.Reasons {
			fmt.Fprintf(a.out, "\n  %s: %s", r.Code, r.Guidance)
		}
	}
	fmt.Fprintf(a.out, "\n\ndecide, or reject or edit in place of approve: %s\n", a.again("review approve", d.ID, "--seq", fmt.Sprint(d.Seq)))
}

// decideFlags are those of the three decisions.
type decideFlags struct {
	queueFlags
	by, note string
	seq      uint64
}

func (f *decideFlags) add(c *cobra.Command) *cobra.Command {
	f.queueFlags.add(c)
	c.Flags().StringVar(&f.by, "by", whoami(), "`WHO` decides; it stands in the result")
	c.Flags().StringVar(&f.note, "note", "", "a `TEXT` for the result")
	c.Flags().Uint64Var(&f.seq, "seq", 0, "decide only upon the entry that was seen (its `SEQ` is in show and ls --json)")
	return c
}

func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

func (a *app) decide(ctx context.Context, f *decideFlags, d schemas.Decision) error {
	d.By, d.Note, d.Seq = f.by, f.note, f.seq
	if d.By == "" {
		return errors.New("give --by: who decides stands in the result")
	}
	return f.with(ctx, "review", askWithin, func(ctx context.Context, client *consumer.Client) error {
		r, err := client.Decide(ctx, f.queue, d)
		if refused, ok := errors.AsType[*consumer.ServiceError](err); ok && refused.Category == schemas.CategoryOutputInvalid {
			return &exitError{code: exitInvalid, err: err}
		}
		if err != nil {
			return failed(err)
		}
		if a.json {
			return a.printJSON(r)
		}
		fmt.Fprintf(a.out, "%s %s: %s by %s\n", a.colour(bold, r.ID), a.colour(statusColour(r.Status), r.Status), d.Decision, d.By)
		return nil
	})
}

func (a *app) reviewDecide(decision, short string) *cobra.Command {
	f := &decideFlags{}
	return f.add(&cobra.Command{Use: decision + " ID", Short: short, Args: runID, RunE: func(c *cobra.Command, args []string) error {
		return a.decide(c.Context(), f, schemas.Decision{ID: args[0], Decision: decision})
	}})
}

func (a *app) reviewEdit() *cobra.Command {
	f := &decideFlags{}
	var file string
	var text bool
	c := f.add(&cobra.Command{Use: "edit ID", Short: "Give the answer yourself; it is judged under the same contract", Args: runID,
		RunE: func(c *cobra.Command, args []string) error {
			if file == "-" && a.typed {
				fmt.Fprintln(a.err, "reading the answer from standard input until end of file (Ctrl-D); -f FILE reads a file")
			}
			raw, err := a.readFile(file)
			if err != nil {
				return err
			}
			d := schemas.Decision{ID: args[0], Decision: schemas.DecisionEdit}
			if text {
				d.OutputText = new(string(raw))
				return a.decide(c.Context(), f, d)
			}
			if !json.Valid(raw) {
				return fmt.Errorf("%s holds no JSON; correct it, or give --text for a text contract", file)
			}
			d.Output = raw
			return a.decide(c.Context(), f, d)
		}})
	c.Flags().StringVarP(&file, "file", "f", "-", "the `FILE` with the answer; - is standard input")
	c.Flags().BoolVar(&text, "text", false, "the contract is one of text")
	return c
}

// readFile reads a file, or standard input for "-".
func (a *app) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.in)
	}
	return os.ReadFile(name)
}
