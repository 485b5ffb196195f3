package provider

import (
	"net/http"
	"testing"
	"time"
)

func TestHold(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		headers []string
		want    time.Duration
	}{
		"none":                 {nil, 0},
		"something is left":    {[]string{"x-ratelimit-remaining-requests", "3", "x-ratelimit-reset-requests", "1s"}, 0},
		"requests":             {[]string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1m30s"}, 90 * time.Second},
		"the longer":           {[]string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "20ms", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "2.5"}, 2500 * time.Millisecond},
		"a time":               {[]string{"anthropic-ratelimit-tokens-remaining", "0", "anthropic-ratelimit-tokens-reset", "2026-12-01T10:00:05Z"}, 5 * time.Second},
		"a time that has been": {[]string{"anthropic-ratelimit-tokens-remaining", "0", "anthropic-ratelimit-tokens-reset", "2026-12-01T09:00:05Z"}, 0},
		"no reset":             {[]string{"x-ratelimit-remaining-requests", "0"}, 0},
		"nonsense":             {[]string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "-5m"}, 0},
	} {
		h := http.Header{}
		for i := 0; i+1 < len(c.headers); i += 2 {
			h.Set(c.headers[i], c.headers[i+1])
		}
		if got := hold(h, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
