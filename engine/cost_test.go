package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"emend/engine"
	"emend/engine/event"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// priced are definitions of a model whose price the table has: gpt-4o-mini, $0.15 and $0.60 for a million tokens.
func priced(maxOutput int64) prompts.Definitions {
	d := definitions(2, 4)
	b := d.Config.Backends["b"]
	b.Prices = "openai"
	d.Config.Backends["b"] = b
	d.Config.Profiles["p"] = prompts.Profile{Backend: "b", Model: "gpt-4o-mini", Settings: schemas.Settings{MaxOutputTokens: &maxOutput}}
	return d
}

// execute runs a request as a worker does: over the plan.
func execute(t *testing.T, e *engine.Engine, req schemas.Request, meter engine.Meter, o event.Observer) (run.Result, *run.Plan) {
	t.Helper()
	p, err := e.Snapshot().Plan(req, prompts.Origin{ID: "1", Queue: "q", Library: true})
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Execute(t.Context(), engine.Execution{Plan: p, State: p.Start(), Meter: meter, Observer: o})
	if err != nil {
		t.Fatal(err)
	}
	return res, p
}

func asks(q string) schemas.Request {
	return schemas.Request{Prompt: "in-json", Inputs: map[string]json.RawMessage{"q": json.RawMessage(`"` + q + `"`)}}
}

func TestARunTellsWhatItCost(t *testing.T) {
	w := &wire{replies: []reply{says("no json", 1000, 100), says("{}", 2000, 50)}}
	e := engineOver(t, priced(100), engine.WithTransport(w))
	var events []string
	res, p := execute(t, e, asks("x"), nil, event.Func(func(_ context.Context, e event.Event) {
		if a, ok := e.(event.Attempt); ok {
			events = append(events, a.Cost.String())
		}
	}))
	r := engine.WireResult(p, res)
	if r.Cost == nil || r.Cost.State != schemas.CostKnown || r.Cost.USD.String() != "0.00054" || strings.Join(events, " ") != "0.00021 0.00033" {
		t.Errorf("%+v %v", r.Cost, events)
	}
	for name, c := range map[string]struct {
		replies []reply
		state   string
	}{"unknown": {[]reply{says("{}")}, schemas.CostUnknown}, "partial": {[]reply{says("no", 10, 10), says("{}")}, schemas.CostPartial}, "failed": {[]reply{fails(400)}, ""}} {
		e := engineOver(t, priced(100), engine.WithTransport(&wire{replies: c.replies}))
		res, p := execute(t, e, asks("x"), nil, nil)
		if got := engine.WireResult(p, res).Cost; (got == nil) != (c.state == "") || (got != nil && got.State != c.state) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	e = engineOver(t, definitions(2, 4), engine.WithTransport(&wire{replies: []reply{says("{}", 10, 10)}}))
	if res, p := execute(t, e, asks("x"), nil, nil); engine.WireResult(p, res).Cost.State != schemas.CostUnknown {
		t.Error("a model without a price has a cost")
	}
}

// The call that could exceed max_cost is not made, also when it is a correction or a judge's.
func TestMaxCostStopsBeforeTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		max    string
		calls  int
		status string
	}{
		"not even the first":       {"0.0001", 0, schemas.StatusFailed},
		"the first, no correction": {"0.0008", 1, schemas.StatusFailed},
		"all":                      {"0.01", 2, schemas.StatusSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{replies: []reply{says("no json", 3000, 400), says("{}", 3000, 400)}}
			e := engineOver(t, priced(500), engine.WithTransport(w))
			most, err := schemas.ParseUSD(c.max)
			if err != nil {
				t.Fatal(err)
			}
			req := asks("x")
			req.MaxCost = &most
			res, _ := execute(t, e, req, nil, nil)
			if w.calls() != c.calls || res.Status != c.status || (c.status == schemas.StatusFailed && res.Failure.Category != schemas.CategoryBudget) {
				t.Errorf("%d calls, %s, %+v", w.calls(), res.Status, res.Failure)
			}
			if res.State.Cost.USD > most {
				t.Errorf("it cost %s of at most %s", res.State.Cost.USD, most)
			}
		})
	}
}

// A judge that cannot be paid comes to no decision, and is not asked again.
func TestMaxCostCountsJudges(t *testing.T) {
	d := priced(500)
	d.Prompts = append(d.Prompts,
		prompts.Prompt{ID: "j", Version: 1, Profile: "p", Inputs: map[string]prompts.Input{"candidate": {}}, Messages: []prompts.Template{{Role: "user", Text: "{{ .candidate }}"}}},
		prompts.Prompt{ID: "judged", Version: 1, Profile: "p", Messages: []prompts.Template{{Role: "user", Text: "x"}}, Output: prompts.Output{Mode: schemas.ModeJSON},
			MaxCost: 0.0008, Checks: []prompts.CheckSpec{{Judge: "j@1", Retries: 2}}})
	w := &wire{replies: []reply{says("{}", 3000, 400), says(approve, 10, 10)}}
	e := engineOver(t, d, engine.WithTransport(w))
	res, _ := execute(t, e, schemas.Request{Prompt: "judged"}, nil, nil)
	if res.Status != schemas.StatusUnverified || w.calls() != 1 || res.State.Votes[0].Cause != schemas.CategoryBudget {
		t.Errorf("%s, %d calls, %+v", res.Status, w.calls(), res.State.Votes)
	}
	if v := res.State.Votes[0]; v.Tries != 0 || v.Calls != 0 {
		t.Errorf("what cannot be paid for is asked again: %+v", v)
	}
	more := schemas.Dollar
	w.replies = []reply{says("{}", 3000, 400), says(approve, 1000, 10)}
	d.Prompts[len(d.Prompts)-1].MaxCost = 1
	e = engineOver(t, d, engine.WithTransport(w))
	res, _ = execute(t, e, schemas.Request{Prompt: "judged", MaxCost: &more}, nil, nil)
	if res.Status != schemas.StatusSucceeded || res.State.Cost.USD.String() != "0.000846" || res.State.Cost.Calls != 2 {
		t.Errorf("%s %+v", res.Status, res.State.Cost)
	}
}

