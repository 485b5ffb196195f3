package batch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"emend/consumer"
	"emend/schemas"
	"emend/subjects"
)

// space is a carrier that keeps what a space would, over several runs of a batch.
type space struct {
	mu        sync.Mutex
	published map[string]int
	results   map[string]*schemas.Result
	// loses says which replies do not arrive, takes how long a run takes; full refuses so many publishes.
	loses func(id string) bool
	takes func() time.Duration
	full  int
	// reviews wait for a person for ever; refused leave nothing.
	reviews, refused map[string]bool
	arrived          func(string, *schemas.Result)
	running          sync.WaitGroup
	most, now        int
	// mends has bad runs succeed; seq is that of the last request.
	mends bool
	seq   uint64
}

func newSpace() *space {
	return &space{published: map[string]int{}, results: map[string]*schemas.Result{}, loses: func(string) bool { return false },
		takes: func() time.Duration { return 0 }, reviews: map[string]bool{}, refused: map[string]bool{}}
}

func (s *space) Prepare(_ context.Context, req schemas.Request) ([]byte, string, error) {
	b, err := schemas.Marshal(req)
	return b, schemas.Fingerprint("b", b), err
}

func (s *space) Publish(ctx context.Context, id string, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.full > 0 {
		s.full--
		return consumer.ErrFull
	}
	if s.published[id]++; s.published[id] > 1 && s.results[id] == nil {
		return consumer.ErrDuplicate
	}
	s.now++
	s.seq++
	s.most = max(s.most, s.now)
	arrived := s.arrived
	s.running.Go(func() {
		time.Sleep(s.takes())
		s.end(id, body, arrived)
	})
	return nil
}

func (s *space) end(id string, body []byte, arrived func(string, *schemas.Result)) {
	r := &schemas.Result{ID: id, Status: schemas.StatusSucceeded, Output: json.RawMessage(`{"ok":true}`), Request: schemas.RequestRef{SHA256: schemas.Fingerprint("b", body)}}
	s.mu.Lock()
	if r.Request.Seq = s.seq; strings.HasPrefix(id, "bad") && !s.mends {
		r.Status = schemas.StatusFailed
	}
	s.now--
	switch {
	case s.reviews[id]:
		r = nil
	case !s.refused[id]:
		s.results[id] = r
	}
	s.mu.Unlock()
	if !s.loses(id) {
		arrived(id, r)
	}
}

func (s *space) Look(_ context.Context, id string) (*schemas.Result, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.results[id] != nil:
		r := *s.results[id]
		return &r, "", nil
	case s.published[id] == 0 || s.refused[id]:
		return nil, schemas.StateNotFound, nil
	case s.reviews[id]:
		return nil, schemas.StateInReview, nil
	}
	return nil, schemas.StateQueued, nil
}

func (s *space) Fill(context.Context, *schemas.Result) error { return nil }

// file writes a batch of ids.
func file(t testing.TB, ids ...string) *Input {
	t.Helper()
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "{\"id\":%q,\"inputs\":{\"n\":%q}}\n", id, id)
	}
	return text(t, b.String())
}

func text(t testing.TB, s string) *Input {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Input{Path: path, Prompt: "p", CheckID: subjects.CheckID, ProfileOf: func(string) (string, error) { return "fast", nil }}
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("r-%04d", i)
	}
	return out
}

// run runs a batch once.
func run(ctx context.Context, t testing.TB, in *Input, out string, s *space, window int, ordered bool) (Tally, error) {
	t.Helper()
	survey, err := in.Check()
	if err != nil || survey.Err() != nil {
		t.Fatal(err, survey.Err())
	}
	o, tally, err := Open(out, survey)
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{In: in, Out: o, Carrier: s, Window: window, Ordered: ordered}
	r.Prepare(tally)
	s.mu.Lock()
	s.arrived = r.Arrived
	s.mu.Unlock()
	return r.Do(ctx)
}

// written lists the ids of a result file.
func written(t testing.TB, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r schemas.Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r.ID)
	}
	return out
}

func TestResultsComeInTheOrderOfTheFileAndNeverMoreThanTheWindowIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newSpace(), filepath.Join(t.TempDir(), "out.jsonl")
		s.takes = func() time.Duration { return rand.N(2 * time.Second) }
		tally, err := run(t.Context(), t, file(t, append(numbered(200), "bad-1")...), out, s, 20, true)
		if err != nil || tally.Done != 201 || tally.Failures() != 1 || tally.Statuses[schemas.StatusSucceeded] != 200 {
			t.Errorf("%+v %v", tally, err)
		}
		if got := written(t, out); !slices.Equal(got, append(numbered(200), "bad-1")) {
			t.Errorf("%v", got)
		}
		if s.most > 20 {
			t.Errorf("%d runs were under way", s.most)
		}
	})
}

