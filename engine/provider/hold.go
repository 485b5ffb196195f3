package provider

import (
	"net/http"
	"strings"
	"time"
)

// limits are the headers in which providers tell what is left of a rate limit, and when it is whole again.
var limits = []struct{ left, reset string }{
	{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
}

// hold is how long nothing is left of one of the limits that a reply tells of; 0 when something is, or it is not told.
func hold(h http.Header, now time.Time) time.Duration {
	longest := time.Duration(0)
	for _, l := range limits {
		if v := h[l.left]; len(v) == 1 && strings.TrimSpace(v[0]) == "0" {
			longest = max(longest, until(h.Get(l.reset), now))
		}
	}
	return longest
}

// until reads a reset: a duration such as 1m30s or 20ms, seconds, or a time.
func until(v string, now time.Time) time.Duration {
	v = strings.TrimSpace(v)
	if d, ok := wait(v, time.Second); ok {
		return d
	}
	if d, err := time.ParseDuration(v); err == nil {
		return max(ceil(d), 0)
	}
	if at, err := time.Parse(time.RFC3339, v); err == nil && at.After(now) {
		return ceil(at.Sub(now))
	}
	return 0
}
