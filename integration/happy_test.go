package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"emend/schemas"
	"emend/subjects"
)

func TestPublishedRunIsStoredToldAndAcked(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("one", body("rate", "fine"))
	m := s.stored(s.names.ResultsStream(), s.names.Result("default", "one"))
	r := s.decode(m.Data())
	if r.Status != schemas.StatusSucceeded || string(r.Output) != `{"score":1}` || r.Counts.Calls != 1 || r.Source.Prompt != "rate@1" {
		t.Errorf("result %s", m.Data())
	}
	h := m.Headers()
	if h.Get(subjects.HeaderStatus) != "succeeded" || h.Get(subjects.HeaderRun) != "one" || h.Get(subjects.HeaderPrompt) != "rate@1" || h.Get(subjects.HeaderBackend) != "mock" {
		t.Errorf("headers %v", h)
	}
	events := s.events("default", "one")
	if got := kinds(events); got != "started attempt_started attempt validation finished" {
		t.Errorf("events %s", got)
	}
	for i, e := range events {
		if e.Seq != i+1 || e.Delivery != 1 || e.RunID != "one" || e.Worker != r.Source.Worker {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if end := events[len(events)-1]; end.Outcome != "succeeded" || end.Totals == nil || end.Totals.Counts.Calls != 1 || *end.Totals.Usage.Input != 10 {
		t.Errorf("finished %+v", end)
	}
	s.goneID("one")
	s.calls(1)
}

func TestAskAnswersWithTheResult(t *testing.T) {
	t.Parallel()
	s := start(t)
	m := s.request(s.names.Ask("mock", "default"), body("rate", "fine"))
	r := s.decode(m.Data)
	if r.Status != schemas.StatusSucceeded || m.Header.Get(subjects.HeaderStatus) != "succeeded" || !subjects.ValidID(r.ID) {
		t.Errorf("%s %v", m.Data, m.Header)
	}
	if stored := s.stored(s.names.ResultsStream(), s.names.Result("default", r.ID)).Data(); !bytes.Equal(stored, m.Data) {
		t.Errorf("the reply differs from the stored result:\n%s\n%s", m.Data, stored)
	}
}

func TestSubmitThenGet(t *testing.T) {
	t.Parallel()
	s := start(t)
	var sub schemas.Submitted
	s.must(json.Unmarshal(s.request(s.names.Submit("mock", "default"), body("say", holdMark)).Data, &sub))
	if sub.Queue != "default" || sub.Seq == 0 || !subjects.ValidID(sub.ID) {
		t.Fatalf("%+v", sub)
	}
	receive(s, "the call arrives", s.mock.arrived)
	if p := s.progress(sub.ID); p.State != schemas.StateRunning {
		t.Errorf("while it runs: %+v", p)
	}
	s.mock.release()
	s.ends(sub.ID, schemas.StatusSucceeded)
	m := s.request(s.names.Get(), fmt.Sprintf(`{"queue": "default", "id": %q}`, sub.ID))
	if r := s.decode(m.Data); r.Status != schemas.StatusSucceeded || r.ID != sub.ID {
		t.Errorf("%s", m.Data)
	}
	if p := s.progress("never-heard-of"); p.State != schemas.StateNotFound {
		t.Errorf("%+v", p)
	}
}

func TestReplyToGetsTheStoredResult(t *testing.T) {
	t.Parallel()
	s := start(t)
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "copy"), body("rate", "fine"), inbox))
	_, raw := s.reply(sub)
	if stored := s.stored(s.names.ResultsStream(), s.names.Result("default", "copy")).Data(); !bytes.Equal(stored, raw) {
		t.Errorf("reply %s\nstored %s", raw, stored)
	}
}

func TestTransientStatusIsRetried(t *testing.T) {
	t.Parallel()
	s := start(t, "transient_retries: 0", "transient_retries: 2")
	s.publish("busy", body("rate", "BUSY-ONCE"))
	r := s.ends("busy", schemas.StatusSucceeded)
	if r.Counts.Calls != 2 || r.Counts.Retries != 1 || r.Counts.Repairs != 0 || r.Attempts[0].Status != 429 {
		t.Errorf("%+v %+v", r.Counts, r.Attempts)
	}
	if got := kinds(s.events("default", "busy")); got != "started attempt_started attempt retry attempt_started attempt validation finished" {
		t.Errorf("events %s", got)
	}
}