// Interrupted at any moment, with lost replies, a full stream and a result file that is cut off, a batch that is started again
// ends with one result a line, and publishes nothing twice.
func TestAnInterruptedBatchGoesOn(t *testing.T) {
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			in, out, s := file(t, numbered(100)...), filepath.Join(t.TempDir(), "out.jsonl"), newSpace()
			slow := r.IntN(2) == 0
			s.takes = func() time.Duration {
				if slow {
					return rand.N(5 * time.Second)
				}
				return rand.N(50 * time.Millisecond)
			}
			s.loses = func(string) bool { return rand.IntN(10) == 0 }
			s.full = r.IntN(5)
			tally, starts := Tally{}, 0
			for ; tally.Done < 100; starts++ {
				ctx, cancel := context.WithCancel(t.Context())
				if starts < 5 {
					time.AfterFunc(time.Duration(r.IntN(3000))*time.Millisecond, cancel)
				}
				var err error
				if tally, err = run(ctx, t, in, out, s, 1+r.IntN(40), r.IntN(2) == 0); err != nil {
					t.Fatal(err)
				}
				cancel()
				if starts < 5 && tally.Done < 100 {
					cut(t, out, r.IntN(40))
				}
			}
			s.running.Wait()
			got := written(t, out)
			slices.Sort(got)
			if !slices.Equal(got, numbered(100)) {
				t.Errorf("seed %d: %d results, %d starts", seed, len(got), starts)
			}
			for id, n := range s.published {
				if n > 1 {
					t.Errorf("seed %d: %s was published %d times", seed, id, n)
				}
			}
		})
	}
}

// cut takes up to n bytes off the end, as a process that is killed while it writes.
func cut(t *testing.T, path string, n int) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, max(info.Size()-int64(n), 0))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatDoesNotReportIsFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newSpace(), filepath.Join(t.TempDir(), "out.jsonl")
		s.loses = func(string) bool { return true }
		s.reviews["r-0001"], s.refused["r-0002"] = true, true
		in := file(t, numbered(5)...)
		tally, err := run(t.Context(), t, in, out, s, 5, true)
		if err != nil || tally.Done != 4 || tally.InReview != 1 || tally.Failures() != 1 {
			t.Errorf("%+v %v", tally, err)
		}
		if got := written(t, out); !slices.Equal(got, []string{"r-0000", "r-0002", "r-0003", "r-0004"}) {
			t.Errorf("%v", got)
		}
		// The decision is there when the batch is run again.
		s.mu.Lock()
		delete(s.reviews, "r-0001")
		s.mu.Unlock()
		body, _, err := s.Prepare(t.Context(), schemas.Request{Prompt: "p", Inputs: map[string]json.RawMessage{"n": json.RawMessage(`"r-0001"`)}})
		if err != nil {
			t.Fatal(err)
		}
		s.end("r-0001", body, func(string, *schemas.Result) {})
		if tally, err = run(t.Context(), t, in, out, s, 5, true); err != nil || tally.Done != 5 || tally.Before != 4 || s.published["r-0001"] != 1 {
			t.Errorf("%+v %v", tally, err)
		}
	})
}

// An id that another batch used for something else is not taken for this one's.
func TestAForeignResultIsAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newSpace(), filepath.Join(t.TempDir(), "out.jsonl")
		if err := os.WriteFile(out, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.results["r-0000"] = &schemas.Result{ID: "r-0000", Status: schemas.StatusSucceeded, Request: schemas.RequestRef{SHA256: "other"}}
		tally, err := run(t.Context(), t, file(t, numbered(2)...), out, s, 5, true)
		if err != nil || tally.Statuses[schemas.StatusFailed] != 1 || s.published["r-0000"] != 0 {
			t.Errorf("%+v %v %v", tally, err, s.published)
		}
		b, _ := os.ReadFile(out)
		if !strings.Contains(string(b), schemas.CategoryIDConflict) {
			t.Errorf("%s", b)
		}
	})
}

func TestABatchThatCannotGoOnSaysWhy(t *testing.T) {
	s := &broken{newSpace()}
	in := file(t, numbered(50)...)
	survey, err := in.Check()
	if err != nil {
		t.Fatal(err)
	}
	o, tally, err := Open(filepath.Join(t.TempDir(), "out.jsonl"), survey)
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{In: in, Out: o, Carrier: s, Window: 4}
	r.Prepare(tally)
	if _, err := r.Do(t.Context()); err == nil || !strings.Contains(err.Error(), "no stream") {
		t.Errorf("%v", err)
	}
}

