package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
	"emend/schemas"
)

// oneLane is a pipeline whose lane extracts each line; window bounds its jobs.
func oneLane(window int) map[string]string {
	return map[string]string{"pipelines/digest@1.yaml": fmt.Sprintf("chunk: {by: json_lines}\nlanes: {a: {extract: {prompt: names}}}\nreuse: none\nwindow: %d\n", window)}
}

// A pipeline never has more than its window in the queue, and its jobs keep the backend's bound.
func TestPipelineKeepsItsWindow(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, oneLane(7))
	s.mock.answers["NAMES"] = `["n"]`
	s.worker()
	s.publishPipeline("one", document(lines(40, holdMark)))
	for range 7 {
		receive(s, "a job of the window calls", s.mock.arrived)
	}
	s.eventually("the window is full", func() bool { return s.count(s.names.RunsStream()) == 8 })
	if p := s.progress("one"); p.State != schemas.StateRunning {
		t.Errorf("%+v", p)
	}
	s.mock.release()
	if r := s.ends("one", schemas.StatusSucceeded); r.Counts.Calls != 40 || r.Pipeline.Stages[1].Jobs.Done != 40 {
		t.Errorf("%+v", r)
	}
	if s.mock.most > 7 {
		t.Errorf("%d jobs were under way at once, the window is 7", s.mock.most)
	}
}

// Cancelling the parent ends all of its jobs: their calls are aborted, none is left in the queue, none begins.
func TestCancelledPipelineEndsItsJobs(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, oneLane(10))
	s.worker()
	s.worker()
	s.publishPipeline("one", document(lines(40, holdMark)))
	for range 10 {
		receive(s, "a job calls", s.mock.arrived)
	}
	if r := s.cancelRun("one"); !r.Cancelled || r.Status != schemas.StatusCancelled {
		t.Fatalf("%+v", r)
	}
	for range 10 {
		receive(s, "the call of a job is aborted", s.mock.left)
	}
	s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
	s.ends("one", schemas.StatusCancelled)
	s.calls(10)
	cancelled := 0
	for id, r := range s.resultsOf(11) {
		if r.Status != schemas.StatusCancelled {
			t.Errorf("%s: %s", id, r.Status)
		}
		cancelled++
	}
	if cancelled != 11 {
		t.Errorf("%d are cancelled", cancelled)
	}
}

// Where jobs wait for a place, the places of those that are aborted are not theirs: not one of them begins a call.
func TestJobsThatWaitForAPlaceDoNotBeginWhenTheRunEnds(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, oneLane(30), "permits: 16, admitted: 32", "permits: 4, admitted: 32")
	s.worker()
	s.publishPipeline("one", document(lines(60, holdMark)))
	for range 4 {
		receive(s, "a job calls", s.mock.arrived)
	}
	s.eventually("its window is in the queue", func() bool { return s.count(s.names.RunsStream()) == 31 })
	if r := s.cancelRun("one"); !r.Cancelled {
		t.Fatalf("%+v", r)
	}
	for range 4 {
		receive(s, "the call of a job is aborted", s.mock.left)
	}
	s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
	one := s.ends("one", schemas.StatusCancelled) // told by its coordinator, with what the jobs have done
	if one.Counts.Calls != 4 || one.Pipeline == nil || one.Cost == nil {
		t.Errorf("%+v", one)
	}
	s.calls(4)
	s.resultsOf(31)
}

func TestExpiredPipelineEndsItsJobs(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, oneLane(5))
	s.worker()
	text, err := json.Marshal(schemas.PipelineRequest{Inputs: map[string]json.RawMessage{"document": quoted(lines(9, holdMark))}, TimeoutS: new(2.0)})
	s.must(err)
	s.publishPipeline("one", string(text))
	r := s.ends("one", schemas.StatusExpired)
	if r.Output != nil || (r.Pipeline != nil && r.Pipeline.Stages[1].Decision != schemas.StageStopped) { // a machine that is slow enough never begins it
		t.Errorf("%+v", r)
	}
	s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
}

// The coordinator may die at any point: whoever takes the run up goes on from the results, and no job is paid for twice but
// those whose calls were open in the worker that died.
func TestKilledCoordinatorIsResumed(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, 13, 30} {
		t.Run(fmt.Sprint("after ", at), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, devnats.Options{}, append(shortWait, unkeyed, keyed)...)
			for name, text := range pipelineFiles {
				s.write(name, text)
			}
			s.write("pipelines/digest@1.yaml", oneLane(4)["pipelines/digest@1.yaml"])
			s.mock.answers["NAMES"] = `["n"]`
			doc := lines(30, "x")
			doc = strings.Replace(doc, fmt.Sprintf("x line%d.", at), "x "+pauseMark, 1)
			doomed := s.process("doomed")
			s.publishPipeline("one", document(doc))
			before := min(at+2, 30) // the window goes on around the job that waits
			s.eventually("the call that waits is open", func() bool { return doomed.open() == 1 && s.mock.calls.Load() >= int64(before) })
			s.process("other")
			doomed.kill()
			s.mock.resume()
			r := s.ends("one", schemas.StatusSucceeded)
			if r.Counts.Calls != 30 || r.Request.Delivery < 2 || r.Source.Worker != "other" || strings.Count(string(r.Output), `"n"`) != 30 {
				t.Errorf("%+v %+v %s", r.Counts, r.Request, r.Output)
			}
			if n := s.mock.calls.Load(); n > 30+4 {
				t.Errorf("%d calls for 30 jobs, of which at most 4 were open", n)
			}
			s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
			s.lastSeq(31)
		})
	}
}

