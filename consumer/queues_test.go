package consumer

import (
	"errors"
	"strings"
	"testing"

	"emend/internal/web"
	"emend/schemas"
)

// TestAQueueThatTheSpaceDoesNotHaveIsNoEmptyOne: whatever is asked about it, the answer names the queues that there are, and the page
// is told that it is not there. A queue that is there and empty, or one that only has left letters, is answered.
func TestAQueueThatTheSpaceDoesNotHaveIsNoEmptyOne(t *testing.T) {
	r := newRig(t)
	w := r.work(Options{})
	defer r.stop(w)
	c, err := NewClient(w.nc, r.names.Space(), "")
	r.must(err)
	page := NewConsole(c)
	defer page.Close()
	asks := map[string]func(queue string) error{
		"letters": func(q string) error { _, err := page.Letters(t.Context(), q, schemas.DeadQuery{}); return err },
		"letter":  func(q string) error { _, err := page.Letter(t.Context(), q, "x", 0); return err },
		"replay":  func(q string) error { _, err := page.Replay(t.Context(), q, schemas.Replay{ID: "x"}); return err },
		"purge":   func(q string) error { _, err := page.Purge(t.Context(), q, schemas.Purge{All: true}); return err },
		"reviews": func(q string) error { _, err := page.Reviews(t.Context(), q, schemas.ReviewQuery{}); return err },
		"review":  func(q string) error { _, err := page.Review(t.Context(), q, "x"); return err },
		"decide": func(q string) error {
			_, err := page.Decide(t.Context(), q, schemas.Decision{ID: "x", Decision: schemas.DecisionReject, By: "ann"})
			return err
		},
		"run":     func(q string) error { _, err := page.Run(t.Context(), q, "x"); return err },
		"cancel":  func(q string) error { _, err := page.Cancel(t.Context(), q, "x"); return err },
		"explain": func(q string) error { _, err := c.Explain(t.Context(), Key{Queue: q, ID: "x"}); return err },
		"knows":   func(q string) error { return c.KnowsQueue(t.Context(), q) },
	}
	_, err = r.js.Publish(t.Context(), r.names.Dead("gone", "x"), []byte("{}"))
	r.must(err)
	for name, ask := range asks {
		err := ask("nosuch")
		if !errors.Is(err, ErrNoQueue) || !strings.Contains(err.Error(), `no queue "nosuch"; its queues: default, team-a`) {
			t.Errorf("%s: %v", name, err)
		}
		if _, missing := errors.AsType[*web.Missing](err); !missing && name != "explain" && name != "knows" {
			t.Errorf("%s: the page answers otherwise than 404: %v", name, err)
		}
		for _, queue := range []string{"team-a", "gone"} {
			if err := ask(queue); errors.Is(err, ErrNoQueue) {
				t.Errorf("%s of %s: %v", name, queue, err)
			}
		}
		if name == "purge" {
			_, err := r.js.Publish(t.Context(), r.names.Dead("gone", "x"), []byte("{}"))
			r.must(err)
		}
	}
}
