package provider

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	absent := time.Duration(-1)
	cases := []struct {
		ms, after string
		want      time.Duration
	}{
		{"", "", absent},
		{"", "0", 0},
		{"", " 7 ", 7 * time.Second},
		{"", "1.5", 1500 * time.Millisecond},
		{"", "1.0001", 1001 * time.Millisecond},
		{"", ".5", 500 * time.Millisecond},
		{"", "+5", absent},
		{"", "-5", absent},
		{"", "5s", absent},
		{"", "1.2.3", absent},
		{"", ".", absent},
		{"", "0x10", absent},
		{"", "1_000", absent},
		{"", "Infinity", absent},
		{"", "99999999999999999999", longestWait},
		{"", "1e5", absent},
		{"0.2", "", time.Millisecond},
		{"1500", "9", 1500 * time.Millisecond},
		{"-1", "9", 9 * time.Second},
		{"soon", "", absent},
		{"", "Mon, 30 Nov 2026 12:00:00 GMT", 0},
		{"", "Mon, 30 Nov 2026 12:01:00 GMT", time.Minute},
		{"", "Monday, 30-Nov-26 12:01:00 GMT", time.Minute},
		{"", "Mon Nov 30 12:01:00 2026", time.Minute},
		{"", "Mon, 30 Nov 2026 11:59:59 GMT", absent},
		{"", "Mon, 30 Nov 9999 12:00:00 GMT", longestWait},
	}
	for _, c := range cases {
		h := http.Header{}
		h.Set("Retry-After-Ms", c.ms)
		h.Set("Retry-After", c.after)
		got, ok := RetryAfter(h, now)
		if !ok {
			got = absent
		}
		if got != c.want {
			t.Errorf("ms %q, after %q: %s, want %s", c.ms, c.after, got, c.want)
		}
	}
	if _, ok := RetryAfter(nil, now); ok {
		t.Error("no header, and yet a wait")
	}
}

// TestRetryAfterIsNeverShortened: whatever fraction a provider writes, the wait is at least that and less than a
// millisecond more.
func TestRetryAfterIsNeverShortened(t *testing.T) {
	for i := range 5000 {
		exact := time.Duration(i) * 777_777 * time.Nanosecond
		h := http.Header{}
		h.Set("Retry-After", decimal(exact))
		got, ok := RetryAfter(h, time.Time{})
		if !ok || got < exact || got-exact > time.Millisecond || got%time.Millisecond != 0 {
			t.Fatalf("%s became %s", h.Get("Retry-After"), got)
		}
	}
}

// decimal writes a duration in seconds without an exponent.
func decimal(d time.Duration) string {
	ns := d % time.Second
	digits := make([]byte, 9)
	for i := 8; i >= 0; i-- {
		digits[i] = byte('0' + ns%10)
		ns /= 10
	}
	var e Encoder
	e.Int(int64(d / time.Second))
	return string(e.Bytes()) + "." + string(digits)
}
