package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// hostile makes the messages of an enemy who may publish into one queue.
type hostile struct {
	*rand.Rand
	bodies []string
}

func newHostile(seed uint64) *hostile {
	h := &hostile{Rand: rand.New(rand.NewPCG(seed, 5))}
	for _, c := range malformed {
		h.bodies = append(h.bodies, c.body)
	}
	h.bodies = append(h.bodies, body("say", "a"), body("rate", "fine"), body("rate", "MEND-ME"), body("rate", "NEVER-RIGHT"), body("rate", "BAD-REQUEST"),
		body("any-json", "BIG-NUMBER"), body("nobody", "x"), inline(""), inline(`, "append_messages": [{"role": "user", "content": "more"}]`),
		inline(`, "deadline": "2001-01-01T00:00:00Z"`), inline(`, "timeout_s": 0.001`), output(`{"type": "object"}`), output(`{"$ref": "#"}`),
		`{"prompt": "say", "inputs": {"text": {"$blob": "sha256:00"}}}`, inline(`, "stage": {"pipeline": "p@1"}`))
	return h
}

func pick[T any](h *hostile, from ...T) T { return from[h.IntN(len(from))] }

// body is a request, often a broken one: cut, with bytes changed, doubled, or noise.
func (h *hostile) body() string {
	b := []byte(pick(h, h.bodies...))
	switch h.IntN(6) {
	case 0:
		b = b[:h.IntN(len(b)+1)]
	case 1:
		for range 1 + h.IntN(8) {
			if len(b) > 0 {
				b[h.IntN(len(b))] = byte(h.Uint32())
			}
		}
	case 2:
		at := h.IntN(len(b) + 1)
		b = append(b[:at:at], b...)
	case 3:
		b = make([]byte, h.IntN(300))
		for i := range b {
			b[i] = byte(h.Uint32())
		}
	}
	// Nothing may look like a mark that has the mock wait.
	return strings.NewReplacer(holdMark, "hold", pauseMark, "pause").Replace(string(b))
}

// steer adds headers that steer the server, or Emend, and answer subjects that are not the enemy's.
func (h *hostile) steer(n subjects.Names, header nats.Header) {
	foreign := []string{n.Result("default", "victim"), n.Dead("default", "victim"), n.Run("mock", "team-a", "forged"), n.Event("default", "victim", "finished"),
		n.Control("default", "victim"), "$JS.API.STREAM.DELETE." + n.RunsStream(), "$JS.API.STREAM.PURGE." + n.ResultsStream(), "$KV." + n.StateBucket() + ".default.victim",
		"$SYS.REQ.SERVER.PING", "victim", "victim.>", "_INBOX.>", "_INBOX.*", "_INBOX", "", " ", "a b", "_INBOX.enemy." + strings.Repeat("x", 3000), "_INBOX.enemy.mine"}
	values := append([]string{"sub", "all", "0", "1", "-1", "99999999999999999999", "1s", "never", "@at 2001-01-01T00:00:00Z", "@every 1s", "* * * * * *", "true", "\xff", "x"}, foreign...)
	names := []string{"Nats-Rollup", "Nats-Schedule", "Nats-Schedule-Target", "Nats-Schedule-Source", "Nats-Schedule-TTL", "Nats-TTL", "Nats-Expected-Stream",
		"Nats-Expected-Last-Sequence", "Nats-Expected-Last-Subject-Sequence", "Nats-Expected-Last-Subject-Sequence-Subject", "Nats-Expected-Last-Msg-Id", "Nats-Msg-Id",
		"Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit", "Nats-Incr", "Nats-Marker-Reason", "Nats-Stream-Source", "Nats-Sequence", "Nats-Subject", "Nats-Last-Sequence",
		"Nats-Pending-Messages", "KV-Operation", "Status", "Description", "status", subjects.HeaderStatus, subjects.HeaderRun, subjects.HeaderReason, subjects.HeaderRequest,
		subjects.HeaderReplied, subjects.HeaderSubject, subjects.HeaderTraceparent, "X-" + strings.Repeat("y", 500)}
	for range h.IntN(4) {
		header.Set(pick(h, names...), pick(h, values...))
	}
	if h.IntN(3) == 0 {
		header.Set(subjects.HeaderReplyTo, pick(h, foreign...))
	}
}

// assault is what was sent and what the server took of it.
type assault struct {
	*site
	mu sync.Mutex
	// accepted are the ids of stored requests, sent all.
	accepted, sent map[string]bool
	// strays are messages where none may be.
	strays []string
}

// attack sends n messages from several connections and notes which the server has taken.
func (a *assault) attack(seed uint64, n int) {
	a.Helper()
	const attackers = 8
	var all sync.WaitGroup
	errs := make(chan error, attackers)
	for i := range uint64(attackers) {
		all.Go(func() { errs <- a.send(newHostile(seed*attackers+i), fmt.Sprintf("e%d-%d", seed, i), n/attackers) })
	}
	all.Wait()
	for range attackers {
		a.must(<-errs)
	}
}

