package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"emend/schemas"
)

// seeking is a place whose ledger has learned that its server answers.
func seeking(t *testing.T) (*place, *Ledger) {
	t.Helper()
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	t.Cleanup(l.Close)
	if l.learn(t.Context()); !l.seeks {
		t.Fatal("this server is taken for one that does not answer")
	}
	return p, l
}

// TestSeek: nothing is certain only where nothing is stored. A result is found all the same, a question is stored nowhere, and
// who subscribes to a queue's results gets results alone.
func TestSeek(t *testing.T) {
	p, l := seeking(t)
	sub, err := p.nc.SubscribeSync(p.names.ResultFilter(aKey.Queue))
	p.must(err)
	if !l.nothing(t.Context(), l.seek(aKey)) {
		t.Error("nothing is stored, and it is not certain")
	}
	p.settles(l, "a", p.result(aKey, "a", 7, schemas.StatusSucceeded, 0), 0, Stored)
	if l.nothing(t.Context(), l.seek(aKey)) {
		t.Error("the result is overlooked")
	}
	w, _, err := l.Find(t.Context(), aKey, 9, 1, l.seek(aKey))
	if err != nil || w.Result == nil || w.Result.Request.Seq != 7 {
		t.Errorf("found %+v, %v", w.Result, err)
	}
	if !l.nothing(t.Context(), l.seek(Key{Queue: aKey.Queue, ID: aKey.ID + "x"})) {
		t.Error("another run's result is taken for this one's")
	}
	info, err := l.results.Info(t.Context())
	if err != nil || info.State.Msgs != 1 {
		t.Errorf("the stream holds %d messages, %v", info.State.Msgs, err)
	}
	p.must(p.nc.Flush())
	if n, _, err := sub.Pending(); err != nil || n != 1 {
		t.Errorf("%d messages came to who wants results, %v", n, err)
	}
}

// TestSeekOfWhatIsGone: a result that was removed is nothing again.
func TestSeekOfWhatIsGone(t *testing.T) {
	p, l := seeking(t)
	seq := p.settles(l, "a", p.result(aKey, "a", 7, schemas.StatusFailed, 0), 0, Stored)
	p.must(l.results.DeleteMsg(t.Context(), seq))
	if !l.nothing(t.Context(), l.seek(aKey)) {
		t.Error("a removed result is still there")
	}
}

