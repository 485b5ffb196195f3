package integration

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"emend/consumer"
	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// reviewing is a site whose prompt gov@1 escalates to people.
func reviewing(t *testing.T) *site {
	t.Helper()
	s := newSite(t, devnats.Options{}, "log: {level: debug}", "log: {level: debug}\nescalation: {sink: review}")
	s.write("prompts/gov@1.yaml", strings.Replace(files["prompts/rate@1.yaml"], "repair_attempts: 1", "repair_attempts: 1, on_exhausted: escalate", 1))
	s.worker()
	return s
}

// waits publishes a run that no correction helps, and returns when it waits for a person.
func (s *site) waits(id string) *nats.Subscription {
	s.Helper()
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", id), body("gov", "NEVER-RIGHT"), inbox))
	ctx, cancel := s.within()
	defer cancel()
	m, err := sub.NextMsgWithContext(ctx)
	s.must(err)
	var p schemas.Progress
	if s.must(json.Unmarshal(m.Data, &p)); p.State != schemas.StateInReview || p.ID != id || m.Header.Get(subjects.HeaderStatus) != schemas.StateInReview {
		s.Fatalf("the interim reply is %s %v", m.Data, m.Header)
	}
	s.goneID(id)
	return sub
}

func (s *site) decision(d schemas.Decision) (*schemas.Result, error) {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	return s.client().Decide(ctx, "default", d)
}

func (s *site) list() []schemas.ReviewEntry {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	l, err := s.client().Reviews(ctx, "default", schemas.ReviewQuery{})
	s.must(err)
	return l.Reviews
}

func TestAPersonDecidesUponARun(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	for _, c := range []struct {
		d      schemas.Decision
		status string
		output string
		valid  bool
	}{
		{schemas.Decision{ID: "a", Decision: schemas.DecisionApprove}, schemas.StatusSucceeded, `{"score":"one"}`, false},
		{schemas.Decision{ID: "r", Decision: schemas.DecisionReject, Note: "no"}, schemas.StatusInvalid, `{"score":"one"}`, false},
		{schemas.Decision{ID: "e", Decision: schemas.DecisionEdit, Output: json.RawMessage(`{"score": 3}`)}, schemas.StatusSucceeded, `{"score":3}`, true},
	} {
		sub := s.waits(c.d.ID)
		if p := s.progress(c.d.ID); p.State != schemas.StateInReview || p.Cause != "schema_invalid" {
			t.Errorf("get: %+v", p)
		}
		c.d.By = "ada"
		r, err := s.decision(c.d)
		s.must(err)
		stored, raw := s.reply(sub)
		if r.Status != c.status || string(r.Output) != c.output || r.Validation.Valid != c.valid || r.Review == nil || r.Review.By != "ada" || r.Review.Decision != c.d.Decision || r.Review.Note != c.d.Note {
			t.Errorf("%s: %s", c.d.Decision, raw)
		}
		if stored.Status != r.Status || r.Counts.Calls != 2 || r.Request.Delivery != 1 || r.Request.Seq == 0 || stored.Usage.Calls != 2 {
			t.Errorf("%s: the reply is %s", c.d.Decision, raw)
		}
		if got := kinds(s.events("default", c.d.ID)); got != "started attempt_started attempt validation repair attempt_started attempt validation escalated finished" {
			t.Errorf("events %s", got)
		}
	}
	if n := s.count(s.names.ReviewsStream()); n != 0 || len(s.list()) != 0 {
		t.Errorf("%d entries are left", n)
	}
	s.calls(6)
}

func TestAReviewShowsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	s.waits("first")
	s.waits("second")
	l := s.list()
	if len(l) != 2 || l[0].ID != "first" || l[1].ID != "second" || l[0].Class != "schema_invalid" || l[0].Findings != 1 || l[0].Prompt != "gov@1" || l[0].Seq == 0 {
		t.Fatalf("%+v", l)
	}
	ctx, cancel := s.within()
	defer cancel()
	d, err := s.client().Review(ctx, s.key("first"))
	s.must(err)
	if d.Candidate != `{"score": "one"}` || d.Mode != schemas.ModeJSONSchema || len(d.Messages) != 2 || d.Messages[1].Content != "NEVER-RIGHT" || len(d.Verdict.Findings) != 1 || d.Seq != l[0].Seq {
		t.Errorf("%+v", d)
	}
	more, err := s.client().Reviews(ctx, "default", schemas.ReviewQuery{Limit: 1})
	s.must(err)
	rest, err := s.client().Reviews(ctx, "default", schemas.ReviewQuery{After: more.Reviews[0].Seq})
	if s.must(err); len(more.Reviews) != 1 || !more.More || len(rest.Reviews) != 1 || rest.More || rest.Reviews[0].ID != "second" {
		t.Errorf("%+v, then %+v", more, rest)
	}
}

