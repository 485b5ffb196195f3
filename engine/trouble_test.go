package engine_test

import (
	"testing"

	"emend/capacity"
	"emend/engine"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// A refused key closes the gate of a backend whose runs wait, and not that of one whose runs fail at once.
func TestOnTroubleDecidesWhetherTheGateCloses(t *testing.T) {
	for word, want := range map[string]capacity.Phase{prompts.OnTroubleWait: capacity.Closed, prompts.OnTroubleFail: capacity.Open} {
		d := definitions(2, 4)
		b := d.Config.Backends["b"]
		b.OnTrouble = word
		d.Config.Backends["b"] = b
		w := &wire{replies: []reply{fails(401), says("1")}}
		e := engineOver(t, d, engine.WithTransport(w), engine.WithTrouble())
		if _, err := e.Run(t.Context(), ask(schemas.ModeJSON)); err == nil {
			t.Fatal("401 is an answer")
		}
		if s := e.Gate("b").State(); s.Phase != want {
			t.Errorf("%s: the gate is %v", word, s.Phase)
		}
		if _, err := e.Run(t.Context(), ask(schemas.ModeJSON)); (err == nil) != (want == capacity.Open) {
			t.Errorf("%s: the next run: %v", word, err)
		}
	}
}

func TestTroubleBelongsToTheBackend(t *testing.T) {
	status := func(code int) *run.Failure {
		return &run.Failure{Category: schemas.CategoryProviderStatus, Status: code}
	}
	for name, c := range map[string]struct {
		failure *run.Failure
		trouble bool
		cause   string
	}{
		"429": {status(429), true, "429"}, "503": {status(503), true, "503"}, "400": {status(400), false, "400"}, "529": {status(529), false, "529"},
		"quota":     {&run.Failure{Category: schemas.CategoryProviderStatus, Status: 429, Code: "insufficient_quota", Permanent: true, Account: true}, true, "429 insufficient_quota"},
		"no key":    {&run.Failure{Category: schemas.CategoryTransport, NotSent: true, Account: true}, true, "no_credential"},
		"not there": {&run.Failure{Category: schemas.CategoryTransport, NotSent: true}, true, "unreachable"},
		"dropped":   {&run.Failure{Category: schemas.CategoryTransport}, false, "transport"},
		"timeout":   {&run.Failure{Category: schemas.CategoryTimeout}, false, "timeout"},
	} {
		if got := engine.IsTrouble(c.failure); got != c.trouble || engine.Cause(c.failure) != c.cause {
			t.Errorf("%s: trouble %v, cause %q", name, got, engine.Cause(c.failure))
		}
	}
}
