package provider

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads a reply's minimum wait: retry-after-ms, else Retry-After as seconds, as a fraction of seconds or as
// an HTTP date. It is rounded up to the millisecond, never shortened. What is negative, past or no number is absent.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if d, ok := wait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d, true
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := wait(v, time.Second); ok {
		return d, true
	}
	at, err := http.ParseTime(v)
	if err != nil || at.Before(now) {
		return 0, false
	}
	return ceil(at.Sub(now)), true
}

// longestWait is the longest wait that is believed: ten years, so that sums cannot overflow.
const longestWait = 10 * 365 * 24 * time.Hour

// wait reads a plain decimal number: no sign, no exponent, no "Inf".
func wait(v string, unit time.Duration) (time.Duration, bool) {
	v = strings.TrimSpace(v)
	if v == "" || strings.Trim(v, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil && !math.IsInf(f, 1) {
		return 0, false
	}
	if f >= float64(longestWait/unit) {
		return longestWait, true
	}
	return ceil(time.Duration(math.Ceil(f * float64(unit)))), true
}

func ceil(d time.Duration) time.Duration {
	d = min(d, longestWait)
	if r := d % time.Millisecond; r > 0 {
		d += time.Millisecond - r
	}
	return d
}
