package consumer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/schemas"
)

// Bill is what provider calls cost from a time on, by their events: also those of workers that were killed, and of executions whose
// result is not the stored one. Where events do not reach back so far, the stored results stand in.
type Bill struct {
	Since time.Time `json:"since"`
	// Events is from when on events tell; what is before it comes from results, which do not know of killed and superseded calls.
	Events time.Time `json:"events_since"`
	By     []string  `json:"by"`
	Rows   []BillRow `json:"rows"`
	Total  BillRow   `json:"total"`

	rows map[string]*BillRow
	// open has the row of every call that has begun and not ended.
	open map[string]*BillRow
}

// BillRow sums calls that have the words of By in common.
type BillRow struct {
	Of    []string `json:"of"`
	Calls int      `json:"calls"`
	// Input and Output are tokens, as far as they were told.
	Input  int64       `json:"input_tokens"`
	Output int64       `json:"output_tokens"`
	USD    schemas.USD `json:"cost_usd"`
	// CostState says how far USD is what the calls cost: known, partial, or unknown for all.
	CostState string `json:"cost_state"`
	// Unknown calls, or runs of the time before events, may have been billed, and what they cost is not known.
	Unknown int `json:"unknown"`
	// Open calls were begun, and nobody told their end: they are under way, or their worker was killed.
	Open int `json:"open"`
}

// BillWords are what a bill can be made by.
var BillWords = []string{"backend", "queue", "prompt", "profile", "model", "validator", "worker", "outcome", "day", "hour"}

// CheckBill refuses what no bill is made by.
func CheckBill(by []string) error {
	for _, word := range by {
		if !slices.Contains(BillWords, word) {
			return fmt.Errorf("a bill is made by %s, not by %q", strings.Join(BillWords, ", "), word)
		}
	}
	return nil
}

// Bill reads the events and results from since on. It needs the rights of Status.
func (c *Client) Bill(ctx context.Context, since time.Time, by []string) (*Bill, error) {
	if err := CheckBill(by); err != nil {
		return nil, err
	}
	b := &Bill{Since: since.UTC(), Events: since.UTC(), By: by, rows: map[string]*BillRow{}, open: map[string]*BillRow{}}
	s, err := c.js.Stream(ctx, c.names.EventsStream())
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", c.names.EventsStream(), err)
	}
	if first := s.CachedInfo().State.FirstTime; s.CachedInfo().State.Msgs > 0 && first.After(since) {
		b.Events = first.UTC()
	} else if s.CachedInfo().State.Msgs == 0 {
		b.Events = time.Now().UTC()
	}
	filters := []string{c.names.Event("*", "*", schemas.EventAttemptStarted), c.names.Event("*", "*", schemas.EventAttempt)}
	if err := c.each(ctx, c.names.EventsStream(), filters, since, b.event); err != nil {
		return nil, err
	}
	if b.Events.After(since) {
		if err := c.each(ctx, c.names.ResultsStream(), []string{c.names.AllResults()}, since, b.result); err != nil {
			return nil, err
		}
	}
	b.close()
	return b, nil
}

// billBatch is how many messages are asked for at once, readerIdle how long a reader stands that died.
const (
	billBatch  = 500
	readerIdle = 30 * time.Second
)

