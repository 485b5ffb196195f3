package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"emend/engine"
	"emend/prompts"
	"emend/schemas"
)

// validated is an engine over a prompt with a judge whose model plays answers in order.
func validated(t *testing.T, answers []string, retries, policy string, list ...engine.Validator) (*engine.Engine, *[]*engine.GenerateRequest) {
	t.Helper()
	var checks strings.Builder
	checks.WriteString("{judge: judge}")
	for _, v := range list {
		checks.WriteString(", {go: " + v.Name + "}")
	}
	files := fstest.MapFS{
		"emend.yaml":           &fstest.MapFile{Data: []byte("backends: {m: {dialect: openai, url: http://x}}\nprofiles: {p: {backend: m, model: m}}\n")},
		"prompts/judge@1.yaml": &fstest.MapFile{Data: []byte("profile: p\ninputs: {candidate: {}}\nmessages: [{user: 'JUDGE {{ .candidate }}'}]\n")},
		"prompts/say@1.yaml":   &fstest.MapFile{Data: []byte("profile: p\nmessages: [{user: 'Say it.'}]\noutput: {mode: json}\nchecks: [" + checks.String() + "]\nretries: " + retries + "\n" + policy)},
	}
	snap, err := prompts.LoadFS(files)
	if err != nil {
		t.Fatal(err)
	}
	asked := &[]*engine.GenerateRequest{}
	client := clientFunc(func(_ context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
		if strings.HasPrefix(r.Messages[0].Content, "JUDGE") {
			return &engine.GenerateResponse{Text: `{"reasons": [], "decision": "approve"}`}, nil
		}
		*asked = append(*asked, r)
		return &engine.GenerateResponse{Text: answers[len(*asked)-1]}, nil
	})
	e, err := engine.New(snap, engine.WithLLMClient(client), engine.WithValidators(list...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e, asked
}

type clientFunc func(context.Context, *engine.GenerateRequest) (*engine.GenerateResponse, error)

func (f clientFunc) Generate(ctx context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
	return f(ctx, r)
}

// small rejects values over 9.
var small = engine.Validator{Name: "small", Validate: func(_ context.Context, c engine.CandidateView) (engine.Vote, error) {
	if len(c.Value) > 1 {
		return engine.Vote{Reject: []engine.Reason{{Code: "Too large!", Guidance: "Give one digit."}}}, nil
	}
	return engine.Vote{}, nil
}}

// A validator in Go is asked in its place; what it rejects is corrected with its guidance.
func TestGoValidatorRejectsAndIsCorrected(t *testing.T) {
	e, asked := validated(t, []string{"10", "7"}, "1", "", small)
	r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "say"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != schemas.StatusSucceeded || string(r.Output) != "7" || r.Counts.Corrections != 1 {
		t.Errorf("%s %s %+v", r.Status, r.Output, r.Counts)
	}
	if v := r.Validation.Validators; len(v) != 2 || v[0].Name != "judge@1" || v[1].Name != "small" || v[1].Outcome != schemas.VoteApproved || v[1].Calls != 0 {
		t.Errorf("%+v", v)
	}
	first, second := (*asked)[0].Messages, (*asked)[1].Messages
	if len(first) != 1 || len(second) != 3 || second[0].Content != first[0].Content || second[1].Content != "10" || !strings.Contains(second[2].Content, "- too_large: Give one digit.") {
		t.Errorf("%+v", second)
	}
}

func TestGoValidatorsThatComeToNoDecision(t *testing.T) {
	for name, c := range map[string]struct {
		validate func(context.Context, engine.CandidateView) (engine.Vote, error)
		outcome  string
	}{
		"error": {func(context.Context, engine.CandidateView) (engine.Vote, error) {
			return engine.Vote{}, errors.New("secret")
		}, schemas.VoteFailed},
		"panic": {func(context.Context, engine.CandidateView) (engine.Vote, error) { panic("secret") }, schemas.VoteFailed},
		"skip":  {func(context.Context, engine.CandidateView) (engine.Vote, error) { return engine.Vote{}, engine.ErrSkip }, schemas.VoteSkipped},
	} {
		e, _ := validated(t, []string{"1"}, "0", "", engine.Validator{Name: "go", Validate: c.validate})
		r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "say@1"})
		if err != nil || r.Status != schemas.StatusUnverified || r.Validation.Validators[1].Outcome != c.outcome {
			t.Errorf("%s: %+v %v", name, r, err)
			continue
		}
		if text, _ := json.Marshal(r); strings.Contains(string(text), "secret") {
			t.Errorf("%s is shown: %s", name, text)
		}
	}
	e, _ := validated(t, []string{"1"}, "0", "validation_policy: {validator_failure: fail_run}\n", engine.Validator{Name: "go", Validate: func(context.Context, engine.CandidateView) (engine.Vote, error) {
		return engine.Vote{}, errors.New("x")
	}})
	if _, err := e.Run(t.Context(), engine.RunRequest{Prompt: "say"}); err == nil || !strings.Contains(err.Error(), "go came to no decision") {
		t.Errorf("fail_run: %v", err)
	}
}

