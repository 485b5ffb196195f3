package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"emend/engine/provider/scripted"
	"emend/internal/devnats"
	"emend/schemas"
)

// fourBackends is a site with one worker whose backends are one of each provider's dialect, all at the mock. A backend is
// named for its dialect, and so is its profile.
func fourBackends(t *testing.T) (*site, []string) {
	t.Helper()
	s := newSite(t, devnats.Options{})
	backends, profiles := "backends:\n", "profiles:\n  fast: {backend: openai, model: small}\n  elsewhere: {backend: openai, model: small}\n"
	var names []string
	for _, b := range scripted.Bases(s.mock.http.URL) {
		backends += fmt.Sprintf("  %[1]s: {dialect: %[1]s, url: %[2]s, permits: 4, call_timeout: 60s}\n", b.Dialect, b.URL)
		profiles += fmt.Sprintf("  %[1]s: {backend: %[1]s, model: small, settings: {temperature: 0, max_output_tokens: 200}}\n", b.Dialect)
		names = append(names, b.Dialect)
	}
	s.write("emend.yaml", backends+profiles+"queues: {default: {}}\ntransient_retries: 2\ndrain_timeout: 20s\n")
	s.worker()
	return s, names
}

// through publishes one run of the same prompt and text to each backend, and returns what each came to.
func (s *site) through(names []string, text string, meanwhile func()) map[string]*schemas.Result {
	s.Helper()
	for _, name := range names {
		request := strings.TrimSuffix(body("rate", text), "}") + fmt.Sprintf(`, "profile": %q, "session_id": "s-9"}`, name)
		s.must(s.tryPublish(s.names.Run(name, "default", "via-"+name), request, ""))
	}
	meanwhile()
	out := map[string]*schemas.Result{}
	for _, name := range names {
		out[name] = s.result("via-" + name)
	}
	return out
}

// TestFourBackendsServeFourSubjectsAtOnce: one worker holds a call at each provider at the same time.
func TestFourBackendsServeFourSubjectsAtOnce(t *testing.T) {
	t.Parallel()
	s, names := fourBackends(t)
	results := s.through(names, holdMark, func() {
		for range names {
			receive(s, "a call at every provider", s.mock.arrived)
		}
		s.mock.release()
	})
	for name, r := range results {
		if r.Status != schemas.StatusSucceeded || r.Source.Backend != name || r.Source.Profile != name || string(r.Output) != `{"score":1}` {
			t.Errorf("%s: %s %s by %+v, error %+v", name, r.Status, r.Output, r.Source, r.Error)
		}
	}
	if n := s.mock.scripted.Stats().Calls; n != int64(len(names)) {
		t.Errorf("%d calls reached the script", n)
	}
}

// same is what a run came to, without its target, its usage and its times.
func same(r *schemas.Result) string {
	var attempts []string
	for _, a := range r.Attempts {
		attempts = append(attempts, fmt.Sprintf("%d.%d %s %s %d", a.Generation, a.Attempt, a.GenerationKind, a.Outcome, a.Status))
	}
	failure := ""
	if r.Error != nil {
		failure = r.Error.Category
	}
	return fmt.Sprintf("%s %s %q, valid %v after %d, %d findings, counts %+v, attempts %q", r.Status, failure, r.Output, r.Validation != nil && r.Validation.Valid,
		r.Validation.RepairAttempts, len(r.Validation.Findings), r.Counts, attempts)
}

// TestOnePromptThroughFourProviders: the same prompt comes to the same result on each wire, but for target and usage: right
// at once, mended, never right, and after a provider that was busy.
func TestOnePromptThroughFourProviders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"fine": schemas.StatusSucceeded, "MEND-ME": schemas.StatusSucceeded, "NEVER-RIGHT": schemas.StatusInvalid, "BUSY-ONCE": schemas.StatusSucceeded} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s, names := fourBackends(t)
			results := s.through(names, text, func() {})
			first := results[names[0]]
			if first.Status != want {
				t.Fatalf("%s: %s", names[0], same(first))
			}
			for _, name := range slices.Sorted(maps.Keys(results)) {
				r := results[name]
				if same(r) != same(first) {
					t.Errorf("%s came to\n%s\nand %s to\n%s", name, same(r), names[0], same(first))
				}
				if r.Usage == nil || r.Usage.Input == nil || r.Source.ModelReported != "small" {
					t.Errorf("%s: usage %+v, source %+v", name, r.Usage, r.Source)
				}
			}
		})
	}
}