// Bad decisions change nothing, and say what is wrong.
func TestWrongDecisions(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	s.waits("w")
	seq := s.list()[0].Seq
	for want, d := range map[string]schemas.Decision{
		"decision must be approve":     {ID: "w", Decision: "perhaps", By: "ada"},
		"by must name":                 {ID: "w", Decision: schemas.DecisionApprove},
		"an output belongs to an edit": {ID: "w", Decision: schemas.DecisionApprove, By: "ada", Output: json.RawMessage("1")},
		"an edit needs output":         {ID: "w", Decision: schemas.DecisionEdit, By: "ada"},
		"the edit breaks the contract": {ID: "w", Decision: schemas.DecisionEdit, By: "ada", Output: json.RawMessage(`{"score":"two"}`)},
		"edit with output":             {ID: "w", Decision: schemas.DecisionEdit, By: "ada", OutputText: new(string)},
		"has changed since you saw it": {ID: "w", Decision: schemas.DecisionApprove, By: "ada", Seq: seq + 1},
		"has no result either":         {ID: "nobody", Decision: schemas.DecisionApprove, By: "ada"},
		"note has 2049 bytes":          {ID: "w", Decision: schemas.DecisionApprove, By: "ada", Note: strings.Repeat("n", 2049)},
	} {
		if _, err := s.decision(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", d, err, want)
		}
	}
	if got := s.list(); len(got) != 1 || got[0].Seq != seq {
		t.Errorf("the entry is %+v", got)
	}
	s.request(s.names.Decide("default"), `{"id":"w","decison":"approve"}`)
	if _, err := s.decision(schemas.Decision{ID: "w", Decision: schemas.DecisionApprove, By: "ada", Seq: seq}); err != nil {
		t.Error(err)
	}
}

// Ten reviewers decide at once: one wins, the others hear who it was; one result is stored.
func TestTwoReviewersAtOnce(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	s.worker()
	s.waits("race")
	const reviewers = 10
	errs := make(chan error, reviewers)
	var wg sync.WaitGroup
	for i := range reviewers {
		wg.Go(func() {
			_, err := s.decision(schemas.Decision{ID: "race", Decision: []string{schemas.DecisionApprove, schemas.DecisionReject}[i%2], By: string(rune('a' + i))})
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	won := 0
	r := s.result("race")
	for err := range errs {
		switch {
		case err == nil:
			won++
		case !strings.Contains(err.Error(), "by "+r.Review.By):
			t.Errorf("a loser heard %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d reviewers won", won)
	}
	s.calls(2)
}

// A publish of the same content while the run waits calls no model; other content is a conflict.
func TestARedeliveryInReviewCallsNoModel(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	s.waits("again")
	s.waits("again")
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "again"), body("gov", "other"), inbox))
	if r, _ := s.reply(sub); r.Error == nil || r.Error.Category != schemas.CategoryIDConflict {
		t.Errorf("other content: %+v", r)
	}
	s.calls(2)
	if len(s.list()) != 1 {
		t.Errorf("%+v", s.list())
	}
	if _, err := s.decision(schemas.Decision{ID: "again", Decision: schemas.DecisionApprove, By: "ada"}); err != nil {
		t.Fatal(err)
	}
	s.goneID("again") // the refusal is told before its request is taken away
	inbox, sub = s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "again"), body("gov", "NEVER-RIGHT"), inbox))
	if r, _ := s.reply(sub); r.Status != schemas.StatusSucceeded || r.Review == nil {
		t.Errorf("after the decision: %+v", r)
	}
	s.calls(2)
}

func TestAskAndRunHearThatAPersonIsAsked(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	var p schemas.Progress
	s.must(json.Unmarshal(s.request(s.names.Ask("mock", "default"), body("gov", "NEVER-RIGHT")).Data, &p))
	if p.State != schemas.StateInReview || p.ID == "" {
		t.Errorf("%+v", p)
	}
	ctx, cancel := s.within()
	defer cancel()
	_, err := s.client().Run(ctx, "mock", s.key("cli"), []byte(body("gov", "NEVER-RIGHT")), nil)
	if waits, ok := errors.AsType[*consumer.InReviewError](err); !ok || waits.Progress.ID != "cli" {
		t.Errorf("%v", err)
	}
}

func TestCancelOfARunInReview(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	sub := s.waits("c")
	if r := s.cancelRun("c"); !r.Cancelled {
		t.Errorf("%+v", r)
	}
	if r, _ := s.reply(sub); r.Status != schemas.StatusCancelled || r.Counts.Calls != 2 {
		t.Errorf("%+v", r)
	}
	if _, err := s.decision(schemas.Decision{ID: "c", Decision: schemas.DecisionApprove, By: "ada"}); err == nil || !strings.Contains(err.Error(), "ended as cancelled") {
		t.Errorf("%v", err)
	}
}

