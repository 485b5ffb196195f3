package consumer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"emend/capacity"
	"emend/engine"
)

var (
	unavailable = capacity.Outcome{Kind: capacity.Unavailable, Cause: "503"}
	noAccount   = capacity.Outcome{Kind: capacity.Account, Cause: "401"}
	answered    = capacity.Outcome{Kind: capacity.Answered}
)

// fleet are workers of one backend, as far as they share its gate.
type fleet struct {
	*place
	kv      jetstream.KeyValue
	workers []*member
}

// member is one worker's gate; leave ends its sharing as a drain does, die as a death does.
type member struct {
	*sharedGate
	leave func()
	ended sync.WaitGroup
}

func newFleet(t *testing.T, n int) *fleet {
	f := &fleet{place: newPlace(t)}
	f.set(config(), 0)
	var err error
	f.kv, err = f.js.KeyValue(t.Context(), f.names.StateBucket())
	f.must(err)
	for range n {
		f.join()
	}
	return f
}

// join starts a worker.
func (f *fleet) join() *member {
	f.Helper()
	g, err := capacity.New(capacity.Limits{Permits: 4, Trouble: true})
	f.must(err)
	m := &member{sharedGate: newSharedGate(f.kv, f.names, "mock", g, zerolog.Nop())}
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	m.leave = func() { cancel(); m.ended.Wait() }
	m.ended.Go(func() { m.run(ctx) })
	m.ended.Go(func() { watchGates(ctx, f.kv, f.names, map[string]*sharedGate{"mock": m.sharedGate}, zerolog.Nop()) })
	f.workers = append(f.workers, m)
	f.rest()
	return m
}

// rest lets everybody come to rest. The virtual second also lets the server answer.
func (f *fleet) rest() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

func (f *fleet) end() {
	for _, m := range f.workers {
		m.leave()
	}
}

// phases counts the gates by phase.
func (f *fleet) phases() string {
	f.rest()
	n := map[capacity.Phase]int{}
	for _, m := range f.workers {
		n[m.gate.State().Phase]++
	}
	var out strings.Builder
	for p := capacity.Open; p <= capacity.Probing; p++ {
		if n[p] > 0 {
			out.WriteString(fmt.Sprintf("%d %s ", n[p], p))
		}
	}
	return out.String()
}

func (f *fleet) expect(when, want string) {
	f.Helper()
	if got := f.phases(); got != want {
		f.Fatalf("%s: %swant %s", when, got, want)
	}
}

// prober is the one worker whose gate probes.
func (f *fleet) prober() *member {
	f.Helper()
	f.expect("one probes", "3 closed 1 probing ")
	for _, m := range f.workers {
		if m.gate.State().Phase == capacity.Probing {
			return m
		}
	}
	panic("unreachable")
}

// TestFourWorkersSendOneProbeAPeriod: one closes and all do; period after period one of them probes, with pauses that double
// whoever it is; when a probe is answered all are open again.
func TestFourWorkersSendOneProbeAPeriod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, 4)
		defer f.end()
		f.workers[0].gate.Report(noAccount)
		f.expect("one is refused", "4 closed ")
		for _, m := range f.workers {
			if s := m.gate.State(); s.Cause != "401" || time.Until(s.Until) < 29*time.Second {
				t.Errorf("%+v", s)
			}
		}
		time.Sleep(30 * time.Second)
		for _, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			f.prober().gate.Report(unavailable)
			f.expect("the probe failed", "4 closed ")
			for _, m := range f.workers {
				if left := time.Until(m.gate.State().Until); left > pause*time.Second || left < pause*time.Second-300*time.Millisecond {
					t.Errorf("a pause of %v, want %v s", left, pause)
				}
			}
			time.Sleep(pause * time.Second)
		}
		f.prober().gate.Report(answered)
		f.expect("the probe was answered", "4 slow ")
		for range 12 {
			for _, m := range f.workers {
				m.gate.Report(answered)
			}
		}
		f.expect("it is over", "4 open ")
	})
}

// TestProbeThatTakesLongIsTheOnlyOne: its holder renews the key for as long as the call lasts.
func TestProbeThatTakesLongIsTheOnlyOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, 4)
		defer f.end()
		f.workers[1].gate.Report(noAccount)
		f.rest()
		time.Sleep(30 * time.Second)
		first := f.prober()
		time.Sleep(10 * probeLease)
		if f.prober() != first {
			t.Error("another took over")
		}
		first.leave()
		time.Sleep(probeLease / 2)
		f.workers = remove(f.workers, first)
		f.expect("a worker that drains leaves its probe to another", "2 closed 1 probing ")
	})
}

