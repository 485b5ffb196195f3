package subjects

import (
	"slices"
	"strings"
	"testing"
)

// form of one kind of name: build makes it from parts, parse takes it apart again.
type form struct {
	name   string
	tokens int
	build  func(parts []string) string
	parse  func(s string) ([]string, error)
}

func single(a string, err error) ([]string, error) { return []string{a}, err }

func pair(a, b string, err error) ([]string, error) { return []string{a, b}, err }

func triple(a, b, c string, err error) ([]string, error) { return []string{a, b, c}, err }

// forms are given (backend, queue, id, kind) and use what they need.
func forms(n Names) []form {
	return []form{
		{"run", 5, func(p []string) string { return n.Run(p[0], p[1], p[2]) }, func(s string) ([]string, error) { return triple(n.ParseRun(s)) }},
		{"event", 5, func(p []string) string { return n.Event(p[1], p[2], p[3]) }, func(s string) ([]string, error) { return triple(n.ParseEvent(s)) }},
		{"result", 4, func(p []string) string { return n.Result(p[1], p[2]) }, func(s string) ([]string, error) { return pair(n.ParseResult(s)) }},
		{"dead", 4, func(p []string) string { return n.Dead(p[1], p[2]) }, func(s string) ([]string, error) { return pair(n.ParseDead(s)) }},
		{"review", 4, func(p []string) string { return n.Review(p[1], p[2]) }, func(s string) ([]string, error) { return pair(n.ParseReview(s)) }},
		{"control", 5, func(p []string) string { return n.Control(p[1], p[2]) }, func(s string) ([]string, error) { return pair(n.ParseControl(s)) }},
		{"ask", 4, func(p []string) string { return n.Ask(p[0], p[1]) }, func(s string) ([]string, error) { return pair(n.ParseAsk(s)) }},
		{"submit", 4, func(p []string) string { return n.Submit(p[0], p[1]) }, func(s string) ([]string, error) { return pair(n.ParseSubmit(s)) }},
		{"reviews", 3, func(p []string) string { return n.Reviews(p[1]) }, func(s string) ([]string, error) { return single(n.ParseReviews(s)) }},
		{"decide", 3, func(p []string) string { return n.Decide(p[1]) }, func(s string) ([]string, error) { return single(n.ParseDecide(s)) }},
		{"get of", 3, func(p []string) string { return n.GetOf(p[1]) }, func(s string) ([]string, error) { return single(n.ParseGetOf(s)) }},
		{"cancel of", 3, func(p []string) string { return n.CancelOf(p[1]) }, func(s string) ([]string, error) { return single(n.ParseCancelOf(s)) }},
		{"dead letters", 3, func(p []string) string { return n.DeadLetters(p[1]) }, func(s string) ([]string, error) { return single(n.ParseDeadLetters(s)) }},
		{"replay", 3, func(p []string) string { return n.Replay(p[1]) }, func(s string) ([]string, error) { return single(n.ParseReplay(s)) }},
		{"purge", 3, func(p []string) string { return n.Purge(p[1]) }, func(s string) ([]string, error) { return single(n.ParsePurge(s)) }},
		{"run filter", 5, func(p []string) string { return n.RunFilter(p[0], p[1]) }, func(s string) ([]string, error) { return pair(n.ParseRunFilter(s)) }},
		{"gate key", 2, func(p []string) string { return n.GateKey(p[0]) }, func(s string) ([]string, error) { return single(n.ParseGateKey(s)) }},
		{"probe key", 2, func(p []string) string { return n.ProbeKey(p[0]) }, func(s string) ([]string, error) { return single(n.ParseProbeKey(s)) }},
		{"durable", 1, func(p []string) string { return n.Durable(p[0], p[1]) }, func(s string) ([]string, error) { return pair(n.ParseDurable(s)) }},
		{"pipeline", 5, func(p []string) string { return n.Pipeline(p[0], p[1], p[2]) }, func(s string) ([]string, error) { return triple(n.ParsePipeline(s)) }},
		{"pipeline durable", 1, func(p []string) string { return n.PipelineDurable(p[1]) }, func(s string) ([]string, error) { return single(n.ParsePipelineDurable(s)) }},
		{"state key", 2, func(p []string) string { return n.StateKey(p[1], p[2]) }, func(s string) ([]string, error) { return pair(n.ParseStateKey(s)) }},
	}
}

// uses says which of (backend, queue, id, kind) a form returns.
var uses = map[string][]int{
	"run": {0, 1, 2}, "event": {1, 2, 3}, "result": {1, 2}, "dead": {1, 2}, "review": {1, 2}, "control": {1, 2},
	"reviews": {1}, "decide": {1}, "get of": {1}, "cancel of": {1},
	"dead letters": {1}, "replay": {1}, "purge": {1}, "gate key": {0}, "probe key": {0},
	"pipeline": {0, 1, 2}, "pipeline durable": {1},
	"run filter": {0, 1}, "ask": {0, 1}, "submit": {0, 1}, "durable": {0, 1}, "state key": {1, 2},
}

// FuzzRoundTrip: what is built from valid parts parses to the same parts; what parses, builds to the same text; and
// no part changes the number of tokens.
func FuzzRoundTrip(f *testing.F) {
	f.Add("emend", "openai", "default", "inv-1043", "finished", "emend.run.openai.default.1")
	f.Add("a-b", "a--", "b-", "__", "attempt_started", "openai__default")
	f.Add("a", "a.b", "*", ">", "", "a.event.q.1.x")
	f.Add("a", "a", "q", "1", "x", "q.1")
	f.Fuzz(func(t *testing.T, space, backend, queue, id, kind, text string) {
		n, err := New(space)
		if err != nil {
			return
		}
		parts := []string{backend, queue, id, kind}
		for _, p := range forms(n) {
			forth(t, p, parts)
			back(t, p, text)
		}
	})
}

func forth(t *testing.T, p form, parts []string) {
	want := make([]string, 0, 3)
	valid := true
	for _, i := range uses[p.name] {
		want = append(want, parts[i])
		valid = valid && []func(string) bool{ValidName, ValidName, ValidID, func(s string) bool { return checkKind(s) == nil }}[i](parts[i])
	}
	s := p.build(parts)
	got, err := p.parse(s)
	if (err == nil) != valid && strings.Count(s, ".")+1 == p.tokens {
		t.Errorf("%s: %q, valid %v: %v", p.name, s, valid, err)
	}
	if valid && (!slices.Equal(got, want) || strings.Count(s, ".")+1 != p.tokens) {
		t.Errorf("%s: %q parses to %q, want %q", p.name, s, got, want)
	}
}

func back(t *testing.T, p form, text string) {
	got, err := p.parse(text)
	if err != nil {
		if strings.Join(got, "") != "" {
			t.Errorf("%s: %q is refused, but gives %q", p.name, text, got)
		}
		return
	}
	parts := make([]string, 4)
	for i, at := range uses[p.name] {
		parts[at] = got[i]
	}
	if s := p.build(parts); s != text {
		t.Errorf("%s: %q is built again as %q", p.name, text, s)
	}
}

// A round trip of the seeds runs with every test; the parts of the table must name every form.
func TestEveryParserIsFuzzed(t *testing.T) {
	for _, p := range forms(names(t, "emend")) {
		if uses[p.name] == nil {
			t.Errorf("%s: parts are not declared", p.name)
		}
	}
}
