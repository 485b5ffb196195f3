package integration

import (
	"strings"
	"testing"

	"emend/internal/devnats"
	"emend/schemas"
)

// asks is a request for a prompt with a text that says how much its result tells.
func asks(prompt, text, word string) string {
	return strings.TrimSuffix(body(prompt, text), "}") + `, "attempts": "` + word + `"}`
}

// wrong is an answer that is no rating, right a very long one that is. A state holds the wrong one three times, which fits into a
// message of 32 KiB, and not once more. The call that corrects it is held.
var (
	wrong = `{"score": "` + holdMark + ` CANDIDATE ` + strings.Repeat("x", 8_500) + `"}`
	right = `{"score": 1` + strings.Repeat(" ", 12_000) + `}`
)

// narrow is a site with a bound of messages, whose model answers LARGE-FIRST with wrong, and a correction of it with right.
func narrow(t *testing.T, limit int32, replace ...string) *site {
	t.Helper()
	s := newSite(t, devnats.Options{MaxPayload: limit}, replace...)
	s.mock.answers["LARGE-FIRST"], s.mock.answers["Correction 1 of 1"] = wrong, right
	return s
}

// filled is a result with what stands apart from it.
func (s *site) filled(r *schemas.Result) *schemas.Result {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	s.must(s.client().Fill(ctx, r))
	return r
}

// tellsNobody: the texts of a run are in no log line and no event.
func (s *site) tellsNobody(id string) {
	s.Helper()
	for _, e := range s.events("default", id) {
		if raw, err := schemas.Marshal(e); err != nil || strings.Contains(string(raw), "CANDIDATE") {
			s.Errorf("%v, an event tells %.300s", err, raw)
		}
	}
	if strings.Contains(s.log.String(), "CANDIDATE") {
		s.Error("the log tells an answer")
	}
}

// The word decides what the result tells, and nothing else.
func TestAResultTellsItsAttemptsAsAskedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{})
	s.mock.answers["MEND-THIS"], s.mock.answers["Correction 1 of 1"] = `{"score": "one"}`, `{"score":1}`
	s.worker()
	var prompts, requests []string
	for _, word := range schemas.AttemptsWords {
		s.publish(word, asks("rate", "MEND-THIS", word))
		r := s.ends(word, schemas.StatusSucceeded)
		if r.Counts.Calls != 2 || r.Counts.Repairs != 1 || string(r.Output) != `{"score":1}` {
			t.Errorf("%s: %+v", word, r)
		}
		raw, err := schemas.Marshal([]any{r.Attempts, r.Stages})
		s.must(err)
		if strings.Contains(string(raw), `score`) != (word == schemas.AttemptsFull) || (len(r.Attempts) == 0) != (word == schemas.AttemptsNone) {
			t.Errorf("%s tells %s", word, raw)
		}
		prompts, requests = append(prompts, r.Source.PromptSHA256), append(requests, r.Request.SHA256)
	}
	if prompts[0] != prompts[1] || prompts[0] != prompts[2] || requests[0] == requests[1] || requests[1] == requests[2] {
		t.Errorf("prompts %v, requests %v", prompts, requests)
	}
	c := s.result(schemas.AttemptsFull).Attempts[1].Content
	if len(c.Appended) != 2 || c.Appended[0].Content != `{"score": "one"}` || !strings.Contains(c.Appended[1].Content, "Correction 1 of 1") || *c.Answer != `{"score":1}` {
		t.Errorf("%+v", c)
	}
	s.refused("other", asks("rate", "text", "everything"), "attempts: must be one of summary, none, full")
	s.must(s.publishWith(s.names.Run("mock", "team-a", "closed"), asks("rate", "text", schemas.AttemptsFull)))
	s.eventually("its letter is stored", func() bool { return s.last(s.names.DeadStream(), s.names.Dead("team-a", "closed")) != nil })
}

