package consumer

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestStatusTellsWhatAWorkerRefused: until it has taken others; whatever the words, they fit into an answer. What an older worker
// answers is read as before.
func TestStatusTellsWhatAWorkerRefused(t *testing.T) {
	r := newRig(t)
	w := r.work(Options{ID: "w"})
	defer r.stop(w)
	c, err := NewClient(r.nc, r.names.Space(), "")
	r.must(err)
	tells := func() *Definitions {
		s, err := c.Status(t.Context())
		r.must(err)
		if len(s.Workers) != 1 || s.Workers[0].Definitions == nil {
			t.Fatalf("%+v", s.Workers)
		}
		return s.Workers[0].Definitions
	}
	if d := tells(); d.Refused != nil || d.Catalog != 0 || d.Since.IsZero() {
		t.Errorf("at first %+v", d)
	}
	w.Refused(7, errors.New(strings.Repeat("é", maxRefusal)))
	if d := tells(); d.Refused == nil || d.Refused.Catalog != 7 || d.Refused.At.IsZero() || len(d.Refused.Error) > maxRefusal+4 || !strings.HasSuffix(d.Refused.Error, "é ...") || !utf8.ValidString(d.Refused.Error) {
		t.Errorf("refused %+v", d)
	}
	before := tells().Since
	w.Reload(w.engine.Load())
	if d := tells(); d.Refused != nil || d.Since.Before(before) {
		t.Errorf("reloaded %+v", d)
	}
	old, err := json.Marshal(map[string]any{"metadata": map[string]string{"worker": "old"}, "endpoints": []any{map[string]any{"name": askEndpoint, "data": map[string]any{"gates": map[string]any{}}}}})
	r.must(err)
	if s, ok := workerOf(old); !ok || s.ID != "old" || s.Definitions != nil {
		t.Errorf("%+v %v", s, ok)
	}
}
