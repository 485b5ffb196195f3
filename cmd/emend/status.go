package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"emend/capacity"
	"emend/consumer"
)

// status shows a space: workers, gates and queues.
func (a *app) status() *cobra.Command {
	var f natsFlags
	var dir string
	var watch bool
	c := &cobra.Command{Use: "status", Short: "Show workers, gates with their causes, queues, dead letters and reviews", Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.ask(c.Context(), asking{dir: dir, name: "status"}, func(ctx context.Context, client *consumer.Client) error {
				return a.showStatus(ctx, client, watch)
			})
		}}
	f.register(c)
	c.Flags().StringVar(&dir, "dir", ".", "the working `FOLDER`, for its emend.yaml")
	c.Flags().BoolVar(&watch, "watch", false, "show it anew every two seconds, until interrupted")
	return c
}

func (a *app) showStatus(ctx context.Context, client *consumer.Client, watch bool) error {
	for {
		if err := a.statusOnce(ctx, client); err != nil || !watch {
			return err
		}
		if pause(ctx, statusEvery); ctx.Err() != nil {
			return nil
		}
		if a.tty && !a.json {
			fmt.Fprint(a.out, "\x1b[2J\x1b[H")
		}
	}
}

const statusEvery = 2 * time.Second

func (a *app) statusOnce(ctx context.Context, client *consumer.Client) error {
	ctx, cancel := within(ctx, askWithin)
	defer cancel()
	s, err := client.Status(ctx)
	if err != nil {
		return failed(err)
	}
	if a.json {
		return a.printJSON(s)
	}
	return a.printStatus(s)
}

func (a *app) printStatus(s *consumer.Status) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "QUEUE\tQUEUED\tIN FLIGHT\tREDELIVERED\tOLDEST")
	for _, q := range s.Queues {
		fmt.Fprintf(w, "%s/%s\t%d\t%d of %d\t%d\t%s\n", cmp.Or(q.Backend, "pipelines"), q.Queue, q.Queued, q.InFlight, q.Limit, q.Redelivered, age(q.Oldest))
	}
	fmt.Fprintln(w, "\nWORKER\tBACKEND\tGATE\tCALLS\tADMITTED\tWAITING\tUP")
	for _, x := range s.Workers {
		for _, backend := range sortedKeys(x.Gates) {
			g := x.Gates[backend]
			fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\t%s\t%d\t%s\n", x.ID, x.Version, backend, gateText(g.State, s.At), of(g.PermitsInUse, g.Permits),
				of(g.AdmittedInUse, g.Admitted), g.Waiting, age(s.At.Sub(x.Started)))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.printDefinitions(s)
	if len(s.Workers) == 0 {
		fmt.Fprintln(a.out, a.colour(yellow, "no worker answers: runs stay queued until one is there"))
	}
	fmt.Fprintf(a.out, "\n%s kept, %s, %s for a person\n", counted(int(s.Results), "result"), counted(int(s.Dead), "dead letter"), waiting(int(s.Reviews)))
	return nil
}

// printDefinitions tells by which catalog each worker runs, and what one refused: it goes on with older definitions.
func (a *app) printDefinitions(s *consumer.Status) {
	for _, w := range s.Workers {
		d := w.Definitions
		if d == nil || (d.Catalog == 0 && d.Refused == nil) {
			continue
		}
		fmt.Fprintf(a.out, "%s runs by %s, %s, for %s\n", w.ID, setText(d.Catalog), counted(d.Prompts, "prompt"), age(s.At.Sub(d.Since)))
		if r := d.Refused; r != nil {
			fmt.Fprintf(a.out, "  %s %s ago: %s\n", a.colour(red, "refused "+setText(r.Catalog)), age(s.At.Sub(r.At)), strings.ReplaceAll(r.Error, "\n", "\n  "))
		}
	}
}

// setText names a set of definitions.
func setText(catalog int) string {
	if catalog == 0 {
		return "the definitions of its folder"
	}
	return fmt.Sprintf("catalog %d", catalog)
}

// gateText is a gate in a few words, with its cause and when it opens.
func gateText(g capacity.GateState, now time.Time) string {
	s := strings.ToLower(g.Phase.String())
	if g.Limit > 0 && g.Phase == capacity.Slow {
		s += fmt.Sprintf(" (%d)", g.Limit)
	}
	if g.Cause != "" {
		s += ": " + g.Cause
	}
	if wait := g.Until.Sub(now).Round(time.Second); g.Phase == capacity.Closed && wait > 0 {
		s += fmt.Sprintf(", probe in %s", wait)
	}
	return s
}

func of(n, limit int) string {
	if limit == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d of %d", n, limit)
}

func age(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	return d.Round(time.Second).String()
}

func waiting(runs int) string {
	if runs == 1 {
		return "1 run waits"
	}
	return counted(runs, "run") + " wait"
}
