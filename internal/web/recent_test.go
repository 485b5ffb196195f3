package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func ids(runs []Run) string {
	var out []string
	for _, r := range runs {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

func began(at int, prompt string) []byte {
	return fmt.Appendf(nil, `{"at": %q, "prompt": %q, "backend": "b"}`, time.Unix(int64(at), 0).UTC().Format(time.RFC3339), prompt)
}

func TestRecentListsTheNewestFirst(t *testing.T) {
	r := NewRecent(100)
	for i := range 5 {
		r.Ended(Run{Queue: "q", ID: fmt.Sprint("e", i), Status: []string{"succeeded", "failed"}[i%2], Prompt: "p@1", Backend: "b", Place: uint64(i + 1)})
	}
	r.Started("q", "s1", began(1, "p@2"))
	r.Started("q", "s2", began(2, "x@1"))
	r.Started("q", "s3", began(3, "p@1"))
	r.PutDown("q", "s3")
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{Limit: 10}, "s2 s1 e4 e3 e2 e1 e0"},
		{Filter{Limit: 3}, "s2 e4 e3"},
		{Filter{Limit: 10, Status: "running"}, "s2 s1"},
		{Filter{Limit: 10, Status: "failed"}, "e3 e1"},
		{Filter{Limit: 10, Prompt: "p"}, "s1 e4 e3 e2 e1 e0"},
		{Filter{Limit: 10, Prompt: "p@2"}, "s1"},
		{Filter{Limit: 10, ID: "3"}, "e3"},
		{Filter{Limit: 10, Queue: "other"}, ""},
		{Filter{Limit: 10, Backend: "other"}, ""},
		{Filter{Limit: 2, Before: 4}, "e2 e1"},
		{Filter{Limit: 10, Before: 1}, ""},
	} {
		if got := ids(r.List(c.f)); got != c.want {
			t.Errorf("%+v: %q, want %q", c.f, got, c.want)
		}
	}
}

// A run that ends is no longer running, and one that ended again (a replay) stands once, where it ended last.
func TestRecentShowsARunOnce(t *testing.T) {
	r := NewRecent(100)
	r.Started("q", "a", began(1, "p"))
	r.Ended(Run{Queue: "q", ID: "a", Status: "failed", Place: 1})
	r.Ended(Run{Queue: "q", ID: "b", Status: "succeeded", Place: 2})
	r.Ended(Run{Queue: "q", ID: "a", Status: "succeeded", Place: 3})
	if got := r.List(Filter{Limit: 10}); ids(got) != "a b" || got[0].Status != "succeeded" {
		t.Errorf("%+v", got)
	}
}

func TestRecentIsBounded(t *testing.T) {
	const keep = 50
	r := NewRecent(keep)
	for i := range 10 * keep {
		r.Started("q", fmt.Sprint("s", i), began(i, "p"))
		r.Ended(Run{Queue: "q", ID: fmt.Sprint("e", i%(3*keep)), Place: uint64(i + 1)})
	}
	if len(r.ended) >= 2*keep || len(r.newest) > 2*keep || len(r.running) > keep {
		t.Errorf("%d ended, %d newest, %d running", len(r.ended), len(r.newest), len(r.running))
	}
	got := r.List(Filter{Limit: 1000, Status: ""})
	if n := slices.IndexFunc(got, func(x Run) bool { return x.Place == 10*keep }); n < 0 {
		t.Error("the latest is not listed")
	}
}

// A pipeline run is told by its pipeline: it has neither prompt nor backend.
func TestRecentTellsPipelines(t *testing.T) {
	r := NewRecent(10)
	r.Started("q", "a", []byte(`{"pipeline": "digest@1"}`))
	r.Ended(Run{Queue: "q", ID: "b", Status: "succeeded", Pipeline: "digest@2", Place: 1})
	if got := r.List(Filter{Limit: 10}); len(got) != 2 || got[0].Pipeline != "digest@1" || got[1].Pipeline != "digest@2" {
		t.Errorf("%+v", got)
	}
}