func (a *assault) send(h *hostile, prefix string, n int) error {
	for i := range n {
		id := fmt.Sprintf("%s-%d", prefix, i)
		m := nats.NewMsg(a.names.Run("mock", "default", id))
		m.Data = []byte(h.body())
		h.steer(a.names, m.Header)
		a.mu.Lock()
		a.sent[id] = true
		a.mu.Unlock()
		answer, err := a.nc.RequestMsg(m, patience)
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrMaxPayload) {
			continue
		}
		if err != nil {
			return fmt.Errorf("publish %v: %w", m.Header, err)
		}
		var ack struct {
			Error     *struct{ Description string }
			Seq       uint64
			Duplicate bool
		}
		if err := json.Unmarshal(answer.Data, &ack); err != nil {
			return fmt.Errorf("publish: %w: %.200q", err, answer.Data)
		}
		if ack.Error == nil && ack.Seq > 0 && !ack.Duplicate {
			a.mu.Lock()
			a.accepted[id] = true
			a.mu.Unlock()
		}
	}
	return nil
}

// watch notes every message of the account on a subject where none of these requests' may be.
func (a *assault) watch() {
	a.Helper()
	_, err := a.nc.Subscribe(">", func(m *nats.Msg) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.expected(m.Subject) {
			a.strays = append(a.strays, m.Subject)
		}
	})
	a.must(err)
	a.must(a.nc.Flush())
}

// expected says whether a message may be on a subject. The caller holds mu.
func (a *assault) expected(subject string) bool {
	for _, prefix := range []string{"_INBOX.", "$JS.ACK.", "$JS.API.CONSUMER.", "$JS.API.STREAM.", "$JS.EVENT.", "$KV." + a.names.StateBucket() + ".default.e", "$O.", "$SRV."} {
		if strings.HasPrefix(subject, prefix) {
			return !strings.HasPrefix(subject, "$JS.API.STREAM.DELETE") && !strings.HasPrefix(subject, "$JS.API.STREAM.PURGE")
		}
	}
	if subject == a.names.Seek() {
		return true // a question to the stream of results, which stores nothing
	}
	tokens := strings.Split(subject, ".")
	if len(tokens) < 4 || tokens[0] != a.names.Space() {
		return false
	}
	switch tokens[1] {
	case "run":
		return len(tokens) == 5 && a.sent[tokens[4]]
	case "result", "dead", "event":
		return tokens[2] == "default" && a.sent[tokens[3]]
	}
	return false
}

// allEnd checks that every accepted request came to one end: a stored result, or a dead letter.
func (a *assault) allEnd() {
	a.Helper()
	a.eventually("the work queue is empty", func() bool { return a.count(a.names.RunsStream()) == 0 })
	results, letters := a.lasts(a.names.ResultsStream(), a.names.Result("default", "*")), a.lasts(a.names.DeadStream(), a.names.Dead("default", "*"))
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.accepted {
		result, letter := results[a.names.Result("default", id)], letters[a.names.Dead("default", id)]
		if result == 0 && letter == 0 {
			a.Errorf("%s has neither a result nor a dead letter", id)
		}
		if result > 1 || letter > 1 {
			a.Errorf("%s has %d results and %d dead letters", id, result, letter)
		}
	}
	for subject := range results {
		if id := subject[strings.LastIndexByte(subject, '.')+1:]; !a.accepted[id] {
			a.Errorf("a result of %s, which was not accepted", id)
		}
	}
	if len(a.strays) > 0 {
		a.Errorf("%d messages where none may be, such as %v", len(a.strays), a.strays[:min(5, len(a.strays))])
	}
}

// lasts counts a stream's messages by subject.
func (s *site) lasts(stream, filter string) map[string]uint64 {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	str, err := s.js.Stream(ctx, stream)
	s.must(err)
	info, err := str.Info(ctx, jetstream.WithSubjectFilter(filter))
	s.must(err)
	return info.State.Subjects
}

// storm attacks a site with one worker and checks that all is as if nothing had been.
func storm(t *testing.T, seed uint64, n int) {
	s := newSite(t, devnats.Options{})
	w := s.worker()
	a := &assault{site: s, accepted: map[string]bool{}, sent: map[string]bool{}}
	a.watch()
	a.attack(seed, n)
	a.allEnd()
	if len(a.accepted) < n/4 || len(a.accepted) > n {
		t.Errorf("%d of %d requests were accepted", len(a.accepted), n)
	}
	select {
	case <-w.done:
		t.Fatalf("the worker ended: %v", w.err)
	default:
	}
	a.mu.Lock()
	a.sent["after"] = true
	a.mu.Unlock()
	s.publish("after", body("rate", "fine"))
	s.ends("after", schemas.StatusSucceeded)
}

// TestHostileRequestsAtVolume: thousands of broken bodies with headers that steer the server or name others' subjects go through a
// live worker. Each that the stream takes comes to one end, nothing is written where it may not be, and the worker goes on.
func TestHostileRequestsAtVolume(t *testing.T) {
	t.Parallel()
	storm(t, 1, 2400)
}

// FuzzHostileRequests is the same with other seeds, a few messages each.
func FuzzHostileRequests(f *testing.F) {
	f.Add(uint64(2))
	f.Fuzz(func(t *testing.T, seed uint64) { storm(t, seed, 160) })
}
