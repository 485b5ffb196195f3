package contract

import (
	"encoding/json"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestNumbersAgainstRationals compares the decimal arithmetic with math/big.
func TestNumbersAgainstRationals(t *testing.T) {
	lexeme := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := lexeme.Draw(t, "a"), lexeme.Draw(t, "b")
		checkNumbers(t, a, b)
		checkNumbers(t, a, a+"e0")
		checkNumbers(t, a, "1"+b)
	})
	for _, p := range [][2]string{
		{"0", "-0"}, {"19.99", "0.01"}, {"1e18", "1"}, {"999999999999999999", "3"}, {"1e19", "7"}, {"1", "1e-19"},
		{"123456789012345678901234567890", "10"}, {"-4.5", "1.5"}, {"1e4096", "1e-4096"}, {"7e4096", "3"}, {"0.1", "0.10"}, {"10", "9"},
	} {
		checkNumbers(t, p[0], p[1])
	}
}

func checkNumbers(t interface {
	Helper()
	Errorf(string, ...any)
}, a, b string) {
	t.Helper()
	if !json.Valid([]byte(a)) || !json.Valid([]byte(b)) {
		return
	}
	x, _ := new(big.Rat).SetString(a)
	y, _ := new(big.Rat).SetString(b)
	n, m := parseNumber(a), parseNumber(b)
	if n.compare(m) != x.Cmp(y) {
		t.Errorf("%s against %s: %d, want %d", a, b, n.compare(m), x.Cmp(y))
	}
	if isInteger(a) != x.IsInt() {
		t.Errorf("%s is an integer: %t", a, isInteger(a))
	}
	if y.Sign() == 0 {
		return
	}
	if want := new(big.Rat).Quo(x, y).IsInt(); n.multipleOf(m) != want {
		t.Errorf("%s is a multiple of %s: %t", a, b, !want)
	}
}

func TestAbove(t *testing.T) {
	for _, c := range []struct {
		a, b json.Number
		want bool
	}{
		{"5", "1", true}, {"1", "5", false}, {"1.0", "1", false}, {"9007199254740993", "9007199254740992", true}, {"-1", "-2", true},
		{"1e3", "999", true}, {"x", "1", false}, {"1", "", false},
	} {
		if Above(c.a, c.b) != c.want {
			t.Errorf("%s above %s is not %t", c.a, c.b, c.want)
		}
	}
}