// A run is put down during its second call and taken up by another worker: what the first one told is all there, also where its
// state is too large for a message.
func TestTextsOfAttemptsSurviveAHandBack(t *testing.T) {
	t.Parallel()
	for limit, apart := range map[int32]bool{1 << 20: false, 32 << 10: true} {
		s := narrow(t, limit, append(longWait, "drain_timeout: 20s", "drain_timeout: 0s")...)
		first := s.worker()
		s.publish("carried", asks("rate", "LARGE-FIRST", schemas.AttemptsFull))
		receive(s, "the correction arrives", s.mock.arrived)
		if state := s.savedState("carried"); strings.Contains(state, `"field":"attempts"`) != apart || strings.Contains(state, `"answer":"`) == apart {
			t.Errorf("limit %d: the saved state is %.300s", limit, state)
		}
		first.stop()
		s.worker()
		s.mock.release()
		r := s.ends("carried", schemas.StatusSucceeded)
		if (r.AttemptsBlob != nil) != apart || r.OutputBlob != nil {
			t.Errorf("limit %d: apart stand %+v, %+v", limit, r.AttemptsBlob, r.OutputBlob)
		}
		if apart && (r.Attempts[0].Content.Answer != nil || r.Attempts[0].Content.Omitted[schemas.PartAnswer] != len(wrong)) {
			t.Errorf("the message itself has %+v", r.Attempts[0].Content.Omitted)
		}
		all := s.filled(r).Attempts
		if len(all) != 3 || *all[0].Content.Answer != wrong || all[0].Content.Verdict.Class != "schema_invalid" || all[1].Outcome != schemas.StatusCancelled ||
			all[1].Content.Appended[0].Content != wrong || all[2].Content.Appended != nil || *all[2].Content.Answer != right || r.AttemptsBlob != nil {
			t.Errorf("limit %d: %d attempts, %+v", limit, len(all), all)
		}
		if r.Counts.Executions != 2 || r.Counts.Calls != 3 {
			t.Errorf("limit %d: %+v", limit, r.Counts)
		}
		s.tellsNobody("carried")
	}
}

// savedState is what the state bucket holds of a run.
func (s *site) savedState(id string) string {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	bucket, err := s.js.KeyValue(ctx, s.names.StateBucket())
	s.must(err)
	entry, err := bucket.Get(ctx, s.names.StateKey("default", id))
	s.must(err)
	return string(entry.Value())
}

// Texts that somebody took away leave their lengths, and the run goes on; so does who reads a result.
func TestTextsThatAreGoneLeaveTheirLengths(t *testing.T) {
	t.Parallel()
	s := narrow(t, 32<<10, append(longWait, "drain_timeout: 20s", "drain_timeout: 0s")...)
	first := s.worker()
	s.publish("robbed", asks("rate", "LARGE-FIRST", schemas.AttemptsFull))
	receive(s, "the correction arrives", s.mock.arrived)
	first.stop()
	ctx, cancel := s.within()
	defer cancel()
	bucket, err := s.js.ObjectStore(ctx, s.names.ObjectBucket("default"))
	s.must(err)
	objects, err := bucket.List(ctx)
	s.must(err)
	for _, o := range objects {
		s.must(bucket.Delete(ctx, o.Name))
	}
	s.worker()
	s.mock.release()
	r := s.filled(s.ends("robbed", schemas.StatusSucceeded))
	if c := r.Attempts[0].Content; c.Answer != nil || c.Omitted[schemas.PartAnswer] != len(wrong) || *r.Attempts[2].Content.Answer != right {
		t.Errorf("%+v", c)
	}
	s.calls(3)
	r.AttemptsBlob = &schemas.Blob{SHA256: strings.Repeat("0", 64), Field: schemas.BlobAttempts}
	if s.filled(r); r.AttemptsBlob == nil || len(r.Attempts) != 3 {
		t.Errorf("what is gone was made up: %+v", r)
	}
}

// A run that is cancelled has what was saved of it, with why its stage attempt began.
func TestACancelledRunTellsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	for _, limit := range []int32{1 << 20, 32 << 10} {
		s := narrow(t, limit)
		s.worker()
		s.publish("stopped", asks("rate", "LARGE-FIRST", schemas.AttemptsFull))
		receive(s, "the correction arrives", s.mock.arrived)
		if c := s.cancelRun("stopped"); !c.Cancelled {
			t.Fatalf("%+v", c)
		}
		r := s.filled(s.ends("stopped", schemas.StatusCancelled))
		if len(r.Attempts) != 1 || *r.Attempts[0].Content.Answer != wrong || len(r.Stages) != 1 || r.Stages[0].Kind != schemas.StageInitial || r.Stages[0].Outcome != schemas.StatusCancelled {
			t.Errorf("limit %d: %+v %+v", limit, r.Attempts, r.Stages)
		}
	}
}

