package pipeline

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"emend/schemas"
)

func costing(o Outcome, usd schemas.USD) Outcome {
	o.Cost = &schemas.Cost{USD: &usd, State: schemas.CostKnown}
	return o
}

// Whatever jobs cost and in whatever order they end, what is spent and set aside stays within the bound, and a run ends: whole,
// or failed for its budget because no job was under way that could have left enough.
func TestABudgetHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := twoLanes()
		const most = 10
		for i := range p.Lanes {
			p.Lanes[i].Extract.MaxCost = most
			p.Lanes[i].Merge = model("m@1")
			p.Lanes[i].Merge.MaxCost = most
		}
		chunks := rapid.IntRange(1, 8).Draw(rt, "chunks")
		limit := schemas.USD(rapid.IntRange(1, 200).Draw(rt, "limit"))
		r, err := New(p, Request{Document: document(chunks), MaxCost: limit})
		if err != nil {
			rt.Fatal(err)
		}
		spent := schemas.USD(0)
		res, out, _ := play(t, r, func(Job) Outcome {
			if r.budget.spent+r.budget.aside > limit {
				rt.Errorf("%d spent, %d set aside, of %d", r.budget.spent, r.budget.aside, limit)
			}
			cost := schemas.USD(rapid.IntRange(0, most).Draw(rt, "cost"))
			spent += cost
			return costing(ok(`[1]`), cost)
		}, func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "next") })
		all := schemas.USD(2*chunks+2) * most
		switch {
		case spent > limit || out > p.Window:
			rt.Errorf("%d spent of %d, %d out", spent, limit, out)
		case res.Status == schemas.StatusSucceeded:
		case limit >= all:
			rt.Errorf("%s although the bound covers all: %+v", res.Status, res.Error)
		case res.Error.Category != schemas.CategoryBudget || limit-spent >= most || !strings.Contains(res.Error.Message, "left"):
			rt.Errorf("%d spent of %d: %+v", spent, limit, res.Error)
		}
	})
}

// Not even the first job is begun where the bound is below what it may cost; a cost that is not known counts as all that was set
// aside, and a reused output as nothing.
func TestWhatABudgetCounts(t *testing.T) {
	p := twoLanes()
	p.Lanes = p.Lanes[:1]
	p.Lanes[0].Extract.MaxCost = 10
	r, err := New(p, Request{Document: document(3), MaxCost: 9})
	if err != nil {
		t.Fatal(err)
	}
	acts := r.Step(Begun{})
	if end, finished := acts[len(acts)-1].(Finish); !finished || end.Result.Error.Category != schemas.CategoryBudget || end.Result.Error.MayHaveBeenBilled {
		t.Fatalf("%+v", acts)
	}
	for name, c := range map[string]struct {
		o     Outcome
		spent schemas.USD
	}{
		"unknown": {Outcome{Status: schemas.StatusSucceeded, Counts: schemas.Counts{Calls: 1}}, 10},
		"partial": {func() Outcome { o := costing(ok("1"), 3); o.Cost.State = schemas.CostPartial; return o }(), 10},
		"known":   {costing(ok("1"), 3), 3},
		"reused":  {Outcome{Status: schemas.StatusSucceeded, Reused: true}, 0},
		"no call": {Outcome{Status: schemas.StatusFailed}, 0},
	} {
		b := budget{limit: 10}
		if !b.take(10) || b.take(1) {
			t.Error("what is set aside does not count")
		}
		if b.settle(10, c.o); b.spent != c.spent || b.aside != 0 {
			t.Errorf("%s: %+v", name, b)
		}
	}
}
