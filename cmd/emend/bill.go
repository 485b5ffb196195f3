package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/prompts"
)

// bill shows what calls cost.
func (a *app) bill() *cobra.Command {
	var f natsFlags
	var dir, since string
	var by []string
	c := &cobra.Command{Use: "bill", Short: "Show what provider calls cost, also those of killed workers and superseded runs", Args: atMost(0),
		Long: "Sums provider calls by their events: every call that was made counts, whatever became of its run. Events are kept for\n" +
			"keep.events (6 h); before them the stored results stand in, which know their own calls only.",
		Example: "  emend bill --by prompt,queue --since 24h",
		RunE: func(c *cobra.Command, _ []string) error {
			span, err := prompts.ParseDuration(since)
			if err != nil || span <= 0 {
				return fmt.Errorf("--since %q: a duration needs a number and a unit, such as 90m, 24h or 7d", short(since))
			}
			if err := consumer.CheckBill(by); err != nil {
				return fmt.Errorf("--by: %w", err)
			}
			return f.ask(c.Context(), asking{dir: dir, name: "bill"}, func(ctx context.Context, client *consumer.Client) error {
				b, err := client.Bill(ctx, time.Now().Add(-span.Std()), by)
				if err != nil {
					return failed(err)
				}
				return a.printBill(b)
			})
		}}
	f.register(c)
	c.Flags().StringVar(&dir, "dir", ".", "the working `FOLDER`, for its emend.yaml")
	c.Flags().StringVar(&since, "since", "24h", "from how long `AGO`: 90m, 24h, 7d")
	c.Flags().StringSliceVar(&by, "by", []string{"backend", "model"}, "what to sum by: "+strings.Join(consumer.BillWords, ", "))
	return c
}

func (a *app) printBill(b *consumer.Bill) error {
	if a.json {
		return a.printJSON(b)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, word := range b.By {
		fmt.Fprintf(w, "%s\t", strings.ToUpper(word))
	}
	fmt.Fprintln(w, "CALLS\tINPUT\tOUTPUT\tCOST\tUNKNOWN\tOPEN")
	b.Total.Of = make([]string, len(b.By))
	if len(b.By) > 0 {
		b.Total.Of[0] = "total"
	}
	for _, r := range append(b.Rows, b.Total) {
		for _, word := range r.Of {
			fmt.Fprintf(w, "%s\t", dash(word))
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%d\t%d\n", r.Calls, r.Input, r.Output, spent(r.USD, r.CostState), r.Unknown, r.Open)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if b.Events.Sub(b.Since) > time.Minute {
		fmt.Fprintln(a.out, a.colour(yellow, "events reach back to "+b.Events.Local().Format(time.DateTime)+"; before it results stand in, without killed and superseded calls (keep.events)"))
	}
	if b.Total.Unknown > 0 {
		fmt.Fprintln(a.out, a.colour(yellow, fmt.Sprintf("the cost of %s is not known: no price for the model, or the tokens were not told", counted(b.Total.Unknown, "call"))))
	}
	return nil
}
