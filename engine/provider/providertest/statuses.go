package providertest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"emend/engine/provider"
)

// statusCase is a status with the facts that it must come to. Those with telling are facts of the code, not of the status.
type statusCase struct {
	name               string
	status             int
	code               string
	permanent, account bool
	telling            bool
}

var statusCases = []statusCase{
	{"schema refused", 400, "invalid_schema", true, false, false},
	{"context too long", 400, "context_length_exceeded", true, false, false},
	{"bad key", 401, "invalid_api_key", false, true, false},
	{"forbidden", 403, "permission_denied", false, true, false},
	{"model not found", 404, "model_not_found", false, true, false},
	{"no such path", 404, "not_found", false, true, false},
	{"request timeout", 408, "timeout", false, false, false},
	{"conflict", 409, "conflict", false, false, false},
	{"too large", 413, "request_too_large", true, false, false},
	{"throttled", 429, "rate_limit_exceeded", false, false, false},
	{"quota", 429, "insufficient_quota", true, true, true},
	{"spend limit", 429, "enforced_spend_limit_reached", true, true, true},
	{"billing", 429, "billing_hard_limit_reached", true, true, true},
	{"server error", 500, "server_error", false, false, false},
	{"unavailable", 503, "unavailable", false, false, false},
	{"overloaded", 529, "overloaded_error", false, false, false},
}

func (s Subject) statuses(t *testing.T) {
	for _, c := range statusCases {
		if s.NoCodes && c.telling {
			continue
		}
		if s.NoCodes {
			c.code = ""
		}
		t.Run(c.name, func(t *testing.T) {
			client, ep := s.serve(t, Fixture{Status: c.status, Body: s.Fault(c.status, c.code, FaultText)})
			pe := fails(t, client, ep)
			if pe.Kind != provider.KindStatus || pe.Status != c.status || pe.Code != c.code {
				t.Errorf("kind %s, status %d, code %q; want provider_status, %d, %q", pe.Kind, pe.Status, pe.Code, c.status, c.code)
			}
			if pe.Permanent != c.permanent || pe.Account != c.account {
				t.Errorf("permanent %v, account %v; want %v, %v", pe.Permanent, pe.Account, c.permanent, c.account)
			}
			if strings.Contains(pe.Error(), "planted") || !strings.Contains(pe.Detail, FaultText) || pe.Billed() {
				t.Errorf("error %q, detail %q, billed %v", pe.Error(), pe.Detail, pe.Billed())
			}
		})
	}
	t.Run("schema refused by name", s.schemaRefused)
	for name, body := range map[string]string{"html": "<html>planted", "empty": "", "broken": `{"error"`, "null": "null"} {
		t.Run("unreadable 503 "+name, func(t *testing.T) {
			client, ep := s.serve(t, Fixture{Status: 503, Body: body})
			if pe := fails(t, client, ep); pe.Kind != provider.KindStatus || pe.Status != 503 || pe.Code != "" {
				t.Errorf("got %+v", pe)
			}
		})
	}
}

// schemaRefused: a 400 about the schema is typed, permanent, and names the keyword if the provider does. Without a schema
// in the request it is any other 400.
func (s Subject) schemaRefused(t *testing.T) {
	client, ep := s.serve(t, Fixture{Status: 400, Body: s.Fault(400, "bad_request", "planted: the schema's 'minLength' is not supported")})
	for _, sent := range []bool{true, false} {
		req := request()
		if sent {
			req.Schema = &provider.Schema{Name: "answer", Bytes: []byte(`{"type":"object","properties":{"a":{"type":"string","minLength":3}},"required":["a"],"additionalProperties":false}`)}
		}
		_, err := client.Do(t.Context(), ep, req)
		pe, ok := provider.AsError(err)
		if !ok || pe.Kind != provider.KindStatus || !pe.Permanent || pe.Account || pe.Schema != sent || (pe.Keyword == "minLength") != sent {
			t.Errorf("schema sent %v: got %+v", sent, err)
		}
		if strings.Contains(pe.Error(), "planted") || sent && !strings.Contains(pe.Error(), "minLength") {
			t.Errorf("schema sent %v: %v", sent, pe)
		}
	}
}

// clock is the client's time in the tests of dates.
var clock = time.Date(2026, 11, 30, 12, 0, 0, 300_000_000, time.UTC)

var retryCases = map[string]struct {
	header    map[string]string
	wait      time.Duration
	has       bool
	permanent bool
}{
	"absent":       {},
	"seconds":      {header: map[string]string{"Retry-After": "2"}, wait: 2 * time.Second, has: true},
	"zero":         {header: map[string]string{"Retry-After": "0"}, has: true},
	"fraction":     {header: map[string]string{"Retry-After": "1.5"}, wait: 1500 * time.Millisecond, has: true},
	"rounded up":   {header: map[string]string{"Retry-After": "0.0001"}, wait: time.Millisecond, has: true},
	"milliseconds": {header: map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, wait: 250 * time.Millisecond, has: true},
	"date":         {header: map[string]string{"Retry-After": "Mon, 30 Nov 2026 12:00:30 GMT"}, wait: 29700 * time.Millisecond, has: true},
	"date past":    {header: map[string]string{"Retry-After": "Mon, 30 Nov 2026 11:00:00 GMT"}},
	"negative":     {header: map[string]string{"Retry-After": "-3"}},
	"garbage":      {header: map[string]string{"Retry-After": "soon"}},
	"exponent":     {header: map[string]string{"Retry-After": "1e9"}},
	"not a number": {header: map[string]string{"Retry-After": "NaN", "Retry-After-Ms": "Inf"}},
	"ms garbage":   {header: map[string]string{"Retry-After-Ms": "x", "Retry-After": "3"}, wait: 3 * time.Second, has: true},
	"no retry":     {header: map[string]string{"X-Should-Retry": "false", "Retry-After": "2"}, wait: 2 * time.Second, has: true, permanent: true},
	"retry":        {header: map[string]string{"X-Should-Retry": "true"}},
}

func (s Subject) retryAfter(t *testing.T) {
	for name, c := range retryCases {
		t.Run(name, func(t *testing.T) {
			_, ep := s.serve(t, Fixture{Status: http.StatusTooManyRequests, Header: c.header, Body: s.Fault(429, "rate_limit_exceeded", "slow down")})
			client := provider.NewClient(provider.ClientOptions{Now: func() time.Time { return clock }})
			defer client.CloseIdle()
			pe := fails(t, client, ep)
			if pe.RetryAfter != c.wait || pe.HasRetryAfter != c.has || pe.Permanent != c.permanent {
				t.Errorf("wait %s, has %v, permanent %v; want %s, %v, %v", pe.RetryAfter, pe.HasRetryAfter, pe.Permanent, c.wait, c.has, c.permanent)
			}
		})
	}
}
