package contract

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// number is an exact decimal: digits times ten to exp. Zero has no digits.
type number struct {
	negative bool
	digits   string
	exp      int
}

// parseNumber reads a JSON number that the scan has accepted; digits bear no zeros at either end.
func parseNumber(lexeme string) number {
	mantissa := strings.TrimPrefix(lexeme, "-")
	n := number{negative: len(mantissa) < len(lexeme)}
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		n.exp, _ = strconv.Atoi(strings.TrimPrefix(mantissa[i+1:], "+"))
		mantissa = mantissa[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	n.digits = strings.TrimRight(digits, "0")
	n.exp += len(digits) - len(n.digits) - len(fraction)
	if n.digits == "" {
		return number{}
	}
	return n
}

// isInteger reports whether a JSON number has no fraction: 1.0 is an integer.
func isInteger(lexeme string) bool {
	return !strings.ContainsAny(lexeme, ".eE") || parseNumber(lexeme).exp >= 0
}

// compare orders two numbers without expanding their exponents.
func (n number) compare(m number) int {
	if n.sign() != m.sign() || n.sign() == 0 {
		return cmp.Compare(n.sign(), m.sign())
	}
	size := cmp.Compare(len(n.digits)+n.exp, len(m.digits)+m.exp)
	return n.sign() * cmp.Or(size, strings.Compare(n.digits, m.digits))
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// multipleOf reports whether n is a whole multiple of m, which is not zero.
func (n number) multipleOf(m number) bool {
	shift := n.exp - m.exp
	if len(n.digits)+max(shift, 0) <= 18 && len(m.digits)+max(-shift, 0) <= 18 {
		return n.small(shift)%m.small(-shift) == 0
	}
	return new(big.Int).Rem(n.large(shift), m.large(-shift)).Sign() == 0
}

// small is the number's digits with shift zeros behind them, at most 18 digits in all.
func (n number) small(shift int) int64 {
	v, _ := strconv.ParseInt("0"+n.digits, 10, 64)
	for range shift {
		v *= 10
	}
	return v
}

func (n number) large(shift int) *big.Int {
	v, _ := new(big.Int).SetString("0"+n.digits+strings.Repeat("0", max(shift, 0)), 10)
	return v
}

// bound is one numeric keyword of a sub-schema.
type bound struct {
	limit  number
	broken func(value, limit number) bool
	kind   jsonschema.ErrorKind
}

var boundKinds = map[string]bound{
	"minimum":          {broken: func(v, l number) bool { return v.compare(l) < 0 }, kind: &kind.Minimum{}},
	"maximum":          {broken: func(v, l number) bool { return v.compare(l) > 0 }, kind: &kind.Maximum{}},
	"exclusiveMinimum": {broken: func(v, l number) bool { return v.compare(l) <= 0 }, kind: &kind.ExclusiveMinimum{}},
	"exclusiveMaximum": {broken: func(v, l number) bool { return v.compare(l) >= 0 }, kind: &kind.ExclusiveMaximum{}},
	"multipleOf":       {broken: func(v, l number) bool { return !v.multipleOf(l) }, kind: &kind.MultipleOf{}},
}

// takeBounds moves the numeric keywords of s, as obj writes them, into bounds.
func takeBounds(s *jsonschema.Schema, obj map[string]any) []bound {
	s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf = nil, nil, nil, nil, nil
	var bounds []bound
	for keyword, b := range boundKinds {
		limit, ok := obj[limitKey(keyword, obj)].(json.Number)
		if !ok {
			continue
		}
		b.limit = parseNumber(string(limit))
		bounds = append(bounds, b)
	}
	return bounds
}

// limitKey returns where the limit of a keyword stands: in draft-04 exclusiveMaximum is a flag that makes maximum
// exclusive.
func limitKey(keyword string, obj map[string]any) string {
	switch {
	case keyword == "maximum" && obj["exclusiveMaximum"] == true, keyword == "minimum" && obj["exclusiveMinimum"] == true:
		return ""
	case keyword == "exclusiveMaximum" && obj[keyword] == true:
		return "maximum"
	case keyword == "exclusiveMinimum" && obj[keyword] == true:
		return "minimum"
	}
	return keyword
}

// Above reports whether a is greater than b, exactly; false if one of them is no JSON number.
func Above(a, b json.Number) bool {
	x, ok := spelled(string(a))
	y, fine := spelled(string(b))
	return ok && fine && x.compare(y) > 0
}
