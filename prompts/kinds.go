package prompts

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// text is a string: one of a few words, of a pattern, or any of bounded length.
type text struct {
	oneOf []string
	// later are words of the design that this version refuses.
	later   []string
	pattern *regexp.Regexp
	// what says in words what the pattern demands.
	what string
	// empty allows the empty text, lines more than one line.
	empty, lines bool
}

const maxText = 256 << 10

func (k text) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	if !isText(n) {
		hint := ""
		if n.Kind == yaml.ScalarNode {
			hint = "; put it in quotes"
		}
		r.fault(at, "must be %s, not %s%s", k.words(), nodeKind(n), hint)
		return
	}
	v.SetString(n.Value)
}

func (k text) check(r *report, at string, v reflect.Value) {
	switch s := v.String(); {
	case s == "" && k.empty:
	case slices.Contains(k.later, s):
		r.fault(at, "%s is not supported by this version; use %s", s, k.words())
	case k.oneOf != nil && !slices.Contains(k.oneOf, s):
		r.fault(at, "must be %s%s", k.words(), suggest(s, k.oneOf))
	case s == "":
		r.fault(at, "must not be empty")
	case len(s) > maxText:
		r.fault(at, "has %d bytes, allowed are %d", len(s), maxText)
	case !k.lines && strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.fault(at, "must be one line without control characters")
	case k.pattern != nil && !k.pattern.MatchString(s):
		r.fault(at, "must be %s", k.what)
	}
}

func (k text) schema() ordered {
	s := ordered{{"type", "string"}}
	switch {
	case k.oneOf != nil:
		s = append(s, member{"enum", k.oneOf})
	case k.pattern != nil && !k.empty:
		s = append(s, member{"pattern", k.pattern.String()})
	}
	return s
}

func (k text) words() string {
	switch {
	case k.oneOf != nil:
		return "one of " + strings.Join(k.oneOf, ", ")
	case k.what != "":
		return "text: " + k.what
	}
	return "text"
}

// whole is an integer within bounds.
type whole struct{ min, max int64 }

func (k whole) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" {
		r.fault(at, "must be a %s, not %s", k.words(), nodeKind(n))
	} else if err != nil || v.OverflowInt(i) {
		r.fault(at, "must be a %s, in decimal digits", k.words())
	} else {
		v.SetInt(i)
	}
}

func (k whole) check(r *report, at string, v reflect.Value) {
	if i := v.Int(); i < k.min || i > k.max {
		r.fault(at, "is %d; it must be a %s", i, k.words())
	}
}

func (k whole) schema() ordered {
	s := ordered{{"type", "integer"}}
	if k.min != math.MinInt64 {
		s = append(s, member{"minimum", k.min})
	}
	if k.max != math.MaxInt64 {
		s = append(s, member{"maximum", k.max})
	}
	return s
}

func (k whole) words() string {
	switch {
	case k.min == math.MinInt64 && k.max == math.MaxInt64:
		return "whole number"
	case k.max == math.MaxInt64:
		return fmt.Sprintf("whole number of at least %d", k.min)
	}
	return fmt.Sprintf("whole number from %d to %d", k.min, k.max)
}

// number is a decimal within bounds.
type number struct{ min, max float64 }

func (k number) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	x, err := strconv.ParseFloat(n.Value, 64)
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" {
		r.fault(at, "must be a %s, not %s", k.words(), nodeKind(n))
	} else if err != nil || math.IsInf(x, 0) || math.IsNaN(x) || strings.ContainsAny(n.Value, "_xX") {
		r.fault(at, "must be a %s, in decimal digits", k.words())
	} else {
		v.SetFloat(x)
	}
}

func (k number) check(r *report, at string, v reflect.Value) {
	if x := v.Float(); !(x >= k.min && x <= k.max) {
		r.fault(at, "is %v; it must be a %s", x, k.words())
	}
}

func (k number) schema() ordered {
	return ordered{{"type", "number"}, {"minimum", k.min}, {"maximum", k.max}}
}

func (k number) words() string { return fmt.Sprintf("number from %v to %v", k.min, k.max) }

// boolean is true or false, never another word.
type boolean struct{}

func (boolean) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		r.fault(at, "must be true or false, not %s", nodeKind(n))
		return
	}
	v.SetBool(strings.EqualFold(n.Value, "true"))
}

func (boolean) check(*report, string, reflect.Value) {}
func (boolean) schema() ordered                      { return ordered{{"type", "boolean"}} }
func (boolean) words() string                        { return "true or false" }
