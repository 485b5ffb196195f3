package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"emend/capacity"
	"emend/engine"
	"emend/engine/provider/dialects"
	"emend/prompts"
	"emend/schemas"
)

// faults are the error bodies of one dialect's provider, by what is wrong.
type faults struct{ key, model, quota, throttled, overloaded reply }

func errorReply(status int, body string) reply { return reply{status: status, body: body} }

// providerFaults holds every dialect that has a network.
var providerFaults = map[string]faults{
	"openai": {
		key:        errorReply(401, `{"error":{"message":"x","type":"invalid_request_error","code":"invalid_api_key"}}`),
		model:      errorReply(404, `{"error":{"message":"x","type":"invalid_request_error","code":"model_not_found"}}`),
		quota:      errorReply(429, `{"error":{"message":"x","type":"insufficient_quota","code":"insufficient_quota"}}`),
		throttled:  errorReply(429, `{"error":{"message":"x","type":"requests","code":"rate_limit_exceeded"}}`),
		overloaded: errorReply(529, `{"error":{"message":"x"}}`),
	},
	"anthropic": {
		key:        errorReply(401, `{"type":"error","error":{"type":"authentication_error","message":"x"}}`),
		model:      errorReply(404, `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`),
		quota:      errorReply(429, `{"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}}`),
		throttled:  errorReply(429, `{"type":"error","error":{"type":"rate_limit_error","message":"x","details":null}}`),
		overloaded: errorReply(529, `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`),
	},
	"gemini": {
		key:   errorReply(400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`),
		model: errorReply(404, `{"error":{"code":404,"message":"x","status":"NOT_FOUND"}}`),
		quota: errorReply(429, `{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure",`+
			`"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]}]}}`),
		throttled:  errorReply(429, `{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED"}}`),
		overloaded: errorReply(529, `{"error":{"code":529,"message":"x"}}`),
	},
	"ollama": {
		key:        errorReply(401, `{"error":"unauthorized"}`),
		model:      errorReply(404, `{"error":"model 'm' not found"}`),
		quota:      errorReply(402, `{"error":"x"}`),
		throttled:  errorReply(503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`),
		overloaded: errorReply(529, `{"error":"x"}`),
	},
}

// TestWhatWaitingDoesNotMend: of every provider a bad key, an unknown model and an exhausted account cost one call and
// close the gate with their cause; a throttled one is retried, an overloaded one only where the backend says so.
func TestWhatWaitingDoesNotMend(t *testing.T) {
	for _, dialect := range networked() {
		f, ok := providerFaults[dialect]
		if !ok {
			t.Errorf("dialect %s has no faults in this test: add its provider's error bodies", dialect)
			continue
		}
		for name, c := range map[string]struct {
			reply reply
			extra []int
			calls int
			phase capacity.Phase
		}{
			"bad key":       {f.key, nil, 1, capacity.Closed},
			"unknown model": {f.model, nil, 1, capacity.Closed},
			"quota":         {f.quota, nil, 1, capacity.Closed},
			"throttled":     {f.throttled, nil, 2, capacity.Slow},
			"overloaded":    {f.overloaded, nil, 1, capacity.Open},
			"opted in":      {f.overloaded, []int{529}, 2, capacity.Open},
		} {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &wire{replies: []reply{c.reply, c.reply}}
					e := engineOver(t, speaking(dialect, c.extra), engine.WithTransport(w), engine.WithTrouble())
					_, err := e.Run(t.Context(), engine.RunRequest{Prompt: "in-none", Inputs: map[string]any{"q": "why"}, TransientRetries: new(1)})
					ge, ok := errors.AsType[*engine.GenerationError](err)
					if !ok || ge.Kind != schemas.CategoryProviderStatus || ge.Status != c.reply.status || w.calls() != c.calls {
						t.Fatalf("%d calls, %v", w.calls(), err)
					}
					if s := e.Gate("b").State(); s.Phase != c.phase || (s.Phase == capacity.Open) != (s.Cause == "") {
						t.Errorf("the gate is %+v, want %s", s, c.phase)
					}
				})
			})
		}
	}
}

// networked lists the dialects that call a server.
func networked() []string {
	var out []string
	for _, name := range dialects.Names() {
		if entry, err := dialects.Lookup(name); err == nil && entry.Transport == nil {
			out = append(out, name)
		}
	}
	return out
}

func speaking(dialect string, extra []int) prompts.Definitions {
	d := definitions(2, 4)
	b := d.Config.Backends["b"]
	b.Dialect, b.ExtraStatuses = dialect, extra
	d.Config.Backends["b"] = b
	return d
}
