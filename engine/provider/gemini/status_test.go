package gemini_test

import (
	"strings"
	"testing"
	"time"

	"emend/engine/provider"
	"emend/engine/provider/gemini"
)

const rpc = `"@type":"type.googleapis.com/google.rpc.`

var statusCases = map[string]struct {
	status             int
	fault              string
	code, reason       string
	permanent, account bool
	wait               time.Duration
}{
	"a limit by the minute": {429, `"status":"RESOURCE_EXHAUSTED","message":"planted","details":[{` + rpc + `QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"15"}]},{` + rpc + `RetryInfo","retryDelay":"36.2s"}]`,
		"RESOURCE_EXHAUSTED", "too many requests", false, false, 36200 * time.Millisecond},
	"a limit by the day": {429, `"status":"RESOURCE_EXHAUSTED","details":[{` + rpc + `QuotaFailure","violations":[{"quotaId":"X"},{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"50"}]},{` + rpc + `RetryInfo","retryDelay":"36s"}]`,
		"RESOURCE_EXHAUSTED", "quota for the day", true, true, 0},
	"a limit of zero": {429, `"status":"RESOURCE_EXHAUSTED","details":[{` + rpc + `QuotaFailure","violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute","quotaValue":"0"}]}]`,
		"RESOURCE_EXHAUSTED", "no quota for this model", true, true, 0},
	"overloaded": {503, `"status":"UNAVAILABLE","message":"The model is overloaded.","details":[{` + rpc + `RetryInfo","retryDelay":"0.5s"},{` + rpc + `RetryInfo","retryDelay":"soon"}]`,
		"UNAVAILABLE", "", false, false, 500 * time.Millisecond},
	"a delay without a unit": {503, `"status":"UNAVAILABLE","details":[{` + rpc + `RetryInfo","retryDelay":"7"},{"@type":7},"x"]`, "UNAVAILABLE", "", false, false, 0},
	"a wrong key": {400, `"status":"INVALID_ARGUMENT","message":"API key not valid. planted","details":[{` + rpc + `ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]`,
		"API_KEY_INVALID", "the key was refused", false, true, 0},
	"another reason":     {400, `"status":"INVALID_ARGUMENT","details":[{` + rpc + `ErrorInfo","reason":"SOMETHING"}]`, "INVALID_ARGUMENT", "refused the request", true, false, 0},
	"no such model":      {404, `"status":"NOT_FOUND","message":"models/planted is not found for API version v1beta"`, "NOT_FOUND", "no such endpoint or model", false, true, 0},
	"the wrong region":   {400, `"status":"FAILED_PRECONDITION","message":"User location is not supported for the API use."`, "FAILED_PRECONDITION", "region", true, true, 0},
	"forbidden":          {403, `"status":"PERMISSION_DENIED"`, "PERMISSION_DENIED", "may not use", false, true, 0},
	"the prompt is long": {400, `"status":"INVALID_ARGUMENT","message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576) for this schema."`, "INVALID_ARGUMENT", "longer than the model's context", true, false, 0},
	"deadline":           {504, `"status":"DEADLINE_EXCEEDED"`, "DEADLINE_EXCEEDED", "", false, false, 0},
}

func TestReadStatus(t *testing.T) {
	for name, c := range statusCases {
		_, err := read(c.status, `{"error":{"code":7,`+c.fault+`}}`)
		pe, ok := provider.AsError(err)
		if !ok || pe.Kind != provider.KindStatus || pe.Status != c.status || pe.Code != c.code || pe.Permanent != c.permanent || pe.Account != c.account {
			t.Errorf("%s: got %+v", name, err)
		}
		if pe.RetryAfter != c.wait || pe.HasRetryAfter != (c.wait > 0) || !strings.Contains(pe.Reason, c.reason) || strings.Contains(pe.Error(), "planted") {
			t.Errorf("%s: wait %s, %v", name, pe.RetryAfter, pe)
		}
	}
	_, err := read(500, `{"error":{},"usageMetadata":{"promptTokenCount":3}}`)
	if pe, _ := provider.AsError(err); pe.Tokens == nil || *pe.Tokens.Input != 3 {
		t.Errorf("usage of a failed call is lost: %+v", pe)
	}
}

func TestReadARefusedSchema(t *testing.T) {
	for message, keyword := range map[string]string{
		`Invalid JSON payload received. Unknown name \"multipleOf\" at 'generation_config.response_json_schema': Cannot find field.`:                   "multipleOf",
		`* GenerateContentRequest.generation_config.response_schema.properties[url].format: only 'enum' and 'date-time' are supported for STRING type`: "format",
		`The specified schema produces a constraint that has too many states for serving.`:                                                             "",
		`* GenerateContentRequest.generation_config.response_schema.properties[planted].planted: should be non-empty`:                                  "",
	} {
		body := `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"` + message + `"}}`
		for _, sent := range []bool{true, false} {
			_, err := gemini.New().Read(&provider.Endpoint{}, &provider.Reply{Status: 400, Body: []byte(body), Asked: provider.Asked{Native: sent}})
			pe, _ := provider.AsError(err)
			if !pe.Permanent || pe.Schema != sent || sent && pe.Keyword != keyword || strings.Contains(pe.Error(), "planted") {
				t.Errorf("%s: keyword %q, schema %v, %v", message, pe.Keyword, pe.Schema, pe)
			}
		}
	}
}
