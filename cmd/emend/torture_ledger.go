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
	// executions are the calls that were begun, by worker and delivery.
	executions map[execution]int
	// aborted calls were cut off and may never have left. finished are the calls of settled outcomes (a run that failed and was
	// published again has two), superseded those of executions that settled nothing; tokens are theirs.
	aborted, finished, superseded    int
	finishedTokens, supersededTokens int64
}

// execution is a worker's hold on a run.
type execution struct {
	worker   string
	delivery uint64
}

// started are the calls that were begun, dead those of them whose worker was killed: they may stand in no total.
func (t *told) started(killed map[string]bool) (all, dead int) {
	for x, n := range t.executions {
		if all += n; killed[x.worker] {
			dead += n
		}
	}
	return all, dead
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
		w = &told{executions: map[execution]int{}}
		t.told[k] = w
	}
	switch e.Kind {
	case schemas.EventAttemptStarted:
		w.executions[execution{e.Worker, e.Delivery}]++
	case schemas.EventAttempt:
		if e.Outcome == schemas.StatusCancelled || e.Outcome == schemas.StatusExpired {
			w.aborted++
		}
	case schemas.EventSuperseded:
		w.superseded += e.Totals.Counts.Calls + e.Totals.Counts.ValidatorCalls
		w.supersededTokens += inputOf(e.Totals.Usage) + inputOf(e.Totals.ValidatorUsage)
	case schemas.EventFinished:
		if e.Totals != nil {
			w.finished += e.Totals.Counts.Calls + e.Totals.Counts.ValidatorCalls
			w.finishedTokens += inputOf(e.Totals.Usage) + inputOf(e.Totals.ValidatorUsage)
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
	// Called is what the model counted, Reported what results and superseded executions say. Repeated calls are in no total:
	// attempt_started tells that a worker began them which was killed before it could save or settle what came of them.
	Called   int `json:"called"`
	Reported int `json:"reported"`
	Repeated int `json:"repeated"`
	// Aborted calls were cut off by a cancel or a deadline: they are reported, may never have left, and cost what nobody tells.
	Aborted int `json:"aborted"`
	// Unexplained calls are told by nobody: killed workers may take the word of their last moment with them. Phantom ones were
	// reported and never made.
	Unexplained int `json:"unexplained"`
	Phantom     int `json:"phantom"`
	// Odd are the first runs that are neither counted whole nor explained.
	Odd []string `json:"odd,omitempty"`
	// Tokens are what the answered calls cost, and what was reported.
	TokensCalled   int64 `json:"tokens_called"`
	TokensReported int64 `json:"tokens_reported"`
	Kills          int   `json:"kills"`
	Drains         int   `json:"drains"`
	// MemoryMiB and Goroutines are those of a worker that was not harmed, over time.
	MemoryMiB  []int64 `json:"memory_mib"`
	Goroutines []int64 `json:"goroutines"`
	// Allowed is how many unexplained calls the kills can have caused: the permits of one worker each.
	Allowed int `json:"allowed"`
}

// ok reports whether the ledger holds.
func (r *ledgerReport) ok() bool {
	return r.Settled && r.Accepted > 0 && len(r.Lost) == 0 && r.Phantom == 0 && r.Unexplained <= r.Allowed && r.paid() && r.levelled()
}

// tokensOfACall is what each answered call costs.
const tokensOfACall = 10

// paid says that the tokens add up: what is missing was paid for calls that no total has, or that were cut off.
func (r *ledgerReport) paid() bool {
	missing := r.TokensCalled - r.TokensReported
	return missing >= 0 && missing <= tokensOfACall*int64(r.Repeated+r.Unexplained+r.Aborted)
}

func (r *ledgerReport) levelled() bool { return level(r.MemoryMiB, 16) && level(r.Goroutines, 64) }

// account reads the stores and compares.
func (r *rack) account(ctx context.Context, fleet *fleet) (*ledgerReport, error) {
	if err := r.nc.Flush(); err != nil {
		return nil, err
	}
	out := &ledgerReport{Statuses: map[string]int{}, Kills: fleet.kills, Drains: fleet.drains, MemoryMiB: fleet.memory, Goroutines: fleet.goroutines, Allowed: fleet.kills * permitsOfTorture}
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	out.Accepted = len(r.ledger.accepted)
	for k := range r.ledger.accepted {
		if err := r.accountRun(ctx, k, fleet.killed, out); err != nil {
			return nil, err
		}
	}
	out.TokensCalled = int64(r.model.answered) * tokensOfACall
	return out, nil
}

// permitsOfTorture is how many calls one worker can have open: both backends of the definitions.
const permitsOfTorture = 32 + 8

// accountRun compares what one run's result, letter and events tell with what the model counted of it.
func (r *rack) accountRun(ctx context.Context, k consumer.Key, killed map[string]bool, out *ledgerReport) error {
	res, err := r.resultOf(ctx, k, out)
	if err != nil {
		return err
	}
	reported, tokens := 0, int64(0)
	if res != nil {
		reported, tokens = res.Counts.Calls+res.Counts.ValidatorCalls, inputOf(res.Usage)
	}
	t := r.ledger.told[k]
	if t == nil {
		t = &told{}
	}
	// A killed worker may have settled and told nobody; a run that was published again has more finished than its last result.
	reported, tokens = max(reported, t.finished)+t.superseded, max(tokens, t.finishedTokens)+t.supersededTokens
	called := r.model.calls[k.ID]["work"] + r.model.calls[k.ID]["judge"]
	out.Called, out.Reported, out.Aborted, out.TokensReported = out.Called+called, out.Reported+reported, out.Aborted+t.aborted, out.TokensReported+tokens
	out.explain(k, called, reported, t, killed)
	return nil
}

// explain finds the attempts behind a difference of one run: those that a killed worker began, and those that were cut off.
func (r *ledgerReport) explain(k consumer.Key, called, reported int, t *told, killed map[string]bool) {
	_, dead := t.started(killed)
	diff := called - reported
	if diff < 0 { // reported and not counted: the call was cut off, or its worker died, before it reached the model
		if phantom := -diff - dead - t.aborted; phantom > 0 {
			r.Phantom += phantom
			r.odd(k, called, reported, t, killed)
		}
		return
	}
	r.Repeated += min(diff, dead)
	if diff > dead {
		r.Unexplained += diff - dead
		r.odd(k, called, reported, t, killed)
	}
}

// resultOf is the stored result of a run, nil if it has none; without a dead letter as well it is lost.
func (r *rack) resultOf(ctx context.Context, k consumer.Key, out *ledgerReport) (*schemas.Result, error) {
	text, err := r.stored(ctx, r.names.ResultsStream(), r.names.Result(k.Queue, k.ID))
	if err != nil {
		return nil, err
	}
	if text != nil {
		var res schemas.Result
		if err := json.Unmarshal(text, &res); err != nil {
			return nil, fmt.Errorf("the result of %s: %w", k.ID, err)
		}
		out.Statuses[res.Status]++
		return &res, nil
	}
	letter, err := r.stored(ctx, r.names.DeadStream(), r.names.Dead(k.Queue, k.ID))
	if err == nil && letter == nil {
		out.Lost = append(out.Lost, k.Queue+"/"+k.ID)
	}
	return nil, err
}

const maxOdd = 20

func (r *ledgerReport) odd(k consumer.Key, called, reported int, t *told, killed map[string]bool) {
	if len(r.Odd) < maxOdd {
		started, dead := t.started(killed)
		r.Odd = append(r.Odd, fmt.Sprintf("%s/%s: called %d, reported %d; events tell %d started, %d of them by killed workers, %d aborted, %d finished, %d superseded",
			k.Queue, k.ID, called, reported, started, dead, t.aborted, t.finished, t.superseded))
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
		fmt.Fprintf(a.out, "calls: the model counted %d, reported %d, begun by workers that were killed %d, cut off %d, unexplained %d (kills allow %d), phantom %d\n",
			r.Called, r.Reported, r.Repeated, r.Aborted, r.Unexplained, r.Allowed, r.Phantom)
		for _, o := range r.Odd {
			fmt.Fprintln(a.out, "  "+o)
		}
		fmt.Fprintf(a.out, "input tokens: cost %d, reported %d\n", r.TokensCalled, r.TokensReported)
		fmt.Fprintf(a.out, "of a worker that was not harmed, over time: memory (MiB) %v, goroutines %v\n", r.MemoryMiB, r.Goroutines)
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