func remove(members []*member, gone *member) (out []*member) {
	for _, m := range members {
		if m != gone {
			out = append(out, m)
		}
	}
	return out
}

// TestProberThatDies: its key stands still, and after a lease another has it.
func TestProberThatDies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, 0)
		_, err := f.kv.Put(t.Context(), f.names.ProbeKey("mock"), []byte("one that died"))
		f.must(err)
		for range 4 {
			f.join()
		}
		defer f.end()
		f.workers[0].gate.Report(noAccount)
		f.rest()
		time.Sleep(30 * time.Second)
		f.expect("the dead one's lease is not over", "4 closed ")
		time.Sleep(probeLease + probeLease/3)
		f.prober()
	})
}

// TestNoticeOfADeadWriterKeepsNoGateShut: it holds for as long as it said, at most an hour, also for one who comes later.
func TestNoticeOfADeadWriterKeepsNoGateShut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, 1)
		defer f.end()
		put := func(n notice) {
			n.V = noticeVersion
			b, err := json.Marshal(n)
			f.must(err)
			_, err = f.kv.Put(t.Context(), f.names.GateKey("mock"), b)
			f.must(err)
			f.rest()
		}
		put(notice{By: "dead", Cause: "429", For: time.Minute})
		f.expect("it closes", "1 closed ")
		late := f.join()
		if s := late.gate.State(); s.Cause != "429" || time.Until(s.Until) > time.Minute {
			t.Errorf("one who comes later: %+v", s)
		}
		time.Sleep(time.Minute)
		f.expect("its time is over", "1 closed 1 probing ")
		f.workers[0].gate.Report(answered)
		f.workers[1].gate.Report(answered)
		f.rest()
		put(notice{By: "dead", Cause: "429", For: 1000 * time.Hour})
		time.Sleep(time.Hour)
		f.expect("an hour at most", "1 closed 1 probing ")
		for _, text := range []string{"no JSON", `{"v": 99, "cause": "503", "for": 60000000000}`} {
			_, err := f.kv.Put(t.Context(), f.names.GateKey("mock"), []byte(text))
			f.must(err)
		}
		f.expect("what is no notice is ignored", "1 closed 1 probing ")
	})
}

// TestWorkersWithoutTheBucketProbeAlone: what cannot be shared is not waited for.
func TestWorkersWithoutTheBucketProbeAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, 2)
		defer f.end()
		f.must(f.js.DeleteKeyValue(t.Context(), f.names.StateBucket()))
		f.workers[0].gate.Report(noAccount)
		f.workers[1].gate.Report(noAccount)
		time.Sleep(time.Minute)
		f.expect("each by itself", "2 probing ")
		f.workers[0].gate.Report(answered)
		f.workers[1].gate.Report(noAccount)
		f.expect("each as it finds it", "1 slow 1 closed ")
	})
}

// TestOwnTroubleIsNotShared: a worker that cannot store results, or cannot read its key, has no trouble that others have too. It
// probes by itself, and word that the backend is open elsewhere opens nothing here.
func TestOwnTroubleIsNotShared(t *testing.T) {
	for _, cause := range []string{causeStore, engine.CauseNoCredential} {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, 2)
			defer f.end()
			f.workers[0].gate.Close(cause, time.Now().Add(10*time.Second))
			f.expect("one has trouble", "1 open 1 closed ")
			f.workers[1].gate.Report(capacity.Outcome{Kind: capacity.Unavailable, RetryAfter: time.Second, Cause: "503"})
			f.expect("the other too", "2 closed ")
			time.Sleep(time.Second)
			f.workers[1].gate.Report(answered)
			f.expect("the other's is over", "1 slow 1 closed ")
			time.Sleep(9 * time.Second)
			f.expect("its time is over", "1 slow 1 probing ")
			f.workers[0].gate.Close(cause, time.Now().Add(10*time.Second))
			f.workers[1].gate.Report(noAccount)
			if s := f.workers[0].gate.State(); s.Phase != capacity.Closed {
				t.Errorf("%+v", s)
			}
			f.rest()
			time.Sleep(10 * time.Second)
			if s := f.workers[0].gate.State(); s.Phase != capacity.Closed || s.Cause != "401" {
				t.Errorf("%s, and then its backend is refused: %+v", cause, s)
			}
		})
	}
}