type broken struct{ *space }

func (*broken) Publish(context.Context, string, []byte) error {
	return errors.New("no stream takes it")
}

func TestBadFilesAreRefusedWhole(t *testing.T) {
	long := strings.Repeat("x\n", 30)
	for name, c := range map[string]struct{ in, want string }{
		"no JSON":     {"{\"id\":\"a\"}\n\nnope\n", "line 3: the message is no valid JSON"},
		"repeated":    {"{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"a\"}\n{\"id\":\"a\"}\n", "line 3: the id of line 1 again"},
		"no id":       {`{"inputs":{}}`, "line 1: id: must be given once"},
		"bad id":      {`{"id":"a.b"}`, "line 1: "},
		"many":        {long, "and 20 more"},
		"other field": {`{"id":"a","promt":"p"}`, "did you mean prompt"},
		"messages":    {"{\"id\":\"a\"}\n" + `{"id":"b","messages":[{"role":"user","content":"hi"}]}`, "line 2: the line brings its own messages, to which --prompt does not apply"},
		"OpenAI":      {"{\"id\":\"a\"}\n" + openAILine, "line 2: the line brings its own messages, to which --prompt does not apply"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := text(t, c.in).Check()
			if err != nil || s.Err() == nil || !strings.Contains(s.Err().Error(), c.want) {
				t.Errorf("%v %v", err, s.Err())
			}
		})
	}
	in := text(t, `{"id":"a"}`)
	in.Prompt = ""
	if s, err := in.Check(); err != nil || !strings.Contains(fmt.Sprint(s.Err()), "give --prompt") {
		t.Errorf("%v %v", err, s.Err())
	}
	for _, empty := range []string{"", "\n \n", "\ufeff"} {
		if _, err := text(t, empty).Check(); err == nil || !strings.Contains(err.Error(), "has no lines") {
			t.Errorf("%q: %v", empty, err)
		}
	}
	in.Path += ".not"
	if _, err := in.Check(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestOutputsOfOthersAreLeftAlone(t *testing.T) {
	survey, err := file(t, "a").Check()
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{"{\"id\":\"b\",\"status\":\"failed\"}\n": "line 1: a result of a run that the batch does not have",
		"{\"id\":\"a\",\"status\":\"failed\"}\nx\n": "line 2: no result"} {
		path := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := Open(path, survey)
		after, _ := os.ReadFile(path)
		if err == nil || !strings.Contains(err.Error(), want) || string(after) != content {
			t.Errorf("%v; %q", err, after)
		}
	}
}

const openAILine = `{"custom_id":"task.1/2","method":"POST","url":"/v1/chat/completions","body":{"model":"gpt","messages":[{"role":"user","content":"hi"}]}}`

func TestACustomIDThatIsNoIDIsKept(t *testing.T) {
	in := text(t, openAILine+"\n"+strings.Replace(openAILine, "task.1/2", "task-1", 1))
	in.Prefix, in.Prompt = "x-", ""
	var got []Line
	for l, err := range in.Lines() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	if got[0].ID == got[1].ID || subjects.CheckID(got[0].ID) != nil || !strings.HasPrefix(got[0].ID, "x-c-") || got[0].Request.Metadata[customID] != "task.1/2" ||
		got[1].ID != "x-task-1" || got[1].Request.Metadata != nil || got[0].Request.Profile != "fast" {
		t.Errorf("%+v", got)
	}
}

func TestRest(t *testing.T) {
	s := newSpace()
	for id, state := range map[string]string{"r-0001": schemas.StateQueued, "r-0003": schemas.StateInReview, "r-0009": ""} {
		s.published[id] = 1
		s.reviews[id] = state == schemas.StateInReview
		if state == "" {
			s.results[id] = &schemas.Result{ID: id}
		}
	}
	in := file(t, numbered(1000)...)
	survey, err := in.Check()
	if err != nil {
		t.Fatal(err)
	}
	out, tally, err := Read(filepath.Join(t.TempDir(), "none"), survey)
	if err != nil || tally.Lines != 1000 || tally.Done != 0 {
		t.Fatal(err, tally)
	}
	var asked []string
	states, err := Rest(t.Context(), in, out, s, func(id, _ string) error { asked = append(asked, id); return nil })
	if err != nil || len(asked) != 3 || states[schemas.StateQueued] != 1 || states[schemas.StateInReview] != 1 || states[""] != 1 {
		t.Errorf("%v %v %v", states, asked, err)
	}
}
