package consumer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/schemas"
	"emend/subjects"
)

// bucketed is reuse of a queue, with its bucket.
func bucketed(p *place) (*reuse, jetstream.KeyValue) {
	p.Helper()
	cfg := config()
	cfg.Pipelines = []string{"digest"}
	p.set(cfg, 0)
	kv, err := p.js.KeyValue(p.Context(), p.names.ReuseBucket())
	p.must(err)
	return &reuse{nc: p.nc, js: p.js, names: p.names, queue: "default", reads: true, puts: true}, kv
}

func (p *place) putAll(r *reuse, digests ...string) {
	p.Helper()
	for _, d := range digests {
		p.must(r.put(d, json.RawMessage(fmt.Sprintf(`{"of":%q}`, d))))
	}
	p.must(r.flush(p.Context()))
}

// What was put is there when flush returns, and is found by one question; what is gone, of another version or no entry is not.
func TestKeptOutputsAreFoundTogether(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r, kv := bucketed(p)
	if found, err := r.some(t.Context(), []string{"a"}); len(found) != 0 || err != nil {
		t.Errorf("an empty bucket: %v %v", found, err)
	}
	var digests []string
	for i := range 600 {
		digests = append(digests, fmt.Sprintf("d%d", i))
	}
	p.putAll(r, digests...)
	if s, err := kv.Status(t.Context()); err != nil || s.Values() != 600 {
		t.Fatalf("%v values are kept when flush returns, %v", s, err)
	}
	p.must(kv.Delete(t.Context(), "default.d1"))
	for key, text := range map[string]string{"default.d2": `{"v":9,"output":1}`, "default.d3": `{`, "default.d4": `{"v":1}`, "team-a.other": `{"v":1,"output":1}`} {
		_, err := kv.PutString(t.Context(), key, text)
		p.must(err)
	}
	found, err := r.some(t.Context(), append(digests[:200:200], "other", "nothing"))
	if err != nil || len(found) != 196 || string(found["d0"]) != `{"of":"d0"}` || string(found["d199"]) != `{"of":"d199"}` {
		t.Errorf("%d found, %v", len(found), err)
	}
	for _, gone := range []string{"d1", "d2", "d3", "d4", "other", "nothing"} {
		if found[gone] != nil {
			t.Errorf("%s is found", gone)
		}
	}
}

// What one queue's runs have kept is not another's to take.
func TestOutputsAreKeptForTheirQueueAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r, _ := bucketed(p)
	others := *r
	others.queue = "team-a"
	p.putAll(&others, "d")
	mine, err := r.some(t.Context(), []string{"d"})
	p.must(err)
	theirs, err := others.some(t.Context(), []string{"d"})
	if err != nil || len(mine) != 0 || string(theirs["d"]) != `{"of":"d"}` {
		t.Errorf("%v, %s, %s", err, mine, theirs)
	}
}

// Without puts nothing is kept, and what is larger than a message is passed over.
func TestOutputsThatAreNotKept(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r, kv := bucketed(p)
	r.puts = false
	p.putAll(r, "none")
	r.puts = true
	large, err := schemas.Marshal(strings.Repeat("x", int(p.nc.MaxPayload())))
	p.must(err)
	p.putAll(r, "before")
	p.must(r.put("large", large))
	p.putAll(r, "after")
	if s, err := kv.Status(t.Context()); err != nil || s.Values() != 2 {
		t.Errorf("%v, %v", s, err)
	}
}

// In a JetStream domain outputs are kept and found as elsewhere.
func TestKeptOutputsInADomain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(o *server.Options) { o.JetStreamDomain = "hub" })
	r, _ := bucketed(p)
	var err error
	r.domain = "hub"
	r.js, err = prefixed(p.nc, p.names, r.domain)
	p.must(err)
	p.putAll(r, "a", "b")
	if found, err := r.some(t.Context(), []string{"a", "b", "c"}); len(found) != 2 || err != nil {
		t.Errorf("%v %v", found, err)
	}
}

// answering is a bucket whose server gives one entry of what is asked for at a time, as one does that bounds its answers.
func answering(p *place, r *reuse, asked *int) {
	p.Helper()
	const domain = "bounded"
	var err error
	r.js, err = prefixed(p.nc, p.names, domain)
	p.must(err)
	_, err = p.nc.Subscribe(p.names.API(domain)+"DIRECT.GET."+kvStream(p.names.ReuseBucket()), func(m *nats.Msg) {
		*asked++
		var q struct {
			For []string `json:"multi_last"`
		}
		_ = json.Unmarshal(m.Data, &q)
		_ = p.nc.PublishMsg(&nats.Msg{Subject: m.Reply, Data: []byte(`{"v":1,"output":"there"}`), Header: nats.Header{jetstream.StreamHeader: {"s"}, jetstream.SequenceHeader: {"1"},
			jetstream.SubjectHeader: {q.For[0]}, jetstream.TimeStampHeaer: {"2026-01-02T03:04:05Z"}, subjects.HeaderNumPending: {fmt.Sprint(len(q.For) - 1)}}})
		_ = p.nc.PublishMsg(&nats.Msg{Subject: m.Reply, Header: nats.Header{"Status": {"204"}, "Description": {"EOB"}}})
	})
	p.must(err)
}

// An answer that the server bounds is asked for on.
func TestKeptOutputsBeyondOneAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r, _ := bucketed(p)
	asked := 0
	answering(p, r, &asked)
	found, err := r.some(t.Context(), []string{"a", "b", "c", "d"})
	if len(found) != 4 || err != nil || asked != 4 {
		t.Errorf("%v %v after %d questions", found, err, asked)
	}
}

// Where kept outputs cannot be read, jobs are run, and are not looked for again; what is found ends its job without a run.
func TestFindingGoesOnWithJobs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := coordinated(p)
	c.reuse, _ = bucketed(p)
	p.putAll(c.reuse, "kept")
	kept, missing := c.testJob(1, "mock", "one"), c.testJob(2, "mock", "two")
	kept.reuse, missing.reuse = "kept", "missing"
	c.reuse.waiting = []*child{kept, missing}
	c.find()
	c.find() // one question at a time
	p.must(c.next(t))
	if len(c.ready) != 1 || c.ready[0].Job != kept.job || !c.ready[0].Outcome.Reused || kept.published || !missing.published || c.reuse.asking {
		t.Errorf("%+v, %+v, %+v", c.ready, kept, missing)
	}
	abandoned, last := c.testJob(3, "mock", "three"), c.testJob(4, "mock", "four")
	delete(c.jobs, abandoned.job)
	if err := c.found([]*child{abandoned, last}, nil, context.DeadlineExceeded); err != nil || abandoned.published || !last.published || c.reuse.reads {
		t.Errorf("%v, %+v, %+v", err, abandoned, last)
	}
	for c.unconfirmed > 0 {
		p.must(c.next(t))
	}
	if !last.sent || !missing.sent {
		t.Errorf("%+v %+v", last, missing)
	}
}
