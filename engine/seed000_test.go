package engine_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"emend/engine"
	"emend/engine/provider"
	"emend/schemas"
)

// Each test is one acceptance criterion of seed 000, or one clause of its target end state.

func TestSeed000_RepairMakesNoMoreThanThePermittedCalls(t *testing.T) {
	for mode, bad := range map[string]string{schemas.ModeBasic: " ", schemas.ModeJSON: "no", schemas.ModeJSONSchema: `{"a":"x"}`} {
		w := &wire{replies: []reply{says(bad), says(bad), says(bad), says("never")}}
		e := newEngine(t, w)
		r, err := e.Run(t.Context(), ask(mode))
		if err != nil || w.calls() != 3 || r.Status != schemas.StatusInvalid || r.Validation.RepairAttempts != 2 {
			t.Errorf("%s: %d calls, %v, %+v", mode, w.calls(), err, r)
		}
		idle(t, e)
	}
}

func TestSeed000_BudgetsFromZeroToThreeOnly(t *testing.T) {
	for budget, ok := range map[int]bool{-1: false, 0: true, 1: true, 3: true, 4: false} {
		w := &wire{replies: []reply{says(`{"a":1}`)}}
		r := ask(schemas.ModeJSON)
		r.Output = &engine.OutputContract{Mode: schemas.ModeJSON, RepairAttempts: budget}
		_, err := newEngine(t, w).Run(t.Context(), r)
		if ok != (err == nil) || (!ok && (!errors.Is(err, engine.ErrInvalidRequest) || w.calls() != 0)) {
			t.Errorf("budget %d: %v after %d calls", budget, err, w.calls())
		}
	}
}

func TestSeed000_NoneWithABudgetIsAnError(t *testing.T) {
	r := ask(schemas.ModeNone)
	r.Output = &engine.OutputContract{Mode: schemas.ModeNone, RepairAttempts: 1}
	w := &wire{}
	if _, err := newEngine(t, w).Run(t.Context(), r); !errors.Is(err, engine.ErrInvalidRequest) || w.calls() != 0 {
		t.Errorf("%v after %d calls", err, w.calls())
	}
}

func TestSeed000_FirstValidCandidateIsReturned(t *testing.T) {
	w := &wire{replies: []reply{says("no"), says(`{"a":1}`), says("never")}}
	r, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSONSchema))
	if err != nil || w.calls() != 2 || r.Status != schemas.StatusSucceeded || r.RawOutput != `{"a":1}` || string(r.Output) != `{"a":1}` || !r.Validation.Valid || r.Validation.RepairAttempts != 1 {
		t.Errorf("%d calls, %v, %+v", w.calls(), err, r)
	}
}

// Also reports L05 and L06: text, artifact and verdict describe the same, last candidate; nothing is blanked.
func TestSeed000_ExhaustionReturnsTheFinalCandidate(t *testing.T) {
	w := &wire{replies: []reply{says("one"), says("two"), says(`{"a":"three"}`)}}
	r, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSONSchema))
	if err != nil || r.Status != schemas.StatusInvalid || r.Validation.Valid || r.RawOutput != `{"a":"three"}` || string(r.Output) != r.RawOutput {
		t.Fatalf("%v, %+v", err, r)
	}
	if f := r.Validation.Findings; len(f) != 1 || f[0].Pointer != "/a" || f[0].Keyword != "type" || r.Validation.NextCorrection == "" {
		t.Errorf("findings %+v", r.Validation.Findings)
	}
}

func TestSeed000_SinglePassCases(t *testing.T) {
	zero := &engine.OutputContract{Mode: schemas.ModeJSON}
	for name, c := range map[string]struct {
		mode, text string
		output     *engine.OutputContract
		status     string
	}{
		"zero budget":     {schemas.ModeJSON, "bad", zero, schemas.StatusInvalid},
		"valid at once":   {schemas.ModeJSON, "1", nil, schemas.StatusSucceeded},
		"none, empty":     {schemas.ModeNone, "", nil, schemas.StatusSucceeded},
		"none, any text":  {schemas.ModeNone, "{", nil, schemas.StatusSucceeded},
		"basic, any text": {schemas.ModeBasic, "x", nil, schemas.StatusSucceeded},
	} {
		w := &wire{replies: []reply{says(c.text)}}
		r := ask(c.mode)
		r.Output = c.output
		got, err := newEngine(t, w).Run(t.Context(), r)
		if err != nil || got.Status != c.status || w.calls() != 1 || got.RawOutput != c.text {
			t.Errorf("%s: %v, %d calls, %+v", name, err, w.calls(), got)
		}
	}
}