// What nobody decides upon in time is settled by whichever worker looks first: never forgotten.
func TestAnOverdueReviewIsSettled(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, "log: {level: debug}", "log: {level: debug}\nescalation: {sink: review}\nkeep: {reviews: 1s}")
	s.write("prompts/gov@1.yaml", strings.Replace(files["prompts/rate@1.yaml"], "repair_attempts: 1", "repair_attempts: 1, on_exhausted: escalate", 1))
	w := s.worker()
	sub := s.waits("late")
	w.stop()
	since := s.last(s.names.ReviewsStream(), s.names.Review("default", "late")).Time
	s.eventually("the entry is overdue", func() bool { return time.Since(since) > 1100*time.Millisecond })
	s.worker()
	if r, _ := s.reply(sub); r.Status != schemas.StatusInvalid || !strings.Contains(strings.Join(r.Warnings, " "), "nobody decided") {
		t.Errorf("%+v", r)
	}
	s.calls(2)
}

// An entry that was left behind by a worker that died after the settle is no second chance.
func TestALeftoverIsTakenOut(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	s.waits("left")
	entry := s.last(s.names.ReviewsStream(), s.names.Review("default", "left"))
	if _, err := s.decision(schemas.Decision{ID: "left", Decision: schemas.DecisionApprove, By: "ada"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := s.within()
	defer cancel()
	if _, err := s.js.Publish(ctx, entry.Subject, entry.Data); err != nil {
		t.Fatal(err)
	}
	if _, err := s.decision(schemas.Decision{ID: "left", Decision: schemas.DecisionReject, By: "bob"}); err == nil || !strings.Contains(err.Error(), "by ada") {
		t.Errorf("%v", err)
	}
	if n := len(s.list()); n != 0 || s.count(s.names.ReviewsStream()) != 0 {
		t.Errorf("%d entries are listed", n)
	}
}

// Definitions that change while a run waits are another contract: an edit is not judged under it, nor is its conversation shown.
func TestDefinitionsThatChangeDuringAReview(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	s.waits("old")
	s.write("prompts/gov@2.yaml", "profile: fast\ninputs: {text: {}}\nmessages: [{user: 'Other: {{ .text }}'}]\noutput: {mode: json_schema, on_exhausted: escalate, schema: {type: object, properties: {score: {type: string}}}}\n")
	s.workers[0].stop()
	s.worker()
	ctx, cancel := s.within()
	defer cancel()
	d, err := s.client().Review(ctx, s.key("old"))
	if s.must(err); len(d.Messages) != 0 || d.Candidate == "" {
		t.Errorf("the conversation of other definitions is shown: %+v", d.Messages)
	}
	for _, output := range []string{`{"score":"three"}`, `{"score":3}`} {
		if _, err := s.decision(schemas.Decision{ID: "old", Decision: schemas.DecisionEdit, By: "ada", Output: json.RawMessage(output)}); err == nil || !strings.Contains(err.Error(), "the definitions have changed") {
			t.Errorf("%s: %v", output, err)
		}
	}
	r, err := s.decision(schemas.Decision{ID: "old", Decision: schemas.DecisionApprove, By: "ada"})
	if s.must(err); r.Status != schemas.StatusSucceeded || r.Source.Prompt != "gov@1" || r.Validation.Valid {
		t.Errorf("%+v", r)
	}
}

// A review whose result is larger than a message is decided all the same, and keeps no other from being settled.
func TestALargeReview(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{MaxPayload: 64 << 10}, "log: {level: debug}", "log: {level: debug}\nescalation: {sink: review}")
	s.mock.answers["LARGE"] = strings.Repeat("no json ", 33<<10/8)
	s.write("prompts/gov@1.yaml", "profile: fast\ninputs: {text: {}}\nmessages: [{user: '{{ .text }}'}]\noutput: {mode: json, on_exhausted: escalate, repair: {candidate: received_block}}\n")
	s.worker()
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "large"), body("gov", "LARGE"), inbox))
	ctx, cancel := s.within()
	defer cancel()
	_, err := sub.NextMsgWithContext(ctx)
	s.must(err)
	d, err := s.client().Review(ctx, s.key("large"))
	if s.must(err); len(d.Candidate) < 33<<10 {
		t.Errorf("the candidate has %d bytes", len(d.Candidate))
	}
	r, err := s.decision(schemas.Decision{ID: "large", Decision: schemas.DecisionReject, By: "ada"})
	if s.must(err); r.Status != schemas.StatusInvalid || r.OutputText == nil && r.OutputBlob == nil {
		t.Errorf("%+v", r)
	}
}

// An entry that nobody can read stands in nobody's way.
func TestAReviewThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	ctx, cancel := s.within()
	defer cancel()
	_, err := s.js.Publish(ctx, s.names.Review("default", "odd"), []byte("no review"))
	s.must(err)
	s.waits("after")
	if l := s.list(); len(l) != 1 || l[0].ID != "after" {
		t.Errorf("%+v", l)
	}
	if _, err := s.decision(schemas.Decision{ID: "odd", Decision: schemas.DecisionApprove, By: "ada"}); err == nil || !strings.Contains(err.Error(), "a form that this worker does not know") {
		t.Errorf("%v", err)
	}
}