// each hands over what a stream holds of some subjects from a time on.
func (c *Client) each(ctx context.Context, stream string, filters []string, since time.Time, do func(jetstream.Msg, time.Time)) error {
	from, err := c.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: filters, DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since,
		InactiveThreshold: readerIdle})
	if err != nil {
		return fmt.Errorf("read %s: %w", stream, err)
	}
	defer func() { // else it stands until it has been idle: a server bounds how many there may be
		if info := from.CachedInfo(); info != nil {
			_ = c.js.DeleteConsumer(ctx, stream, info.Name)
		}
	}()
	for {
		batch, err := from.FetchNoWait(billBatch)
		if err != nil {
			return fmt.Errorf("read %s: %w", stream, err)
		}
		n := 0
		for m := range batch.Messages() {
			if meta, err := m.Metadata(); err == nil {
				do(m, meta.Timestamp)
			}
			n++
		}
		if err := batch.Error(); err != nil {
			return fmt.Errorf("read %s: %w", stream, err)
		}
		if n == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (b *Bill) event(m jetstream.Msg, at time.Time) {
	var e schemas.Event
	if json.Unmarshal(m.Data(), &e) != nil {
		return
	}
	call := fmt.Sprintf("%s/%s/%d/%s/%s/%d.%d.%d", e.Queue, e.RunID, e.Delivery, e.Worker, e.Validator, e.StageAttempt, e.Generation, e.Attempt)
	row := b.row(e, at)
	if e.Kind == schemas.EventAttemptStarted {
		b.open[call] = row
		row.Open++
		return
	}
	if begun := b.open[call]; begun != nil {
		delete(b.open, call)
		begun.Open--
	}
	row.Calls++
	if u := e.Usage; u != nil {
		row.Input += tokens(u.Input)
		row.Output += tokens(u.Output)
	}
	switch {
	case e.Cost != nil:
		row.USD += *e.Cost
	case e.Outcome != schemas.CategoryProviderStatus && e.Outcome != schemas.CategoryInvalidRequest:
		row.Unknown++
	}
}

func tokens(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// result takes a run that ended before events tell. A pipeline run has no backend, and made no call: its jobs have results of their own.
func (b *Bill) result(m jetstream.Msg, at time.Time) {
	var r schemas.Result
	if !at.Before(b.Events) || json.Unmarshal(m.Data(), &r) != nil || r.Cost == nil || r.Source.Backend == "" {
		return
	}
	row := b.row(schemas.Event{Queue: r.Queue, Backend: r.Source.Backend, Prompt: r.Source.Prompt, Profile: r.Source.Profile, Model: r.Source.Model,
		Worker: r.Source.Worker, Outcome: r.Status}, at)
	row.Calls += r.Counts.Calls + r.Counts.ValidatorCalls
	for _, u := range []*schemas.Usage{r.Usage, r.ValidatorUsage} {
		if u != nil {
			row.Input += tokens(u.Input)
			row.Output += tokens(u.Output)
		}
	}
	if r.Cost.USD != nil {
		row.USD += *r.Cost.USD
	}
	if r.Cost.State != schemas.CostKnown {
		row.Unknown++
	}
}

// row is the one that an event belongs to. Of a call that has only begun the outcome is not known.
func (b *Bill) row(e schemas.Event, at time.Time) *BillRow {
	words := map[string]string{"backend": e.Backend, "queue": e.Queue, "prompt": e.Prompt, "profile": e.Profile, "model": e.Model, "validator": e.Validator, "worker": e.Worker,
		"outcome": e.Outcome, "day": at.UTC().Format(time.DateOnly), "hour": at.UTC().Format("2006-01-02T15")}
	of := make([]string, len(b.By))
	for i, word := range b.By {
		of[i] = words[word]
	}
	key := strings.Join(of, "\x00")
	if b.rows[key] == nil {
		b.rows[key] = &BillRow{Of: of}
	}
	return b.rows[key]
}

func (r *BillRow) costState() string {
	switch {
	case r.Unknown == 0:
		return schemas.CostKnown
	case r.USD == 0:
		return schemas.CostUnknown
	}
	return schemas.CostPartial
}

// close sums up; the dearest come first.
func (b *Bill) close() {
	b.Rows, b.Total.Of = []BillRow{}, []string{}
	for _, r := range b.rows {
		if r.Calls+r.Open+r.Unknown == 0 {
			continue // its call has ended in another row, as --by outcome has it
		}
		r.CostState = r.costState()
		b.Rows = append(b.Rows, *r)
		t := &b.Total
		t.Calls, t.Input, t.Output, t.USD, t.Unknown, t.Open = t.Calls+r.Calls, t.Input+r.Input, t.Output+r.Output, t.USD+r.USD, t.Unknown+r.Unknown, t.Open+r.Open
	}
	b.Total.CostState = b.Total.costState()
	slices.SortFunc(b.Rows, func(x, y BillRow) int {
		return cmp.Or(cmp.Compare(y.USD, x.USD), cmp.Compare(y.Calls, x.Calls), slices.Compare(x.Of, y.Of))
	})
}
