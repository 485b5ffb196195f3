package subjects

import (
	"strings"
	"testing"
)

func names(t testing.TB, space string) Names {
	t.Helper()
	n, err := New(space)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheTable(t *testing.T) {
	n := names(t, "emend")
	for _, c := range []struct{ got, want string }{
		{n.Run("openai", "default", "inv-1043"), "emend.run.openai.default.inv-1043"},
		{n.RunFilter("openai", "default"), "emend.run.openai.default.*"},
		{n.AllRuns(), "emend.run.*.*.*"},
		{n.Result("default", "1"), "emend.result.default.1"},
		{n.ResultFilter("default"), "emend.result.default.*"},
		{n.AllResults(), "emend.result.*.*"},
		{n.Event("default", "1", "finished"), "emend.event.default.1.finished"},
		{n.EventFilter("default", "1"), "emend.event.default.1.*"},
		{n.EventFilter("default", "*"), "emend.event.default.*.*"},
		{n.AllEvents(), "emend.event.*.*.*"},
		{n.Dead("default", "1"), "emend.dead.default.1"},
		{n.AllDead(), "emend.dead.*.*"},
		{n.DeadFilter("default"), "emend.dead.default.*"},
		{n.DeadLetters("default"), "emend.dead-letters.default"},
		{n.AllDeadQueries(), "emend.dead-letters.*"},
		{n.Replay("default"), "emend.replay.default"},
		{n.AllReplays(), "emend.replay.*"},
		{n.Purge("default"), "emend.purge.default"},
		{n.AllPurges(), "emend.purge.*"},
		{n.GateKey("openai"), "_gate.openai"},
		{n.AllGateKeys(), "_gate.*"},
		{n.ProbeKey("openai"), "_probe.openai"},
		{n.GrantKey("default", "1", "e3b0"), "default.1.replay.e3b0"},
		{n.Review("default", "1"), "emend.review.default.1"},
		{n.AllReviews(), "emend.review.*.*"},
		{n.Ask("openai", "default"), "emend.ask.openai.default"},
		{n.AllAsks(), "emend.ask.*.*"},
		{n.Reviews("default"), "emend.reviews.default"},
		{n.GetOf("default"), "emend.get.default"},
		{n.AllGets(), "emend.get.*"},
		{n.CancelOf("default"), "emend.cancel.default"},
		{n.AllCancels(), "emend.cancel.*"},
		{n.AllReviewQueries(), "emend.reviews.*"},
		{n.Decide("default"), "emend.decide.default"},
		{n.AllDecisions(), "emend.decide.*"},
		{n.Submit("openai", "default"), "emend.submit.openai.default"},
		{n.AllSubmits(), "emend.submit.*.*"},
		{n.Get(), "emend.get"},
		{n.Cancel(), "emend.cancel"},
		{n.Control("default", "1"), "emend.control.cancel.default.1"},
		{n.AllControls(), "emend.control.cancel.*.*"},
		{n.Probe("w-1"), "emend.result._probe.w-1"},
		{n.RunsStream(), "EMEND_RUNS"},
		{n.ResultsStream(), "EMEND_RESULTS"},
		{n.EventsStream(), "EMEND_EVENTS"},
		{n.DeadStream(), "EMEND_DEAD"},
		{n.ReviewsStream(), "EMEND_REVIEWS"},
		{n.StateBucket(), "emend_state"},
		{n.StateSubject("default.1"), "$KV.emend_state.default.1"},
		{n.CatalogBucket(), "emend_catalog"},
		{n.ObjectBucket("team-a"), "emend_blob_team-a"},
		{n.StateKey("default", "1"), "default.1"},
		{n.Durable("openai", "team-a"), "openai__team-a"},
		{n.Service(), "emend"},
		{n.Space(), "emend"},
		{n.API(""), "$JS.API."},
		{n.API("hub"), "$JS.hub.API."},
		{names(t, "team-a2").RunsStream(), "TEAM_A2_RUNS"},
		{names(t, "team-a2").StateBucket(), "team_a2_state"},
		{names(t, "team-a2").Get(), "team-a2.get"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestSpaces(t *testing.T) {
	for _, s := range []string{"", "Emend", "1emend", "-e", "a.b", "a b", "a_b", "é", "a>", strings.Repeat("a", MaxSpace+1)} {
		if _, err := New(s); err == nil {
			t.Errorf("space %q was accepted", s)
		}
	}
	for _, s := range []string{"e", DefaultSpace, "a-9", strings.Repeat("a", MaxSpace)} {
		if n, err := New(s); err != nil || n.Space() != s {
			t.Errorf("space %q: %v", s, err)
		}
	}
}

func TestValid(t *testing.T) {
	for s, want := range map[string][2]bool{ // id, name
		"":                       {false, false},
		"a":                      {true, true},
		"A":                      {true, false},
		"_":                      {true, false},
		"-":                      {true, false},
		"9a":                     {true, false},
		"a-9":                    {true, true},
		"a_b":                    {true, false},
		"a.b":                    {false, false},
		"*":                      {false, false},
		">":                      {false, false},
		"a b":                    {false, false},
		"ä":                      {false, false},
		"a\x00":                  {false, false},
		strings.Repeat("a", 63):  {true, true},
		strings.Repeat("a", 64):  {true, false},
		strings.Repeat("a", 128): {true, false},
		strings.Repeat("a", 129): {false, false},
	} {
		if got := [2]bool{ValidID(s), ValidName(s)}; got != want {
			t.Errorf("%q: id, name = %v, want %v", s, got, want)
		}
		if (CheckID(s) == nil) != want[0] {
			t.Errorf("%q: CheckID = %v", s, CheckID(s))
		}
	}
}

func TestRefusalsNameTheTokenAndWhatIsAllowed(t *testing.T) {
	n := names(t, "emend")
	run := func(s string) error { _, _, _, err := n.ParseRun(s); return err }
	event := func(s string) error { _, _, _, err := n.ParseEvent(s); return err }
	result := func(s string) error { _, _, err := n.ParseResult(s); return err }
	durable := func(s string) error { _, _, err := n.ParseDurable(s); return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{run(""), "does not begin with emend.run."},
		{run("other.run.a.b.c"), "does not begin with emend.run."},
		{run("emend.runs.a.b.c"), "does not begin with emend.run."},
		{run("emend.run.a.b"), "has 2 tokens after emend.run, expected 3"},
		{run("emend.run.a.b.c.d"), "has 4 tokens after emend.run, expected 3"},
		{run("emend.run.A.b.c"), `backend "A": it must match [a-z][a-z0-9-]*`},
		{run("emend.run.a.*.c"), `queue "*": it must match`},
		{run("emend.run.a.b."), `id "": it must have 1 to 128 characters of A-Z a-z 0-9 _ -`},
		{run("emend.run.a.b.\x1b[31m\xff"), `id "\x1b[31m\xff"`},
		{run("emend.run.a.b." + strings.Repeat("x", 9000)), `... (9000 bytes)`},
		{event("emend.event.q.1.Bad"), `event kind "Bad"`},
		{event("emend.event.q.1."), `event kind ""`},
		{result("emend.result._probe.w"), `queue "_probe"`},
		{durable("openai"), "must be <backend>__<queue>"},
		{durable("a__b__c"), `queue "b__c"`},
		{second(n.ParseStateKey("q")), "must be <queue>.<id>"},
		{second(n.ParseStateKey("q.1.2")), `id "1.2"`},
		{second(n.ParseControl("emend.control.pause.q.1")), "does not begin with emend.control.cancel."},
		{second(n.ParseAsk("emend.ask.a.B")), `queue "B"`},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", c.err, c.want)
		} else if len(c.err.Error()) > 400 {
			t.Errorf("an error of %d bytes: %.80s", len(c.err.Error()), c.err)
		}
	}
}

func second(a, b string, err error) error {
	if err != nil && (a != "" || b != "") {
		panic("parts beside an error")
	}
	return err
}

func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := NewID()
		if !ValidID(id) || len(id) < 22 || seen[id] {
			t.Fatalf("minted %q", id)
		}
		seen[id] = true
	}
}

func TestSteering(t *testing.T) {
	for name, want := range map[string]bool{
		HeaderExpectedLastSubjectSequence: true, "nats-rollup": true, HeaderMsgID: true, HeaderStatus: true, "EMEND-RUN": true,
		HeaderReplyTo: false, HeaderTraceparent: false, "X-Tenant": false, "": false, "Natsy": false,
	} {
		if Steering(name) != want {
			t.Errorf("Steering(%q) = %v", name, !want)
		}
	}
}