func TestSeed000_EmptyCandidatesAreRepaired(t *testing.T) {
	for _, mode := range []string{schemas.ModeBasic, schemas.ModeJSON, schemas.ModeJSONSchema} {
		for _, empty := range []string{"", " \n"} {
			w := &wire{replies: []reply{says(empty), says(`{"a":1}`)}}
			r, err := newEngine(t, w).Run(t.Context(), ask(mode))
			if err != nil || r.Status != schemas.StatusSucceeded || w.calls() != 2 {
				t.Fatalf("%s: %v, %+v", mode, err, r)
			}
			if m := w.sent(t, 1).Messages; len(m) != 3 || m[2].Role != schemas.RoleUser {
				t.Errorf("%s: correction %+v", mode, m)
			}
		}
	}
}

// Also reports R01, R05, R06, R08, R10, R11, R15.
func TestSeed000_MalformedEnvelopesAreErrorsAndSpendNoRepair(t *testing.T) {
	for name, c := range map[string]struct{ body, kind string }{
		"no choices":      {`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}`, schemas.CategoryProviderResponse},
		"choices missing": {`{"id":"c1"}`, schemas.CategoryProviderResponse},
		"choices null":    {`{"choices":null,"error":{"message":"auth","code":401}}`, schemas.CategoryProviderResponse},
		"content missing": {`{"choices":[{"message":{}}]}`, schemas.CategoryProviderResponse},
		"content null":    {`{"choices":[{"message":{"content":null}}]}`, schemas.CategoryProviderResponse},
		"content number":  {`{"choices":[{"message":{"content":1}}]}`, schemas.CategoryProviderResponse},
		"reasoning only":  {`{"choices":[{"message":{"content":null,"reasoning_content":"{\"a\":1}"}}]}`, schemas.CategoryProviderResponse},
		"refusal":         {`{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}`, schemas.CategoryRefused},
		"filter":          {`{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter"}]}`, schemas.CategoryContentFiltered},
	} {
		w := &wire{replies: []reply{{status: 200, body: c.body}}}
		r, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSONSchema))
		g, ok := errors.AsType[*engine.GenerationError](err)
		if r != nil || !errors.Is(err, engine.ErrLLMGenerate) || !ok || g.Kind != c.kind || w.calls() != 1 {
			t.Errorf("%s: %v after %d calls, result %v", name, err, w.calls(), r)
		}
	}
}

func TestSeed000_EveryAttemptKeepsTargetMessagesAndSchema(t *testing.T) {
	w := &wire{}
	e := newEngine(t, w)
	for name, run := range map[string]func() (*engine.RunResult, error){
		"Run": func() (*engine.RunResult, error) { return e.Run(t.Context(), ask(schemas.ModeJSONSchema)) },
		"RunPrepared": func() (*engine.RunResult, error) {
			p, err := e.Prepare(t.Context(), ask(schemas.ModeJSONSchema))
			if err != nil {
				return nil, err
			}
			return e.RunPrepared(t.Context(), p)
		},
	} {
		w.replies, w.bodies = []reply{says("one"), says("two"), says("three")}, nil
		if _, err := run(); err != nil || w.calls() != 3 {
			t.Fatalf("%s: %v, %d calls", name, err, w.calls())
		}
		first := w.sent(t, 0)
		if first.ResponseFormat == nil || first.Temperature == nil || *first.Temperature != 0 {
			t.Errorf("%s: the first request is %s", name, w.bodies[0])
		}
		for i, candidate := range map[int]string{1: "one", 2: "two"} {
			s := w.sent(t, i)
			if s.Model != first.Model || string(s.ResponseFormat) != string(first.ResponseFormat) || !reflect.DeepEqual(s.Messages[:2], first.Messages) {
				t.Errorf("%s: attempt %d changed the request", name, i)
			}
			if len(s.Messages) != 4 || s.Messages[2].Content != candidate || s.Messages[3].Role != schemas.RoleUser {
				t.Errorf("%s: attempt %d sends %+v", name, i, s.Messages)
			}
		}
	}
}

func TestSeed000_PlainJSONSendsNoNativeConstraint(t *testing.T) {
	w := &wire{replies: []reply{says("[1]")}}
	if _, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSON)); err != nil || strings.Contains(string(w.bodies[0]), "response_format") {
		t.Errorf("%v, %s", err, w.bodies[0])
	}
}

// Report J04: a lone surrogate in a candidate is text in the correction, and the request stays well-formed.
func TestSeed000_TheCompleteCandidateIsSentExactly(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 200000), `{"a":"\ud82c"}`, "```json\n{\"a\":1}\n```"} {
		w := &wire{replies: []reply{says(text), says(`{"a":1}`)}}
		if _, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSONSchema)); err != nil {
			t.Fatal(err)
		}
		if got := w.sent(t, 1).Messages[2].Content; got != text {
			t.Errorf("the candidate of %d bytes was sent as %d", len(text), len(got))
		}
	}
}

