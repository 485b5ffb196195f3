package subjects

import (
	"crypto/rand"
	"fmt"
	"strings"
)

// ValidID reports whether s may be a run's id: [A-Za-z0-9_-]{1,128}.
func ValidID(s string) bool {
	if s == "" || len(s) > MaxID {
		return false
	}
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// CheckID says what is wrong with an id; nil if nothing is.
func CheckID(s string) error {
	if ValidID(s) {
		return nil
	}
	return fmt.Errorf("id %s: it must have 1 to %d characters of A-Z a-z 0-9 _ -", quote(s), MaxID)
}

// ValidName reports whether s may name a backend, queue, pipeline or space: [a-z][a-z0-9-]*, at most 63 bytes.
func ValidName(s string) bool {
	if s == "" || len(s) > MaxName || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

func checkName(what, s string) error {
	if ValidName(s) {
		return nil
	}
	return fmt.Errorf("%s %s: it must match [a-z][a-z0-9-]* and have at most %d characters", what, quote(s), MaxName)
}

// checkKind: kinds of an event are words, such as attempt_started.
func checkKind(s string) error {
	if s == "" || len(s) > MaxName || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return fmt.Errorf("event kind %s: it must have 1 to %d characters of a-z _", quote(s), MaxName)
	}
	return nil
}

// quote shows odd bytes escaped, and a long text by its beginning.
func quote(s string) string {
	if len(s) > 48 {
		return fmt.Sprintf("%+q... (%d bytes)", s[:48], len(s))
	}
	return fmt.Sprintf("%+q", s)
}

// NewID mints a random id of 26 characters.
func NewID() string { return rand.Text() }
