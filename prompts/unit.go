package prompts

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is written 90s, 1h30m or 7d.
type Duration time.Duration

// Std returns the standard form.
func (d Duration) Std() time.Duration { return time.Duration(d) }

const day = 24 * time.Hour

// String writes whole days as 7d and anything else as time.Duration does, without zero parts: 1h30m.
func (d Duration) String() string {
	std := d.Std()
	if std != 0 && std%day == 0 {
		return strconv.FormatInt(int64(std/day), 10) + "d"
	}
	s := std.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

var errDuration = errors.New("a duration needs a number and a unit, such as 500ms, 90s, 15m, 24h or 7d")

// ParseDuration reads what a definition may say: Go's units and d for 24 hours, days first.
func ParseDuration(s string) (Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		d, err := time.ParseDuration(s)
		if err != nil || s == "0" || s[0] == '-' || s[0] == '+' {
			return 0, errDuration
		}
		return Duration(d), nil
	}
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil || n > uint64(math.MaxInt64/int64(day)) {
		return 0, errDuration
	}
	more := Duration(0)
	if rest != "" {
		if more, err = ParseDuration(rest); err != nil || more < 0 || strings.Contains(rest, "d") {
			return 0, errDuration
		}
	}
	total := Duration(n)*Duration(day) + more
	if total < more {
		return 0, errDuration
	}
	return total, nil
}

// Size is a number of bytes that is written 64KiB, 10MiB or 4GiB.
type Size int64

// units in descending order: the first that divides a size writes it.
var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// String writes the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range units {
		if s != 0 && int64(s)%u.bytes == 0 {
			return fmt.Sprintf("%d%s", int64(s)/u.bytes, u.name)
		}
	}
	return "0B"
}

var errSize = errors.New("a size needs a whole number and a unit: B, KiB, MiB, GiB or TiB, such as 64KiB")

// ParseSize reads a size with its unit.
func ParseSize(s string) (Size, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || n > uint64(math.MaxInt64/u.bytes) {
			return 0, errSize
		}
		return Size(int64(n) * u.bytes), nil
	}
	return 0, errSize
}
