package schemas

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestDollars(t *testing.T) {
	for s, want := range map[string]USD{"0": 0, "1": Dollar, "0.25": Dollar / 4, "0.000000000001": 1, "1e-3": Dollar / 1000, "0.0000000000011": 2, "1000000": 1_000_000 * Dollar, "12.50": 12*Dollar + Dollar/2} {
		if got, err := ParseUSD(s); err != nil || got != want {
			t.Errorf("%s: %d %v", s, got, err)
		}
	}
	for _, s := range []string{"", "-1", "x", "NaN", "Inf", "1e400", "1e-400", "1000001", "1/2"} {
		if got, err := ParseUSD(s); err == nil {
			t.Errorf("%s is %d", s, got)
		}
	}
	for u, want := range map[USD]string{0: "0", Dollar: "1", 150_000: "0.00000015", -Dollar / 2: "-0.5", 3*Dollar + 1: "3.000000000001"} {
		if u.String() != want {
			t.Errorf("%d is %s", u, u)
		}
	}
}

func TestDollarsRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := USD(rapid.Int64Range(0, int64(1000*Dollar)).Draw(rt, "usd"))
		b, err := json.Marshal(want)
		var got USD
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		if err != nil || got != want {
			rt.Errorf("%d is %s is %d: %v", want, b, got, err)
		}
	})
}

func TestCostSaysWhatItDoesNotKnow(t *testing.T) {
	var c CostSum
	if c.Cost() != nil {
		t.Error("nothing has a cost")
	}
	c.Add(0, false)
	if got := c.Cost(); got.State != CostUnknown || got.USD != nil {
		t.Errorf("%+v", got)
	}
	before := c
	c.Add(Dollar, true)
	if got := c.Cost(); got.State != CostPartial || *got.USD != Dollar {
		t.Errorf("%+v", got)
	}
	if got := c.Less(before).Cost(); got.State != CostKnown || *got.USD != Dollar {
		t.Errorf("%+v", got)
	}
	sum := c
	sum.Join(c)
	if sum != (CostSum{USD: 2 * Dollar, Calls: 4, Unknown: 2}) {
		t.Errorf("%+v", sum)
	}
}