func TestSeed000_UsageIsCumulativeAndNoPartialResultComesWithAnError(t *testing.T) {
	w := &wire{replies: []reply{says("bad", 10, 5), says(`{"a":1}`, 20, 6)}}
	r, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSONSchema))
	if err != nil || *r.Usage.Input != 30 || *r.Usage.Output != 11 || r.Usage.Calls != 2 {
		t.Fatalf("%v, %+v", err, r)
	}
	w = &wire{replies: []reply{says("bad", 10, 5), fails(400)}}
	if r, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSONSchema)); r != nil || !errors.Is(err, engine.ErrLLMGenerate) {
		t.Errorf("%v with result %v", err, r)
	}
}

// client is an injected LLMClient.
type client func(context.Context, *engine.GenerateRequest) (*engine.GenerateResponse, error)

func (c client) Generate(ctx context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
	return c(ctx, r)
}

func TestSeed000_AnInjectedClientGetsTheSameRepair(t *testing.T) {
	var seen [][]schemas.Message
	answers := []string{"bad", `{"a":1}`}
	e := newEngine(t, &wire{}, engine.WithLLMClient(client(func(_ context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
		seen = append(seen, r.Messages)
		return &engine.GenerateResponse{Text: answers[len(seen)-1]}, nil
	})))
	r, err := e.Run(t.Context(), ask(schemas.ModeJSONSchema))
	if err != nil || r.Status != schemas.StatusSucceeded || len(seen) != 2 || len(seen[1]) != 4 || r.Usage.CallsWithoutUsage != 2 {
		t.Errorf("%v, %+v, requests %+v", err, r, seen)
	}
	idle(t, e)
}

func TestSeed000_ErrorCategoriesOfACorrectiveCall(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"provider": {&provider.Error{Kind: provider.KindStatus, Status: 404}, engine.ErrLLMGenerate},
		"request":  {engine.ErrInvalidRequest, engine.ErrInvalidRequest},
		"cancel":   {context.Canceled, context.Canceled},
		"other":    {errors.New("SECRET"), engine.ErrLLMGenerate},
	} {
		n := 0
		e := newEngine(t, &wire{}, engine.WithLLMClient(client(func(context.Context, *engine.GenerateRequest) (*engine.GenerateResponse, error) {
			if n++; n == 1 {
				return &engine.GenerateResponse{Text: "bad"}, nil
			}
			return nil, c.err
		})))
		r, err := e.Run(t.Context(), ask(schemas.ModeJSON))
		if r != nil || !errors.Is(err, c.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, result %v", name, err, r)
		}
		idle(t, e)
	}
}

func TestSeed000_APreparedHandleRunsOnce(t *testing.T) {
	w := &wire{replies: []reply{says("1")}}
	e := newEngine(t, w)
	p, err := e.Prepare(t.Context(), ask(schemas.ModeJSON))
	if err != nil || w.calls() != 0 || p.Plan().MaxCalls() != 9 {
		t.Fatalf("%v, %d calls, at most %d", err, w.calls(), p.Plan().MaxCalls())
	}
	if _, err := e.RunPrepared(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := e.RunPrepared(t.Context(), p); !errors.Is(err, engine.ErrPreparedUsed) || !errors.Is(err, engine.ErrInvalidRequest) || w.calls() != 1 {
		t.Errorf("%v after %d calls", err, w.calls())
	}
}

func TestSeed000_AppendedMessagesLeaveThePromptAnExactPrefix(t *testing.T) {
	w := &wire{replies: []reply{says("1"), says("1")}}
	e := newEngine(t, w)
	own := []engine.Message{{Role: schemas.RoleAssistant, Content: "draft"}, {Role: schemas.RoleUser, Content: ""}}
	r := ask(schemas.ModeJSON)
	if _, err := e.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r.AppendedMessages = own
	p, err := e.Prepare(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	own[0].Content = "changed by the caller"
	if _, err := e.RunPrepared(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	plain, long := w.sent(t, 0).Messages, w.sent(t, 1).Messages
	if len(long) != 4 || !reflect.DeepEqual(long[:2], plain) || long[2].Content != "draft" {
		t.Errorf("messages %+v", long)
	}
}

// An escaped lone surrogate in the envelope is no text: a JSON contract refuses it instead of taking a replacement
// character for what the model said.
func TestALoneSurrogateInTheEnvelopeIsNeverValid(t *testing.T) {
	w := &wire{replies: []reply{{status: 200, body: `{"choices":[{"message":{"content":"{\"a\":1,\"b\":\"\ud800\"}"}}]}`}}}
	r := ask(schemas.ModeJSONSchema)
	r.Output = &engine.OutputContract{Mode: schemas.ModeJSON}
	got, err := newEngine(t, w).Run(t.Context(), r)
	if err != nil || got.Status != schemas.StatusInvalid || got.Validation.Class != "invalid_utf8" {
		t.Errorf("%v, %+v", err, got)
	}
}
