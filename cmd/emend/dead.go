package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/schemas"
)

// dead groups what operators do with requests that failed or could not be run.
func (a *app) dead() *cobra.Command {
	c := &cobra.Command{Use: "dead", Short: "Look at requests that failed or could not be run, and run them again"}
	c.AddCommand(a.deadLs(), a.deadShow(), a.deadReplay(), a.deadPurge())
	return c
}

func (a *app) deadLs() *cobra.Command {
	f := &queueFlags{}
	var q schemas.DeadQuery
	c := f.add(&cobra.Command{Use: "ls", Short: "List the dead letters of a queue, oldest first", Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.with(c.Context(), "dead", askWithin, func(ctx context.Context, client *consumer.Client) error {
				list, err := client.Letters(ctx, f.queue, q)
				if err != nil {
					return failed(err)
				}
				return a.printLetters(f.queue, q, list)
			})
		}})
	c.Flags().StringVar(&q.Reason, "reason", "", "only letters of this error `CATEGORY`")
	c.Flags().Uint64Var(&q.After, "after", 0, "go on behind the letter with this `SEQ`")
	c.Flags().IntVar(&q.Limit, "limit", 0, "at most this many letters (default 100, at most 1000)")
	return c
}

func (a *app) printLetters(queue string, q schemas.DeadQuery, list *schemas.DeadList) error {
	what := "dead letters"
	if q.Reason != "" || q.After > 0 {
		what = "such dead letters"
	}
	switch {
	case a.json:
		return a.printJSON(list)
	case len(list.Letters) == 0 && !list.More:
		fmt.Fprintf(a.out, "queue %s has no %s\n", queue, what)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SEQ\tID\tREASON\tBACKEND\tAT\tERROR")
	for _, l := range list.Letters {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", l.Seq, l.ID, l.Reason, placed(l), l.At.Local().Format(time.DateTime), a.brief(l.Error))
	}
	if list.More {
		fmt.Fprintf(w, "...\tgo on with --after %d\n", list.After)
	}
	return w.Flush()
}

// placed is the backend of a letter's run, or its pipeline.
func placed(l schemas.DeadEntry) string {
	if l.Pipeline != "" {
		return "pipeline " + l.Pipeline
	}
	return dash(l.Backend)
}

// on is placed in a sentence.
func on(l schemas.DeadEntry) string {
	if l.Pipeline != "" {
		return placed(l)
	}
	return "backend " + placed(l)
}

// brief is the beginning of a line, for a table on a terminal; elsewhere nothing is cut.
func (a *app) brief(s string) string {
	const shown = 72
	if !a.tty || len(s) <= shown {
		return s
	}
	return s[:shown-3] + "..."
}

func (a *app) deadShow() *cobra.Command {
	f := &queueFlags{}
	var seq uint64
	c := f.add(&cobra.Command{Use: "show ID", Short: "Show a dead letter with its request", Args: runID,
		RunE: func(c *cobra.Command, args []string) error {
			return f.with(c.Context(), "dead", askWithin, func(ctx context.Context, client *consumer.Client) error {
				d, err := client.Letter(ctx, consumer.Key{Queue: f.queue, ID: args[0]}, seq)
				if err != nil {
					return failed(err)
				}
				if a.json {
					return a.printJSON(d)
				}
				return a.printLetter(d)
			})
		}})
	c.Flags().Uint64Var(&seq, "seq", 0, "one of several letters of the id, by its `SEQ` (default: the latest)")
	return c
}

func (a *app) printLetter(d *schemas.DeadDetail) error {
	fmt.Fprintf(a.out, "%s  %s  %s\n", a.colour(bold, d.ID), a.colour(red, d.Reason), d.Error)
	fmt.Fprintf(a.out, "letter %d of %s, by worker %s; published %s for %s\n", d.Seq, d.At.Local().Format(time.DateTime), d.Worker, d.Published.Local().Format(time.DateTime), on(d.DeadEntry))
	if d.Outcome != "" {
		fmt.Fprintf(a.out, "the run's stored result is now: %s\n", a.colour(statusColour(d.Outcome), d.Outcome))
	}
	fmt.Fprintln(a.out)
	switch {
	case d.Request != nil:
		a.pretty(d.Request)
	case d.BodyBase64 != "":
		body, err := base64.StdEncoding.DecodeString(d.BodyBase64)
		if err != nil {
			return fmt.Errorf("the letter's body: %w", err)
		}
		fmt.Fprintf(a.out, "%q\n", body)
	default:
		fmt.Fprintf(a.out, "(the request has %d bytes, more than an answer carries; read message %d of the stream of dead letters)\n", d.Bytes, d.Seq)
	}
	fmt.Fprintf(a.out, "\nrun it again: %s [--prompt ID@VERSION] [--profile NAME] [--backend NAME]\n", a.again("dead replay", d.ID, "--seq", fmt.Sprint(d.Seq)))
	return nil
}

// purgeWithin bounds a purge, which may take many requests.
const purgeWithin = 5 * time.Minute

func (a *app) deadPurge() *cobra.Command {
	f := &queueFlags{}
	var p schemas.Purge
	var older time.Duration
	c := f.add(&cobra.Command{Use: "purge [ID]", Short: "Remove dead letters for good", Args: cobra.MatchAll(atMost(1), validIDs),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				p.ID = args[0]
			}
			if older > 0 {
				p.Before = new(time.Now().Add(-older))
			}
			if p == (schemas.Purge{}) {
				return errors.New("say what to remove: an ID, --reason, --older, or --all")
			}
			return f.with(c.Context(), "dead", purgeWithin, func(ctx context.Context, client *consumer.Client) error {
				n, err := client.Purge(ctx, f.queue, p)
				if a.json && err == nil {
					return a.printJSON(schemas.Purged{Removed: n})
				}
				fmt.Fprintf(a.out, "%s of queue %s removed\n", counted(n, "dead letter"), f.queue)
				return failed(err)
			})
		}})
	c.Flags().Uint64Var(&p.Seq, "seq", 0, "the letter with this `SEQ`")
	c.Flags().StringVar(&p.Reason, "reason", "", "the letters of this error `CATEGORY`")
	c.Flags().DurationVar(&older, "older", 0, "letters that are older than this `DURATION`, such as 720h")
	c.Flags().BoolVar(&p.All, "all", false, "all letters of the queue")
	return c
}