// TestPlainAck: only the usual form is read without a decoder, and it is read as a decoder would.
func TestPlainAck(t *testing.T) {
	for text, want := range map[string]uint64{
		`{"stream":"EMEND_RESULTS", "seq":7}`:        7,
		`{"stream":"S", "seq":123456789012345678}`:   123456789012345678,
		`{"stream":"S", "seq":0}`:                    0,
		`{"stream":"S","seq":7}`:                     7,
		`{"stream":"S", "seq":18446744073709551615}`: 18446744073709551615,
		`{"seq":7,"stream":"S"}`:                     7,
		`{"stream":"S", "seq":7, "duplicate":true}`:  7,
		`{"stream":"S", "seq":7,"domain":"hub"}`:     7,
	} {
		if got, err := acked(&nats.Msg{Data: []byte(text)}, nil); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{``, `{`, `{"stream":"S", "seq":}`, `{"stream":"S", "seq":-1}`, `{"stream":"S", "seq":1x}`, `{"stream":"", "seq":`, `{"seq":7}`} {
		if got, err := acked(&nats.Msg{Data: []byte(text)}, nil); err == nil {
			t.Errorf("%s: %d", text, got)
		}
	}
}

// What the server of today answers to a publish is read without a decoder: it is read for every run.
func TestTheServersAckIsPlain(t *testing.T) {
	p, l := seeking(t)
	asked, err := l.questions.send(&nats.Msg{Subject: l.names.Result(aKey.Queue, aKey.ID), Data: []byte("{}")})
	p.must(err)
	m, err := asked.wait(t.Context(), time.Minute)
	p.must(err)
	if seq, ok := plainAck(m.Data); !ok || seq != 1 {
		t.Errorf("%s is read as %d, %t", m.Data, seq, ok)
	}
}

// TestSeekIsNoAnswer: what is not the one answer is not certain, and then the API is asked.
func TestSeekIsNoAnswer(t *testing.T) {
	for what, answer := range map[string]string{
		"another code":     `{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"},"stream":"S"}`,
		"another sequence": `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 12"},"stream":"S"}`,
		"other words":      `{"error":{"code":400,"err_code":10071,"description":"sequence 0"},"stream":"S"}`,
		"stored":           `{"stream":"S","seq":3}`,
		"no JSON":          `wrong last sequence: 0`,
		"nothing":          ``,
	} {
		t.Run(what, func(t *testing.T) {
			p := newPlace(t)
			l := &Ledger{names: p.names, questions: newQuestions(p.nc), seeks: true}
			defer l.Close()
			_, err := p.nc.Subscribe(p.names.Seek(), func(m *nats.Msg) { _ = m.Respond([]byte(answer)) })
			p.must(err)
			if l.nothing(t.Context(), l.seek(aKey)) {
				t.Errorf("%s is taken for nothing", answer)
			}
		})
	}
}

// TestLearn: only a server that knows the header is asked so; one that would not understand could say nothing of every run.
func TestLearn(t *testing.T) {
	for what, c := range map[string]struct {
		answer string
		want   bool
	}{
		"a server that knows": {`{"error":{"code":400,"err_code":10193,"description":"missing sequence"},"stream":"S"}`, true},
		"an older one":        {`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 0"},"stream":"S"}`, false},
		"one that stores it":  {`{"stream":"S","seq":3}`, false},
	} {
		t.Run(what, func(t *testing.T) {
			p := newPlace(t)
			l := &Ledger{names: p.names, questions: newQuestions(p.nc)}
			defer l.Close()
			if l.learn(t.Context()); l.seeks || l.seek(aKey) != nil {
				t.Error("learned from nobody")
			}
			_, err := p.nc.Subscribe(p.names.Seek(), func(m *nats.Msg) { _ = m.Respond([]byte(c.answer)) })
			p.must(err)
			if l.learn(t.Context()); l.seeks != c.want {
				t.Errorf("learned %v", l.seeks)
			}
		})
	}
}

// TestQuestions: answers find their questions in any order, a second one and a late one find nobody.
func TestQuestions(t *testing.T) {
	p := newPlace(t)
	q := newQuestions(p.nc)
	defer q.close()
	asked := make(chan *nats.Msg, 3)
	_, err := p.nc.ChanSubscribe("ask", asked)
	p.must(err)
	var all []*question
	for _, body := range []string{"1", "2", "3"} {
		k, err := q.send(&nats.Msg{Subject: "ask", Data: []byte(body)})
		p.must(err)
		all = append(all, k)
	}
	got := []*nats.Msg{receive(t, "1", asked), receive(t, "2", asked), receive(t, "3", asked)}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := all[1].wait(ended, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, i := range []int{1, 2, 2, 0} {
		p.must(got[i].Respond(got[i].Data))
	}
	for _, i := range []int{0, 2} {
		if m, err := all[i].wait(t.Context(), time.Hour); err != nil || string(m.Data) != string(got[i].Data) {
			t.Errorf("%d: %v, %v", i, m, err)
		}
	}
	if q.mu.Lock(); len(q.open) != 0 {
		t.Errorf("remembered: %v", q.open)
	}
	q.mu.Unlock()
}

// TestQuestionsAreUsedAgain: one that was answered asks anew under another name, and what comes late for the old one finds nobody.
func TestQuestionsAreUsedAgain(t *testing.T) {
	p := newPlace(t)
	q := newQuestions(p.nc)
	defer q.close()
	asked := make(chan *nats.Msg, 1)
	_, err := p.nc.ChanSubscribe("ask", asked)
	p.must(err)
	var before *nats.Msg
	for _, body := range []string{"1", "2", "3"} {
		k, err := q.send(&nats.Msg{Subject: "ask", Data: []byte(body)})
		p.must(err)
		got := receive(t, body, asked)
		if before != nil {
			p.must(before.Respond([]byte("late")))
		}
		p.must(got.Respond(got.Data))
		if m, err := k.wait(t.Context(), time.Hour); err != nil || string(m.Data) != body {
			t.Errorf("%s: %v, %v", body, m, err)
		}
		if before != nil && before.Reply == got.Reply {
			t.Error("two questions have one name")
		}
		before = got
	}
}

// TestQuestionsWithoutAnswer: no responder is told at once, silence after the time that was given.
func TestQuestionsWithoutAnswer(t *testing.T) {
	p := newPlace(t)
	q := newQuestions(p.nc)
	defer q.close()
	k, err := q.send(&nats.Msg{Subject: "nobody"})
	p.must(err)
	if _, err := acked(k.wait(t.Context(), time.Hour)); !errors.Is(err, nats.ErrNoResponders) {
		t.Error(err)
	}
	_, err = p.nc.SubscribeSync("deaf")
	p.must(err)
	k, err = q.send(&nats.Msg{Subject: "deaf"})
	p.must(err)
	if _, err := k.wait(t.Context(), 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	p.nc.Close()
	if _, err := q.send(&nats.Msg{Subject: "closed"}); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Error(err)
	}
}