// Failed runs have no output, and all that was answered.
func TestAFailedRunTellsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{MaxPayload: 32 << 10})
	s.write("prompts/strict@1.yaml", strings.Replace(files["prompts/rate@1.yaml"], "repair_attempts: 1", "repair_attempts: 1, on_exhausted: fail", 1))
	s.mock.answers["ALWAYS-WRONG"] = strings.Replace(wrong, holdMark, strings.Repeat("z", 4_000), 1)
	s.worker()
	s.publish("failed", asks("strict", "ALWAYS-WRONG", schemas.AttemptsFull))
	r := s.ends("failed", schemas.StatusFailed)
	if r.Error.Category != schemas.CategoryOutputInvalid || r.AttemptsBlob == nil || r.Output != nil {
		t.Fatalf("%+v", r)
	}
	if all := s.filled(r).Attempts; len(all) != 2 || *all[0].Content.Answer != s.mock.answers["ALWAYS-WRONG"] || *all[1].Content.Answer != *all[0].Content.Answer {
		t.Errorf("%+v", all)
	}
	s.tellsNobody("failed")
}

// The entry of a run that waits for a person holds no more than a message can; its result has the texts again.
func TestAReviewedRunTellsItsAttempts(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{MaxPayload: 32 << 10}, "log: {level: debug}", "log: {level: debug}\nescalation: {sink: review}")
	s.write("prompts/gov@1.yaml", strings.Replace(files["prompts/rate@1.yaml"], "repair_attempts: 1", "repair_attempts: 1, on_exhausted: escalate", 1))
	answer := `{"score": "CANDIDATE ` + strings.Repeat("y", 9_000) + `"}`
	s.mock.answers["LARGE-WRONG"] = answer
	s.worker()
	for id, d := range map[string]string{"approved": schemas.DecisionApprove, "rejected": schemas.DecisionReject, "cancelled": ""} {
		s.publish(id, asks("gov", "LARGE-WRONG", schemas.AttemptsFull))
		s.goneID(id)
		status := map[string]string{schemas.DecisionApprove: schemas.StatusSucceeded, schemas.DecisionReject: schemas.StatusInvalid, "": schemas.StatusCancelled}[d]
		if d == "" {
			s.cancelRun(id)
		} else {
			_, err := s.decision(schemas.Decision{ID: id, Decision: d, By: "ann"})
			s.must(err)
		}
		r := s.ends(id, status)
		if r.AttemptsBlob == nil {
			t.Errorf("%s: it fits into a message", id)
		}
		all := s.filled(r).Attempts
		if len(all) != 2 || *all[0].Content.Answer != answer || *all[1].Content.Answer != answer || len(all[1].Content.Appended) != 2 || len(r.Stages) != 1 {
			t.Errorf("%s: %+v, %+v", id, all, r.Stages)
		}
		s.tellsNobody(id)
	}
}

// The jobs of a pipeline run with attempts: full have theirs in their own results.
func TestJobsTellTheirAttempts(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, nil)
	s.worker()
	s.publishPipeline("told", strings.TrimSuffix(document(lines(2, "A")), "}")+`,"attempts":"full"}`)
	r := s.ends("told", schemas.StatusSucceeded)
	runs := 0
	for _, j := range r.Pipeline.Jobs {
		if j.Run == "" {
			continue
		}
		runs++
		if job := s.ends(j.Run, schemas.StatusSucceeded); len(job.Attempts) != 1 || job.Attempts[0].Content == nil || *job.Attempts[0].Content.Answer == "" || len(job.Stages) != 1 {
			t.Errorf("%s: %+v", j.Run, job)
		}
	}
	if runs != 5 || len(r.Attempts) != 0 {
		t.Errorf("%d jobs were runs; the pipeline has %d attempts", runs, len(r.Attempts))
	}
}