// A drain hands a pipeline run over at once: its jobs go on where they are.
func TestDrainedCoordinatorIsResumed(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, longWait...)
	for name, text := range pipelineFiles {
		s.write(name, text)
	}
	s.write("pipelines/digest@1.yaml", oneLane(6)["pipelines/digest@1.yaml"])
	s.mock.answers["NAMES"] = `["n"]`
	first := s.worker()
	s.publishPipeline("one", document(lines(20, holdMark)))
	for range 6 {
		receive(s, "a job calls", s.mock.arrived)
	}
	s.worker()
	first.cancel()
	s.eventually("the run is handed over", func() bool { return s.handedOver("one") })
	s.mock.release()
	r := s.ends("one", schemas.StatusSucceeded)
	if r.Counts.Calls != 20 || r.Request.Delivery < 2 { // a pull of the one that drains may have taken it once more
		t.Errorf("%+v %+v", r.Counts, r.Request)
	}
	s.calls(20)
	first.stop()
}

// What a run's own jobs have done and cost stays its own when another coordinator takes it up, though their outputs are kept for
// others meanwhile.
func TestResumedRunCountsItsOwnJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, longWait...)
	for name, text := range pipelineFiles {
		s.write(name, text)
	}
	s.write("pipelines/digest@1.yaml", strings.Replace(oneLane(6)["pipelines/digest@1.yaml"], "reuse: none", "reuse: auto", 1))
	s.mock.answers["NAMES"] = `["n"]`
	text := strings.Join([]string{lines(12, "x"), strings.ReplaceAll(lines(8, holdMark), "line", "held")}, "")
	first := s.worker()
	s.publishPipeline("one", document(text))
	for range 6 {
		receive(s, "a job calls", s.mock.arrived)
	}
	s.eventually("outputs are kept, all but the last", func() bool { return s.count("KV_"+s.names.ReuseBucket()) == 11 })
	s.worker()
	first.cancel()
	s.eventually("the run is handed over", func() bool { return s.handedOver("one") })
	s.mock.release()
	r := s.ends("one", schemas.StatusSucceeded)
	if jobs := r.Pipeline.Stages[1].Jobs; r.Counts.Calls != 20 || jobs.Reused != 0 || jobs.Done != 20 {
		t.Errorf("%+v %+v", r.Counts, jobs)
	}
	s.calls(20)
	s.publishPipeline("two", document(text))
	if r := s.ends("two", schemas.StatusSucceeded); r.Counts.Calls != 0 || r.Pipeline.Stages[1].Jobs.Reused != 20 {
		t.Errorf("%+v %+v", r.Counts, r.Pipeline.Stages[1].Jobs)
	}
	first.stop()
}

// handedOver says that another coordinator has begun.
func (s *site) handedOver(id string) bool {
	s.Helper()
	m := s.last(s.names.EventsStream(), s.names.EventFilter("default", id))
	if m == nil {
		return false
	}
	var e schemas.Event
	s.must(json.Unmarshal(m.Data, &e))
	return e.Delivery > 1 && e.Kind != schemas.EventWaiting
}

// A job that vanished from the queue is found out, though no word of it comes.
func TestJobThatVanishedFailsTheRun(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, map[string]string{"pipelines/digest@1.yaml": "chunk: {by: json_lines}\nlanes: {a: {extract: {prompt: away-names}}}\nreuse: none\n",
		"prompts/away-names@1.yaml": "profile: elsewhere\ninputs: {chunk: {}}\nmessages: [{user: '{{ .chunk }}'}]\noutput: {mode: json}\n"})
	s.worker()
	s.publishPipeline("one", document(lines(1, holdMark)))
	receive(s, "the job calls", s.mock.arrived)
	ctx, cancel := s.within()
	defer cancel()
	stream, err := s.js.Stream(ctx, s.names.RunsStream())
	s.must(err)
	m, err := stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(s.names.RunFilter("other", "default")))
	s.must(err)
	s.must(stream.DeleteMsg(ctx, m.Sequence))
	if r := s.ends("one", schemas.StatusFailed); r.Error.Category != schemas.CategoryAbandoned || !strings.Contains(r.Error.Message, "its request is gone") {
		t.Errorf("%+v", r.Error)
	}
}