// A rejection stays one whatever its reasons: what cannot be told to the model is not cut, and the policy applies at once.
func TestRejectionsThatCannotBeCorrected(t *testing.T) {
	many := make([]engine.Reason, 33)
	for name, reject := range map[string][]engine.Reason{
		"many":     many,
		"code":     {{Code: strings.Repeat("c", 65)}},
		"guidance": {{Code: "a", Guidance: strings.Repeat("x", 16<<10+1)}},
		"no UTF-8": {{Code: "a", Guidance: "\xff"}},
	} {
		v := engine.Validator{Name: "go", Validate: func(context.Context, engine.CandidateView) (engine.Vote, error) {
			return engine.Vote{Reject: reject}, nil
		}}
		for policy, status := range map[string]string{"": "", "validation_policy: {semantic_rejection: reject_output}\n": schemas.StatusRejected} {
			e, asked := validated(t, []string{"1"}, "2", policy, small, v)
			r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "say"})
			if len(*asked) != 1 || (status == "") != (err != nil) || (err == nil && r.Status != status) {
				t.Errorf("%s under %q: %d calls, %+v, %v", name, policy, len(*asked), r, err)
			}
			if err != nil {
				continue
			}
			if got := r.Validation.Validators[2]; got.Outcome != schemas.VoteRejected || got.Cause != schemas.CauseCorrectionImpossible || len(got.Reasons) != 0 {
				t.Errorf("%s: %+v", name, got)
			}
			if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "correction_impossible") {
				t.Errorf("%s: %q", name, r.Warnings)
			}
		}
	}
}

// What one validator says is not told without what another could not be understood in.
func TestOneImpossibleRejectionStopsAll(t *testing.T) {
	long := engine.Validator{Name: "long", Validate: func(context.Context, engine.CandidateView) (engine.Vote, error) {
		return engine.Vote{Reject: []engine.Reason{{Code: strings.Repeat("c", 65)}}}, nil
	}}
	e, asked := validated(t, []string{"12"}, "2", "validation_policy: {semantic_rejection: reject_output}\n", small, long)
	r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "say"})
	if err != nil || r.Status != schemas.StatusRejected || len(*asked) != 1 || r.Validation.Validators[1].Reasons[0].Code != "too_large" {
		t.Errorf("%+v %v, %d calls", r, err, len(*asked))
	}
}

// A validator cannot change what the next one sees, and a known rejection is never accepted.
func TestGoValidatorsSeeTheSameCandidate(t *testing.T) {
	var seen []string
	spoil := engine.Validator{Name: "spoil", Validate: func(_ context.Context, c engine.CandidateView) (engine.Vote, error) {
		clear(c.Value)
		c.Messages[0].Content = "other"
		return engine.Vote{}, errors.New("x")
	}}
	look := engine.Validator{Name: "look", Validate: func(_ context.Context, c engine.CandidateView) (engine.Vote, error) {
		seen = append(seen, string(c.Value)+c.Messages[0].Content)
		return engine.Vote{Reject: []engine.Reason{{Code: "no"}}}, nil
	}}
	e, _ := validated(t, []string{"12"}, "0", "validation_policy: {semantic_rejection: reject_output}\n", spoil, look)
	r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "say"})
	if err != nil || r.Status != schemas.StatusRejected || len(seen) != 1 || seen[0] != "12Say it." {
		t.Errorf("%+v %v %q", r, err, seen)
	}
	if want := (schemas.StagePolicy{ProducerStructuralFailure: "fail_run", SemanticRejection: "reject_output", ValidatorFailure: "warn_continue"}); *r.Validation.Policy != want {
		t.Errorf("%+v", r.Validation.Policy)
	}
}

