package corrupt

import (
	"encoding/json"
	"math/big"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxCount bounds the items and characters of an instance.
const maxCount = 1000

// count is a keyword such as minItems, or what stands in for it.
func count(s object, keyword string, absent int) int {
	n, ok := s[keyword].(json.Number)
	if !ok {
		return absent
	}
	i, err := n.Int64()
	if err != nil {
		return absent
	}
	return int(min(max(i, 0), maxCount))
}

// formats have a value each, which the judge accepts.
var formats = map[string]string{
	"date": "2026-03-15", "date-time": "2026-03-15T09:30:00Z", "time": "09:30:00Z", "duration": "P1D", "email": "a@example.org",
	"idn-email": "a@example.org", "hostname": "example.org", "idn-hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uuid": "3b241101-e2bb-4255-8caf-4136c566a962", "uri": "https://example.org/", "uri-reference": "/a", "iri": "https://example.org/",
	"iri-reference": "/a", "uri-template": "/a", "json-pointer": "/a", "relative-json-pointer": "0", "regex": "a",
}

// text builds a string: one of its format, the least that its pattern matches, or letters.
func text(s object) string {
	if name, ok := s["format"].(string); ok && formats[name] != "" {
		return formats[name]
	}
	out := "text"
	if expr, ok := s["pattern"].(string); ok {
		if re, err := syntax.Parse(expr, syntax.Perl); err == nil {
			out = matching(re.Simplify())
		}
	}
	if missing := count(s, "minLength", 0) - utf8.RuneCountInString(out); missing > 0 {
		out += strings.Repeat("x", missing)
	}
	if most := count(s, "maxLength", maxCount); utf8.RuneCountInString(out) > most {
		out = string([]rune(out)[:most])
	}
	return out
}

// matching builds the least text that an expression matches. What stands for an empty place (an anchor, a word boundary)
// adds nothing.
func matching(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return likely(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpCapture, syntax.OpPlus:
		return matching(re.Sub[0])
	case syntax.OpAlternate:
		return matching(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(matching(re.Sub[0]), min(re.Min, maxCount))
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(matching(sub))
		}
		return b.String()
	}
	return ""
}

// likely is a character of a class, rather a letter or a digit than another.
func likely(ranges []rune) string {
	for _, want := range "aAx0" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return string(want)
			}
		}
	}
	if len(ranges) == 0 {
		return ""
	}
	return string(ranges[0])
}

// number builds a number within its bounds: the least above the lower one, the greatest below the upper one, or one.
func number(s object) json.Number {
	step := "1"
	if m, ok := s["multipleOf"].(json.Number); ok {
		step = string(m)
	}
	lower, above := bound(s, "minimum", "exclusiveMinimum")
	upper, below := bound(s, "maximum", "exclusiveMaximum")
	switch {
	case lower != "" && upper != "":
		return between(lower, upper, step, above, below)
	case lower != "":
		return multiple(lower, step, above, 1)
	case upper != "":
		return multiple(upper, step, below, -1)
	}
	return json.Number(step)
}

// bound returns a bound of a schema and whether it is excluded.
func bound(s object, inclusive, exclusive string) (string, bool) {
	if n, ok := s[exclusive].(json.Number); ok {
		return string(n), true
	}
	n, _ := s[inclusive].(json.Number)
	return string(n), s[exclusive] == true
}

// multiple is the multiple of step that is nearest to a bound on its good side.
func multiple(bound, step string, excluded bool, sign int64) json.Number {
	b, ok1 := new(big.Rat).SetString(bound)
	by, ok2 := new(big.Rat).SetString(step)
	if !ok1 || !ok2 || by.Sign() <= 0 {
		return json.Number(bound)
	}
	n := new(big.Rat).Quo(b, by)
	whole := new(big.Int).Quo(n.Num(), n.Denom())
	for range 3 {
		at := new(big.Rat).Mul(new(big.Rat).SetInt(whole), by)
		if d := int64(at.Cmp(b)) * sign; d > 0 || d == 0 && !excluded {
			return decimal(at)
		}
		whole.Add(whole, big.NewInt(sign))
	}
	return json.Number(bound)
}

// between is the least multiple within two bounds, or the middle where there is none.
func between(lower, upper, step string, above, below bool) json.Number {
	n := multiple(lower, step, above, 1)
	at, ok1 := new(big.Rat).SetString(string(n))
	lo, ok2 := new(big.Rat).SetString(lower)
	hi, ok3 := new(big.Rat).SetString(upper)
	if !ok1 || !ok2 || !ok3 || at.Cmp(hi) < 0 || at.Cmp(hi) == 0 && !below {
		return n
	}
	return decimal(new(big.Rat).Quo(new(big.Rat).Add(lo, hi), big.NewRat(2, 1)))
}

// decimal writes a rational number with as many places as it needs, at most 30.
func decimal(r *big.Rat) json.Number {
	if r.IsInt() {
		return json.Number(r.Num().String())
	}
	return json.Number(strings.TrimRight(r.FloatString(30), "0"))
}

func sum(n string, more int64) string {
	r, ok := new(big.Rat).SetString(n)
	if !ok {
		return n
	}
	return string(decimal(r.Add(r, big.NewRat(more, 1))))
}
