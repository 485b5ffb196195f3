package batch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"emend/schemas"
)

// retried runs a batch with Retry.
func retried(t *testing.T, in *Input, path string, s *space, ordered bool) Tally {
	t.Helper()
	survey, err := in.Check()
	if err != nil {
		t.Fatal(err)
	}
	o, _, err := Open(path, survey)
	if err != nil {
		t.Fatal(err)
	}
	tally, err := o.DropUnanswered(survey)
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{In: in, Out: o, Carrier: s, Window: 3, Ordered: ordered, Retry: true}
	r.Prepare(tally)
	s.mu.Lock()
	s.arrived = r.Arrived
	s.mu.Unlock()
	if tally, err = r.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tally
}

// What failed runs again and replaces its line, in its place; what was answered meanwhile is fetched; the rest stays.
func TestRetry(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, path := newSpace(), filepath.Join(t.TempDir(), "out.jsonl")
			in := file(t, "a", "bad-1", "b", "bad-2", "bad-3", "c")
			if tally, err := run(t.Context(), t, in, path, s, 3, true); err != nil || tally.Failures() != 3 {
				t.Fatalf("%+v %v", tally, err)
			}
			s.results["bad-2"] = &schemas.Result{ID: "bad-2", Status: schemas.StatusSucceeded, Request: schemas.RequestRef{SHA256: "another prompt", Seq: 9}}
			s.results["bad-1"].Request.Seq = 7
			s.mends, s.seq = true, 10
			tally := retried(t, in, path, s, ordered)
			if tally.Failures() != 0 || tally.Done != 6 || tally.Before != 3 || len(tally.Failed) != 0 {
				t.Errorf("%+v", tally)
			}
			if s.published["bad-1"] != 2 || s.published["bad-2"] != 1 || s.published["bad-3"] != 2 || s.published["a"] != 1 {
				t.Errorf("%v", s.published)
			}
			got := written(t, path)
			if !ordered {
				slices.Sort(got)
			}
			if want := map[bool][]string{true: {"a", "bad-1", "b", "bad-2", "bad-3", "c"}, false: {"a", "b", "bad-1", "bad-2", "bad-3", "c"}}[ordered]; !slices.Equal(got, want) {
				t.Errorf("%v", got)
			}
		})
	}
}

// The result that is to be replaced is not taken for the new one.
func TestARetryWaitsForTheNewResult(t *testing.T) {
	r := &Runner{Window: 1, Retry: true}
	r.Prepare(Tally{})
	j := &job{id: "a", fingerprint: "f", before: 5}
	r.await(j)
	r.found(j, &schemas.Result{ID: "a", Status: schemas.StatusFailed, Request: schemas.RequestRef{SHA256: "f", Seq: 5}}, "")
	if len(r.done) != 0 {
		t.Error("the old result ended the job")
	}
	r.found(j, &schemas.Result{ID: "a", Status: schemas.StatusFailed, Request: schemas.RequestRef{SHA256: "f", Seq: 6}}, "")
	if len(r.done) != 1 {
		t.Error("the new result did not")
	}
}

// A file that is not there and an empty one are alike: what is stored is fetched, failed or not, and runs again only if told.
func TestAnEmptyOutputIsLikeNone(t *testing.T) {
	for _, empty := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, path := newSpace(), filepath.Join(t.TempDir(), "out.jsonl")
			in := file(t, "a", "bad-1")
			if _, err := run(t.Context(), t, in, path+".first", s, 3, true); err != nil {
				t.Fatal(err)
			}
			if empty {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tally, err := run(t.Context(), t, in, path, s, 3, true)
			if err != nil || tally.Failures() != 1 || s.published["bad-1"] != 1 {
				t.Errorf("%+v %v %v", tally, err, s.published)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			s.mends = true
			if tally := retried(t, in, path, s, true); tally.Failures() != 0 || s.published["bad-1"] != 2 || s.published["a"] != 1 {
				t.Errorf("%+v %v", tally, s.published)
			}
		})
	}
}

// The summary names the first failures, and says how far the cost is known.
func TestTallyOfFailuresAndCosts(t *testing.T) {
	tally := newTally(&Survey{Lines: 9})
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		tally.add(id, schemas.StatusFailed, schemas.CategoryTimeout, &schemas.Cost{State: schemas.CostUnknown})
	}
	if len(tally.Failed) != maxFailures || tally.Failed[0] != (Failure{"1", schemas.CategoryTimeout}) || tally.CostState != schemas.CostUnknown {
		t.Errorf("%+v", tally)
	}
	tally.add("7", schemas.StatusSucceeded, "", &schemas.Cost{State: schemas.CostKnown, USD: new(schemas.Dollar)})
	b, err := json.Marshal(tally)
	if err != nil || tally.CostState != schemas.CostPartial || !strings.Contains(string(b), `"cost_state":"partial"`) {
		t.Errorf("%s %v", b, err)
	}
}
