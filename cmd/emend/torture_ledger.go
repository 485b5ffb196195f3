package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/consumer"
	"emend/schemas"
	"emend/subjects"
)

// tally is what was accepted, and what events told, while the torture lasts.
type tally struct {
	mu       sync.Mutex
	accepted map[consumer.Key]bool
	told     map[consumer.Key]*told
}

// told is what the events of one run told.
type told struct {
	// started and ended are calls, aborted those that were cut off and may never have left. finished are the calls of settled
	// outcomes (a run that failed and was published again has two), superseded those of executions that settled nothing.
	started, ended, aborted, finished, superseded int
	tokens                                        int64
}

func newTally() *tally {
	return &tally{accepted: map[consumer.Key]bool{}, told: map[consumer.Key]*told{}}
}

func (t *tally) accept(k consumer.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.accepted[k] = true
}

// listen takes in all events of the space.
func (t *tally) listen(nc *nats.Conn, names subjects.Names) error {
	_, err := nc.Subscribe(names.AllEvents(), func(m *nats.Msg) {
		var e schemas.Event
		if json.Unmarshal(m.Data, &e) == nil {
			t.event(e)
		}
	})
	if err != nil {
		return err
	}
	return nc.Flush()
}

func (t *tally) event(e schemas.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := consumer.Key{Queue: e.Queue, ID: e.RunID}
	w := t.told[k]
	if w == nil {
		w = &told{}
		t.told[k] = w
	}
	switch e.Kind {
	case schemas.EventAttemptStarted:
		w.started++
	case schemas.EventAttempt:
		w.ended++
		if e.Outcome == schemas.StatusCancelled || e.Outcome == schemas.StatusExpired {
			w.aborted++
		}
	case schemas.EventSuperseded:
		w.superseded += e.Totals.Counts.Calls + e.Totals.Counts.ValidatorCalls
		w.tokens += inputOf(e.Totals.Usage) + inputOf(e.Totals.ValidatorUsage)
	case schemas.EventFinished:
		if e.Totals != nil {
			w.finished += e.Totals.Counts.Calls + e.Totals.Counts.ValidatorCalls
			w.tokens += inputOf(e.Totals.Usage) + inputOf(e.Totals.ValidatorUsage)
		}
	}
}

func inputOf(u *schemas.Usage) int64 {
	if u == nil || u.Input == nil {
		return 0
	}
	return *u.Input
}

// ledgerReport is what the torture proved.
type ledgerReport struct {
	Accepted int            `json:"accepted"`
	Settled  bool           `json:"settled"`
	Statuses map[string]int `json:"statuses"`
	// Lost runs have neither a result nor a dead letter.
	Lost []string `json:"lost,omitempty"`
	// Called is what the model counted, Reported what results and superseded executions say. Open calls had begun when a
	// worker died or lost its run: told by attempt_started and by nothing else.
	Called   int `json:"called"`
	Reported int `json:"reported"`
	Open     int `json:"open"`
	// Unexplained calls are told by nobody, Phantom ones were never made (one that was cut off may not have left). Killed workers may take the word of their last
	// moment with them.
	Unexplained int `json:"unexplained"`
	Phantom     int `json:"phantom"`
	// Odd are the first runs that are neither counted whole nor explained.
	Odd []string `json:"odd,omitempty"`
	// Tokens are what the answered calls cost, and what was reported.
	TokensCalled   int64   `json:"tokens_called"`
	TokensReported int64   `json:"tokens_reported"`
	Kills          int     `json:"kills"`
	Drains         int     `json:"drains"`
	MemoryMiB      []int64 `json:"memory_mib"`
	// Allowed is how many unexplained calls the kills can have caused: the permits of one worker each.
	Allowed int `json:"allowed"`
}

// OK reports whether the ledger holds.
func (r *ledgerReport) ok() bool {
	return r.Settled && r.Accepted > 0 && len(r.Lost) == 0 && r.Phantom == 0 && r.Unexplained <= r.Allowed
}