func TestGoValidatorsAreChecked(t *testing.T) {
	snap, err := prompts.LoadFS(fstest.MapFS{"emend.yaml": &fstest.MapFile{Data: []byte("backends: {m: {dialect: openai, url: http://x}}\nprofiles: {p: {backend: m, model: m}}\n")},
		"prompts/say@1.yaml": &fstest.MapFile{Data: []byte("profile: p\nmessages: [{user: hi}]\nchecks: [{go: small}]\n")}})
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]engine.Option{
		"prompt say@1 names the Go validator small": engine.WithValidators(),
		"is given twice":        engine.WithValidators(small, small),
		"has no function":       engine.WithValidators(engine.Validator{Name: "a"}),
		"the name \"a b\" must": engine.WithValidators(engine.Validator{Name: "a b", Validate: small.Validate}),
	} {
		if _, err := engine.New(snap, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Warnings reject nothing and are the result's, not the model's; those of an abandoned attempt are dropped with it.
func TestVotesCarryWarnings(t *testing.T) {
	remarks := engine.Validator{Name: "remarks", Validate: func(_ context.Context, c engine.CandidateView) (engine.Vote, error) {
		v := engine.Vote{Warn: []engine.Reason{{Code: "seen " + c.Text, Guidance: "a remark"}}}
		switch c.Text {
		case "10":
			v.Reject = []engine.Reason{{Code: "large", Guidance: "one digit"}}
		case "8":
			v.Warn = make([]engine.Reason, 33)
		}
		return v, nil
	}}
	for answer, code := range map[string]string{"7": "seen_7", "8": "beyond_bounds"} {
		e, asked := validated(t, []string{"10", answer}, "1", "", remarks)
		r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "say"})
		if err != nil || r.Status != schemas.StatusSucceeded || len(*asked) != 2 {
			t.Fatalf("%+v %v", r, err)
		}
		if v := r.Validation.Validators[1]; v.Outcome != schemas.VoteApproved || len(v.Warnings) != 1 || v.Warnings[0].Code != code {
			t.Errorf("%+v", v)
		}
		if want := "validator remarks warns: " + code; len(r.Warnings) != 1 || r.Warnings[0] != want {
			t.Errorf("%q, want %q", r.Warnings, want)
		}
		for _, m := range (*asked)[1].Messages {
			if strings.Contains(m.Content, "remark") {
				t.Errorf("the model is told %q", m.Content)
			}
		}
	}
}

// Rule, function and judge judge one candidate in the order of checks, and one correction has what all of them reject.
func TestChecksJudgeTogetherInTheirOrder(t *testing.T) {
	var asked []*engine.GenerateRequest
	snap, err := prompts.LoadFS(fstest.MapFS{
		"emend.yaml":           &fstest.MapFile{Data: []byte("backends: {m: {dialect: openai, url: http://x}}\nprofiles: {p: {backend: m, model: m}}\n")},
		"prompts/judge@1.yaml": &fstest.MapFile{Data: []byte("profile: p\ninputs: {candidate: {}}\nmessages: [{user: 'JUDGE {{ .candidate }}'}]\n")},
		"prompts/say@1.yaml": &fstest.MapFile{Data: []byte("profile: p\nmessages: [{user: 'Say it.'}]\noutput: {mode: json, repair_attempts: 2}\nretries: 1\n" +
			"checks: [{go: small}, {judge: judge}, {rule: 'output < 10.0', code: digit, message: one digit}]\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var judged []string
	client := clientFunc(func(_ context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
		if candidate, ok := strings.CutPrefix(r.Messages[0].Content, "JUDGE "); ok {
			judged = append(judged, candidate)
			return &engine.GenerateResponse{Text: `{"reasons": [], "warnings": [{"code": "dull", "guidance": "x"}], "decision": "approve"}`}, nil
		}
		asked = append(asked, r)
		return &engine.GenerateResponse{Text: []string{"10", "7"}[len(asked)-1]}, nil
	})
	e, err := engine.New(snap, engine.WithLLMClient(client), engine.WithValidators(small))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "say"})
	if err != nil || r.Status != schemas.StatusSucceeded || r.Counts.Corrections != 1 || r.Counts.Repairs != 0 || strings.Join(judged, " ") != "10 7" {
		t.Fatalf("%+v %v, judged %q", r, err, judged)
	}
	correction := asked[1].Messages[2].Content
	if first, second := strings.Index(correction, "- too_large: Give one digit."), strings.Index(correction, "- digit: one digit"); first < 0 || second < first || strings.Contains(correction, "dull") {
		t.Errorf("%s", correction)
	}
	names := []string{}
	for _, v := range r.Validation.Validators {
		names = append(names, v.Name)
	}
	if got := strings.Join(names, " "); got != "small judge@1 digit" || len(r.Warnings) != 1 || r.Validation.Rules != schemas.RulesPassed {
		t.Errorf("%s %q", got, r.Warnings)
	}
}
