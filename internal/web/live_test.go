package web

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"emend/schemas"
)

func TestEventsComeAsTheyHappenWithoutContent(t *testing.T) {
	f := newFake()
	p := page(t, f, Options{})
	srv := httptest.NewServer(p)
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), "GET", srv.URL+"/api/runs/default/r1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		return ""
	}
	if got := next() + next(); got != "event: readydata: {}" {
		t.Fatalf("first %q", got)
	}
	(<-f.watched)(schemas.Event{Kind: "validation", RunID: "r1", Codes: []string{secret}})
	if got := next(); !strings.HasPrefix(got, `data: {`) || !strings.Contains(got, `"r1"`) || strings.Contains(got, secret) {
		t.Errorf("%s", got)
	}
	p.Close() // ends the stream of whoever still listens
	if got := next(); got != "" {
		t.Errorf("after the end: %q", got)
	}
}

// A browser that does not keep up is let go, so that it asks anew; nobody waits for it.
func TestASlowReaderIsLetGo(t *testing.T) {
	f := newFake()
	p := page(t, f, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &stuck{ResponseRecorder: httptest.NewRecorder(), hold: make(chan struct{}), writes: make(chan struct{}, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := httptest.NewRequestWithContext(ctx, "GET", "/api/runs/default/r1/events", nil)
		r.Host = "localhost"
		p.ServeHTTP(w, r)
	}()
	send := <-f.watched
	<-w.writes
	for range 3 * behind {
		send(schemas.Event{Kind: "attempt"})
	}
	close(w.hold)
	<-done
	if f.acts() != "unwatched" {
		t.Errorf("did %q", f.acts())
	}
}

// stuck is a browser that reads nothing until hold is closed.
type stuck struct {
	*httptest.ResponseRecorder
	hold, writes chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	select {
	case s.writes <- struct{}{}:
	default:
	}
	<-s.hold
	return s.ResponseRecorder.Write(b)
}

func TestTheSpaceIsSampledOnlyWhileSomeoneLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newSampler(f)
		defer s.close()
		if o, err := s.look(t.Context()); err != nil || len(o.Samples) != 1 {
			t.Fatalf("%+v %v", o, err)
		}
		time.Sleep(time.Hour) // virtual
		idle := f.looks.Load()
		if most := int64(watchedFor/sampleEvery) + 2; idle > most || idle < 2 {
			t.Errorf("%d samples for one look, at most %d", idle, most)
		}
		time.Sleep(time.Hour)
		if n := f.looks.Load(); n != idle {
			t.Errorf("%d samples while nobody looked", n-idle)
		}
		if o, err := s.look(t.Context()); err != nil || uint64(f.looks.Load()) != o.Samples[len(o.Samples)-1].Results {
			t.Errorf("the second look is not of now: %v", err)
		}
		for range 3 * history {
			time.Sleep(sampleEvery)
			if _, err := s.look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if o, _ := s.look(t.Context()); len(o.Samples) != history {
			t.Errorf("%d samples are kept", len(o.Samples))
		}
	})
}

func TestAStatusThatCannotBeReadIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.statusE = errors.New("there is no stream EMEND_RUNS")
		s := newSampler(f)
		o, err := s.look(t.Context())
		if err != nil || o.Error != f.statusE.Error() || o.Status != nil {
			t.Errorf("%+v %v", o, err)
		}
		s.close()
	})
}