// account reads the stores and compares.
func (r *rack) account(ctx context.Context, fleet *fleet) (*ledgerReport, error) {
	if err := r.nc.Flush(); err != nil {
		return nil, err
	}
	out := &ledgerReport{Statuses: map[string]int{}, Kills: fleet.kills, Drains: fleet.drains, MemoryMiB: fleet.memory, Allowed: fleet.kills * permitsOfTorture}
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	out.Accepted = len(r.ledger.accepted)
	for k := range r.ledger.accepted {
		if err := r.accountRun(ctx, k, out); err != nil {
			return nil, err
		}
	}
	out.TokensCalled = int64(r.model.answered) * 10
	for _, w := range r.ledger.told {
		out.TokensReported += w.tokens
	}
	return out, nil
}

// permitsOfTorture is how many calls one worker can have open: both backends of the definitions.
const permitsOfTorture = 32 + 8

func (r *rack) accountRun(ctx context.Context, k consumer.Key, out *ledgerReport) error {
	result, err := r.stored(ctx, r.names.ResultsStream(), r.names.Result(k.Queue, k.ID))
	if err != nil {
		return err
	}
	reported := 0
	switch {
	case result != nil:
		var res schemas.Result
		if err := json.Unmarshal(result, &res); err != nil {
			return fmt.Errorf("the result of %s: %w", k.ID, err)
		}
		out.Statuses[res.Status]++
		reported = res.Counts.Calls + res.Counts.ValidatorCalls
	default:
		dead, err := r.stored(ctx, r.names.DeadStream(), r.names.Dead(k.Queue, k.ID))
		if err != nil {
			return err
		}
		if dead == nil {
			out.Lost = append(out.Lost, k.Queue+"/"+k.ID)
		}
	}
	told := r.ledger.told[k]
	open, aborted := 0, 0
	if told != nil {
		reported = max(reported, told.finished) + told.superseded // a killed worker may have settled and told nobody
		open, aborted = max(told.started-told.ended, 0), told.aborted
	}
	called := r.model.calls[k.ID]["work"] + r.model.calls[k.ID]["judge"]
	out.Called += called
	out.Reported += reported
	switch diff := called - reported; {
	case -diff > open+aborted:
		out.Phantom += -diff - open - aborted
		out.odd(k, called, reported, told)
	case diff > open:
		out.Open += open
		out.Unexplained += diff - open
		out.odd(k, called, reported, told)
	case diff > 0:
		out.Open += diff
	}
	return nil
}

const maxOdd = 20

func (r *ledgerReport) odd(k consumer.Key, called, reported int, t *told) {
	if t == nil {
		t = &told{}
	}
	if len(r.Odd) < maxOdd {
		r.Odd = append(r.Odd, fmt.Sprintf("%s/%s: called %d, reported %d; events tell %d started, %d ended, %d finished, %d superseded",
			k.Queue, k.ID, called, reported, t.started, t.ended, t.finished, t.superseded))
	}
}

func (r *rack) stored(ctx context.Context, stream, subject string) ([]byte, error) {
	s, err := r.js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}

func (a *app) printLedger(r *ledgerReport) error {
	var err error
	if a.json {
		err = a.printJSON(r)
	} else {
		fmt.Fprintf(a.out, "accepted %d, kills %d, drains %d\n", r.Accepted, r.Kills, r.Drains)
		for _, status := range sortedKeys(r.Statuses) {
			fmt.Fprintf(a.out, "  %-12s %d\n", status, r.Statuses[status])
		}
		fmt.Fprintf(a.out, "lost %d %v\n", len(r.Lost), r.Lost)
		fmt.Fprintf(a.out, "calls: the model counted %d, reported %d, open when a worker died %d, unexplained %d (kills allow %d), phantom %d\n",
			r.Called, r.Reported, r.Open, r.Unexplained, r.Allowed, r.Phantom)
		for _, o := range r.Odd {
			fmt.Fprintln(a.out, "  "+o)
		}
		fmt.Fprintf(a.out, "input tokens: cost %d, reported %d\n", r.TokensCalled, r.TokensReported)
		fmt.Fprintf(a.out, "memory of the workers together, over time (MiB): %v\n", r.MemoryMiB)
	}
	switch {
	case err != nil:
		return err
	case !r.Settled:
		return failed(errors.New("not everything has settled in time"))
	case !r.ok():
		return failed(errors.New("the ledger does not hold"))
	}
	fmt.Fprintln(a.err, a.colour(green, "the ledger holds"))
	return nil
}