func TestInvalidAnswerIsRepaired(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("mend", body("rate", "MEND-ME"))
	r := s.ends("mend", schemas.StatusSucceeded)
	if r.Counts.Calls != 2 || r.Counts.Repairs != 1 || !r.Validation.Valid || r.Validation.RepairAttempts != 1 {
		t.Errorf("%+v %+v", r.Counts, r.Validation)
	}
	if got := kinds(s.events("default", "mend")); got != "started attempt_started attempt validation repair attempt_started attempt validation finished" {
		t.Errorf("events %s", got)
	}
}

func TestExhaustedRepairIsAnInvalidResultNotAnError(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("never", body("rate", "NEVER-RIGHT"))
	r := s.ends("never", schemas.StatusInvalid)
	if r.Error != nil || r.Validation.Valid || len(r.Validation.Findings) != 1 || r.Validation.Findings[0].Pointer != "/score" || string(r.Output) != `{"score":"one"}` {
		t.Errorf("%+v %+v output %s", r.Error, r.Validation, r.Output)
	}
	s.goneID("never")
	if n := s.count(s.names.DeadStream()); n != 0 {
		t.Errorf("%d dead letters", n)
	}
	s.calls(2)
}

func TestQueuesAndProfilesAreSeparate(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("same", `{"profile": "slow", "messages": [{"role": "user", "content": "a"}]}`)
	s.must(s.tryPublish(s.names.Run("mock", "team-a", "same"), body("say", "b"), ""))
	s.must(s.tryPublish(s.names.Run("other", "default", "away"), `{"prompt": "away"}`, ""))
	if r := s.ends("same", schemas.StatusSucceeded); r.Source.Profile != "slow" || r.Source.Model != "large" || r.Source.Backend != "mock" {
		t.Errorf("%+v", r.Source)
	}
	r := s.decode(s.stored(s.names.ResultsStream(), s.names.Result("team-a", "same")).Data())
	if r.Queue != "team-a" || r.Source.Model != "small" {
		t.Errorf("%+v", r)
	}
	if r := s.ends("away", schemas.StatusSucceeded); r.Source.Backend != "other" || r.Source.Profile != "elsewhere" {
		t.Errorf("%+v", r.Source)
	}
	if m := s.mock.scripted.Stats().ByModel; m["large"] != 1 || m["small"] != 2 {
		t.Errorf("models %v", m)
	}
}

func TestQueueAllowListIsKept(t *testing.T) {
	t.Parallel()
	s := start(t)
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "team-a", "no"), `{"messages": [{"role": "user", "content": "a"}], "profile": "slow"}`, inbox))
	if r, _ := s.reply(sub); r.Status != schemas.StatusFailed || r.Error.Category != schemas.CategoryInvalidRequest {
		t.Errorf("%+v", r)
	}
	s.gone(s.names.Run("mock", "team-a", "no"))
	s.calls(0)
}

func TestTwoWorkersShareRunsEachSettledOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.worker()
	const runs = 200
	next := s.reader(s.names.ResultsStream(), s.names.AllResults())
	for i := range runs {
		s.publish(fmt.Sprintf("r%d", i), body("rate", fmt.Sprint("text ", i)))
	}
	seen, by := map[string]int{}, map[string]int{}
	for range runs {
		r := s.decode(next().Data())
		seen[r.ID]++
		by[r.Source.Worker]++
		if r.Status != schemas.StatusSucceeded {
			t.Errorf("%s: %s", r.ID, r.Status)
		}
	}
	s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
	if n := s.count(s.names.ResultsStream()); len(seen) != runs || n != runs {
		t.Errorf("%d runs have results, %d results stored, want %d", len(seen), n, runs)
	}
	if len(by) != 2 {
		t.Errorf("the runs went to %v", by)
	}
	s.calls(runs)
}
