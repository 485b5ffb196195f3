package consumer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// callsWith counts the calls whose conversation has a word: SLOW or QUICK.
func callsWith(c *calls, word string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.words[word]
}

// TestNoPlaceIsHeldAtAQueueThatIsFull: a queue's in_flight is used up, in part by another worker, and a hundred more of its runs
// are queued. A worker with free places has nothing to expect from it: another queue's runs get them at once.
func TestNoPlaceIsHeldAtAQueueThatIsFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, c := newCalled(t, func(r *http.Request, body string, _ int) (*http.Response, error) {
			if strings.Contains(body, "SLOW") {
				nap(r, time.Hour)
			}
			return good(r)
		})
		r.yaml = strings.ReplaceAll(strings.Replace(r.yaml, "default: {weight: 4, in_flight: 64}", "default: {weight: 4, in_flight: 6}", 1), "permits: 4, admitted: 8", "permits: 8, admitted: 8")
		first, second := r.work(Options{}), r.work(Options{})
		slow, quick := strings.Replace(jsonRequest, "rate", "SLOW", 1), strings.Replace(jsonRequest, "rate", "QUICK", 1)
		r.putMany("mock", "default", "slow", 100, slow)
		time.Sleep(30 * time.Second)
		if n := callsWith(c, "SLOW"); n != 6 {
			t.Fatalf("%d runs of a queue with in_flight 6 are under way", n)
		}
		for round := range 5 {
			began := time.Now()
			r.putMany("mock", "team-a", "quick"+string(rune('a'+round)), 20, quick)
			awaits(t, "the other queue's runs", time.Millisecond, time.Minute, func() bool { return callsWith(c, "QUICK") == 20*(round+1) })
			if took := time.Since(began); took > fullExpiry {
				t.Errorf("round %d: the other queue's runs were called %v after they came", round, took)
			}
			time.Sleep(7 * time.Second)
		}
		r.stop(first)
		r.stop(second)
	})
}

// peak forgets how many calls there were at once, waits, and returns how many there were then.
func (c *calls) peak(span time.Duration) int {
	c.mu.Lock()
	c.most["mock.invalid"] = 0
	c.mu.Unlock()
	time.Sleep(span)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most["mock.invalid"]
}

// TestInFlightIsLoweredInAnIncident: a definition with a smaller in_flight takes effect for workers that run on with the larger
// one, once what they have in hand is done, and is raised again in the same way.
func TestInFlightIsLoweredInAnIncident(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, c := newCalled(t, func(r *http.Request, _ string, _ int) (*http.Response, error) {
			nap(r, 100*time.Millisecond)
			return good(r)
		})
		wide := strings.ReplaceAll(r.yaml, "permits: 4, admitted: 8", "permits: 16, admitted: 16")
		r.yaml = wide
		fleet := []*working{r.work(Options{}), r.work(Options{})}
		r.putMany("mock", "default", "r", 3000, jsonRequest)
		if n := c.peak(2 * time.Second); n != 32 {
			t.Errorf("%d calls at once before", n)
		}
		for _, inFlight := range []int{3, 20} {
			r.yaml = strings.Replace(wide, "default: {weight: 4, in_flight: 64}", fmt.Sprintf("default: {weight: 4, in_flight: %d}", inFlight), 1)
			fleet = append(fleet, r.work(Options{}))
			time.Sleep(time.Second)
			if n := c.peak(5 * time.Second); n != inFlight {
				t.Errorf("%d calls at once with in_flight %d", n, inFlight)
			}
		}
		for _, w := range fleet {
			r.stop(w)
		}
	})
}

// TestWeightsHoldUnderAFloodOfOneQueue: whichever of two queues is flooded, the other's runs get the share of their weight, and
// few of them get it at once.
func TestWeightsHoldUnderAFloodOfOneQueue(t *testing.T) {
	for flooded, c := range map[string]struct {
		other string
		// share is the other's of ten places.
		share int
	}{"default": {"team-a", 2}, "team-a": {"default", 8}} {
		t.Run(flooded, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r, calls := newCalled(t, func(r *http.Request, _ string, _ int) (*http.Response, error) {
					nap(r, 100*time.Millisecond)
					return good(r)
				})
				r.yaml = strings.ReplaceAll(r.yaml, "permits: 4, admitted: 8", "permits: 10, admitted: 10")
				w := r.work(Options{})
				r.putMany("mock", flooded, "flood", 3000, strings.Replace(jsonRequest, "rate", "SLOW", 1))
				time.Sleep(3 * time.Second)
				began, quick := time.Now(), strings.Replace(jsonRequest, "rate", "QUICK", 1)
				r.putMany("mock", c.other, "one", 1, quick)
				awaits(t, "a single run is called", time.Millisecond, time.Second, func() bool { return callsWith(calls, "QUICK") == 1 })
				if took := time.Since(began); took > 500*time.Millisecond {
					t.Errorf("a single run was called after %v", took)
				}
				before := callsWith(calls, "SLOW")
				r.putMany("mock", c.other, "many", 400, quick)
				awaits(t, "its share", time.Millisecond, time.Minute, func() bool { return callsWith(calls, "QUICK") > 390 })
				got := callsWith(calls, "SLOW") - before
				if want := 390 * (10 - c.share) / c.share; 10*got < 7*want || 10*got > 13*want {
					t.Errorf("%d of the flood were called beside 390 of the other; by their weights %d", got, want)
				}
				r.stop(w)
			})
		})
	}
}