// A judge's calls that do not tell what they cost are taken for as dear as the next one, as the producer's are.
func TestMaxCostCountsJudgesWithoutUsage(t *testing.T) {
	d := priced(500)
	d.Prompts = append(d.Prompts,
		prompts.Prompt{ID: "j", Version: 1, Profile: "p", Inputs: map[string]prompts.Input{"candidate": {}}, Messages: []prompts.Template{{Role: "user", Text: "{{ .candidate }}"}}},
		prompts.Prompt{ID: "judged", Version: 1, Profile: "p", Messages: []prompts.Template{{Role: "user", Text: "x"}}, Output: prompts.Output{Mode: schemas.ModeJSON},
			MaxCost: 0.0015, Checks: []prompts.CheckSpec{{Judge: "j@1", Retries: 10}}})
	w := &wire{replies: []reply{says("{}", 10, 10)}}
	for range 11 {
		w.replies = append(w.replies, says("nonsense"))
	}
	res, _ := execute(t, engineOver(t, d, engine.WithTransport(w)), schemas.Request{Prompt: "judged"}, nil, nil)
	if v := res.State.Votes[0]; res.Status != schemas.StatusUnverified || v.Cause != schemas.CategoryBudget || v.Calls < 1 || v.Calls > 4 {
		t.Errorf("%s, %+v", res.Status, v)
	}
}

// meter notes what it is asked, and refuses when it is told to.
type meter struct {
	asked []engine.Metered
	spent []engine.Spent
	err   error
}

func (m *meter) Begin(_ context.Context, call engine.Metered) (func(engine.Spent), error) {
	m.asked = append(m.asked, call)
	return func(s engine.Spent) { m.spent = append(m.spent, s) }, m.err
}

func TestTheMeterIsAskedBeforeEveryCall(t *testing.T) {
	m := &meter{}
	w := &wire{replies: []reply{says("no json", 1000, 100), fails(400)}}
	e := engineOver(t, priced(500), engine.WithTransport(w))
	execute(t, e, asks("x"), m, nil)
	if len(m.asked) != 2 || len(m.spent) != 2 || m.asked[0].Backend != "b" || m.asked[0].Tokens < 500 || !m.asked[0].Bounded || m.asked[1].USD <= m.asked[0].USD {
		t.Errorf("%+v %+v", m.asked, m.spent)
	}
	if !m.spent[0].Known || m.spent[0].USD.String() != "0.00021" || !m.spent[1].Known || m.spent[1].USD != 0 {
		t.Errorf("%+v", m.spent)
	}
	m = &meter{err: errors.Join(engine.ErrBudget, errors.New("of backend b"))}
	w.replies = []reply{says("{}", 1, 1)}
	if res, _ := execute(t, e, asks("x"), m, nil); res.Failure == nil || res.Failure.Category != schemas.CategoryBudget || len(w.replies) != 1 || len(m.spent) != 0 {
		t.Errorf("%+v %+v", res.Failure, m)
	}
	m.err = errors.New("the bucket is away")
	if res, _ := execute(t, e, asks("x"), m, nil); res.Failure == nil || res.Failure.Category != schemas.CategoryCapacity {
		t.Errorf("%+v", res.Failure)
	}
}

// A bound of a program's own run is that of a request; one that is below 0 is refused.
func TestMaxCostOfALibraryRun(t *testing.T) {
	w := &wire{replies: []reply{says("{}", 3000, 400), says("{}", 3000, 400)}}
	e := engineOver(t, priced(500), engine.WithTransport(w))
	ask := engine.RunRequest{Prompt: "in-json", Inputs: map[string]any{"q": "x"}}
	for most, category := range map[schemas.USD]string{-1: schemas.CategoryInvalidRequest, schemas.Dollar / 10_000: schemas.CategoryBudget} {
		ask.MaxCost = most
		if _, err := e.Run(t.Context(), ask); err == nil || w.calls() != 0 || (category == schemas.CategoryInvalidRequest) != errors.Is(err, engine.ErrInvalidRequest) {
			t.Errorf("%s: %d calls, %v", most, w.calls(), err)
		}
	}
	for _, most := range []schemas.USD{0, schemas.Dollar} {
		ask.MaxCost = most
		if r, err := e.Run(t.Context(), ask); err != nil || r.Status != schemas.StatusSucceeded {
			t.Errorf("%s: %+v %v", most, r, err)
		}
	}
}
