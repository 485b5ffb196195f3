package prompts

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
		out  string
	}{
		{
			"90s",
			90 * time.Second,
			"1m30s",
		}, {
			"7d",
			7 * day,
			"7d",
		}, {"1d12h", 36 * time.Hour, "36h"}, {"1h30m", 90 * time.Minute, "1h30m"},
		{
			"500ms",
			500 * time.Millisecond,
			"500ms",
		}, {
			"1.5h",
			90 * time.Minute,
			"1h30m",
		}, {"0s", 0, "0s"}, {"0d", 0, "0s"}, {"24h", day, "1d"},
		{"2d1h1m1s", 49*time.Hour + 61*time.Second, "49h1m1s"},
	} {
		d, err := ParseDuration(c.in)
		if err != nil || d.Std() != c.want || d.String() != c.out {
			t.Errorf("%s: %v (%s), %v", c.in, d.Std(), d, err)
		}
		if again, err := ParseDuration(d.String()); err != nil || again != d {
			t.Errorf("%s: written %s, read back %v, %v", c.in, d, again, err)
		}
	}
	for _, in := range []string{
		"",
		"0",
		"90",
		"d",
		"7",
		"1.5d",
		"-5s",
		"+5s",
		"-1d",
		"1d-5h",
		"1d1d",
		"5 s",
		"106752d",
		"9999999999d",
		"1w",
		"s",
		"106751d24h",
		"3h2d",
		"7D",
	} {
		if d, err := ParseDuration(in); err == nil {
			t.Errorf("%q is read as %s", in, d)
		}
	}
}

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Size
		out  string
	}{
		{
			"64KiB",
			64 << 10,
			"64KiB",
		}, {
			"1024KiB",
			1 << 20,
			"1MiB",
		}, {
			"4GiB",
			4 << 30,
			"4GiB",
		}, {"1TiB", 1 << 40, "1TiB"}, {"1000B", 1000, "1000B"},
		{"0B", 0, "0B"}, {"0GiB", 0, "0B"},
	} {
		s, err := ParseSize(c.in)
		if err != nil || s != c.want || s.String() != c.out {
			t.Errorf("%s: %d (%s), %v", c.in, s, s, err)
		}
	}
	for _, in := range []string{
		"",
		"64",
		"64KB",
		"64K",
		"-1KiB",
		"+1KiB",
		"1.5MiB",
		"9999999999TiB",
		"KiB",
		"64 KiB",
		"64kib",
		"1_000B",
	} {
		if s, err := ParseSize(in); err == nil {
			t.Errorf("%q is read as %s", in, s)
		}
	}
}
