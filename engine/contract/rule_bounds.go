package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// bounds are Bounds made ready. They ask something of values of kind only; a value of another kind is mistyped.
type bounds struct {
	kind    kinds
	allowed map[string]bool // canonical values, nil if any value is allowed
	only    string          // what is allowed, for messages
	limits  []limit
	sizes   []size
	expr    string
	program program
	text    string // the bounds as JSON members, without braces
}

// limit is one bound of a number, size one of a length.
type limit struct {
	words   string
	value   number
	lexeme  string
	low     bool
	allowed func(order int) bool // of the value's order to the limit
}

type size struct {
	name, words, unit string
	least             bool
	value             *int
}

// newBounds checks what can be checked without a schema; the error is one sentence with the way out.
func newBounds(from Bounds, ps *programs) (*bounds, error) {
	b := &bounds{kind: anyKind}
	for _, add := range []func(Bounds) error{b.addLimits, b.addLengths, b.addItems, b.addPattern(ps)} {
		if err := add(from); err != nil {
			return nil, err
		}
	}
	if b.kind == 0 {
		return nil, errors.New("it bounds two of a number, a text and a list at once; write a rule for each")
	}
	if b.text == "" && from.Equals == nil && len(from.Values) == 0 {
		return nil, errors.New("it says nothing of its field; add a bound such as min, max_length or equals")
	}
	if err := b.consistent(); err != nil {
		return nil, err
	}
	if err := b.addValues(from); err != nil {
		return nil, err
	}
	b.text = strings.TrimPrefix(b.text, ",")
	return b, nil
}

func (b *bounds) write(name, value string) { b.text += "," + quoted(name) + ":" + value }

func (b *bounds) addLimits(from Bounds) error {
	for _, l := range []struct {
		name, words string
		value       json.Number
		low         bool
		allowed     func(int) bool
	}{
		{"min", "must be at least", from.Min, true, func(o int) bool { return o >= 0 }},
		{"max", "must be at most", from.Max, false, func(o int) bool { return o <= 0 }},
		{"exclusive_min", "must be greater than", from.ExclusiveMin, true, func(o int) bool { return o > 0 }},
		{"exclusive_max", "must be less than", from.ExclusiveMax, false, func(o int) bool { return o < 0 }},
	} {
		if l.value == "" {
			continue
		}
		o := scan([]byte(l.value), true, false)
		if _, ok := o.value.(json.Number); !ok || o.fault != nil || o.end-o.start != len(l.value) {
			return fmt.Errorf("%s is %s; it must be a number", l.name, quoted(excerpt(string(l.value))))
		}
		b.limits = append(b.limits, limit{l.words, parseNumber(string(l.value)), string(l.value), l.low, l.allowed})
		b.write(l.name, string(l.value))
		b.kind &= numberKind
	}
	return nil
}

func (b *bounds) addLengths(from Bounds) error {
	return b.addSizes(stringKind, []size{{"min_length", "must be at least", "characters", true, from.MinLength},
		{"max_length", "must be at most", "characters", false, from.MaxLength}})
}

func (b *bounds) addItems(from Bounds) error {
	return b.addSizes(arrayKind, []size{{"min_items", "must have at least", "items", true, from.MinItems},
		{"max_items", "must have at most", "items", false, from.MaxItems}})
}

func (b *bounds) addSizes(kind kinds, list []size) error {
	for _, s := range list {
		if s.value == nil {
			continue
		}
		if *s.value < 0 {
			return fmt.Errorf("%s is %d; a length is never negative", s.name, *s.value)
		}
		n := *s.value
		s.value = &n // the caller keeps its own
		b.sizes = append(b.sizes, s)
		b.write(s.name, strconv.Itoa(n))
		b.kind &= kind
	}
	return nil
}

func (b *bounds) addPattern(ps *programs) func(Bounds) error {
	return func(from Bounds) (err error) {
		if from.Pattern == "" {
			return nil
		}
		if b.program, err = ps.compile(from.Pattern); err != nil {
			return fmt.Errorf("the pattern %s cannot run (%w); write it without lookaround, backreferences and repetitions "+
				"over 1000", quoted(excerpt(from.Pattern)), err)
		}
		b.expr = from.Pattern
		b.write("pattern", quoted(from.Pattern))
		b.kind &= stringKind
		return nil
	}
}

// consistent refuses bounds that no value keeps.
func (b *bounds) consistent() error {
	for _, l := range b.limits {
		for _, h := range b.limits {
			o := l.value.compare(h.value)
			if l.low && !h.low && (o > 0 || o == 0 && !(l.holds(l.value) && h.holds(l.value))) {
				return fmt.Errorf("no number %s %s and %s %s; correct one of them", l.words, l.lexeme, h.words, h.lexeme)
			}
		}
	}
	for i, s := range b.sizes {
		for _, most := range b.sizes[i+1:] {
			if *s.value > *most.value {
				return fmt.Errorf("nothing has at least %d and at most %d %s; correct one of them", *s.value, *most.value, s.unit)
			}
		}
	}
	return nil
}

func (l limit) holds(n number) bool { return l.allowed(n.compare(l.value)) }

// addValues reads equals and values, which must keep the other bounds.
func (b *bounds) addValues(from Bounds) error {
	list, name := from.Values, "values"
	if from.Equals != nil {
		if len(from.Values) > 0 {
			return fmt.Errorf("it has equals and values; keep one of them")
		}
		list, name = []json.RawMessage{from.Equals}, "equals"
	}
	var written []string
	allowed := map[string]bool{}
	for _, raw := range list {
		o := scan(raw, true, false)
		if o.fault != nil {
			return fmt.Errorf("%s holds %s, which is no sound JSON: %s", name, quoted(excerpt(string(raw))), o.fault.reason)
		}
		if kindOf(o.value)&b.kind == 0 || b.broken(o.value, &meter{left: math.MaxInt64}) != "" {
			return fmt.Errorf("%s holds %s, which breaks the other bounds; correct one of them", name, excerpt(string(raw)))
		}
		allowed[string(appendCanon(nil, o.value))] = true
		written = append(written, compact(o.raw(string(raw))))
	}
	if len(list) == 0 {
		return nil
	}
	b.allowed, b.only = allowed, "must be one of ["+strings.Join(written, ", ")+"]"
	value := "[" + strings.Join(written, ",") + "]"
	if name == "equals" {
		b.only, value = "must be "+written[0], written[0]
	}
	b.write(name, value)
	return nil
}

func compact(raw []byte) string {
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return ""
	}
	return out.String()
}

// broken says what is wrong with a value of the right kind, "" if it keeps the bounds.
func (b *bounds) broken(v any, m *meter) string {
	var why []string
	but := "is"
	switch v := v.(type) {
	case json.Number:
		m.charge(1)
		why = b.brokenLimits(string(v))
	case string:
		why, but = b.brokenSizes(utf8.RuneCountInString(v))
		m.charge(1 + int64(len(v))/32)
		if b.expr != "" && !(pattern{b.program, m}).MatchString(v) {
			why = append(why, "must match the pattern "+quoted(b.expr))
		}
	case []any:
		why, but = b.brokenSizes(len(v))
	}
	if b.allowed != nil && !b.allowed[string(m.canon(v))] {
		why = append(why, b.only)
	}
	if len(why) == 0 {
		return ""
	}
	if but == "is" {
		but += " " + excerpt(shownValue(v))
	}
	return excerptOf(strings.Join(why, " and "), 4*maxExcerpt) + ", but " + but
}

func (b *bounds) brokenLimits(lexeme string) (why []string) {
	n := parseNumber(lexeme)
	for _, l := range b.limits {
		if !l.holds(n) {
			why = append(why, l.words+" "+l.lexeme)
		}
	}
	return why
}

// brokenSizes also says what the value has, or that it is something.
func (b *bounds) brokenSizes(n int) (why []string, but string) {
	but = "is"
	for _, s := range b.sizes {
		if s.least && n < *s.value || !s.least && n > *s.value {
			why = append(why, fmt.Sprintf("%s %d %s", s.words, *s.value, s.unit))
			but = fmt.Sprintf("has %d", n)
		}
	}
	return why, but
}

// shownValue is a decoded value as JSON, of a container only its type.
func shownValue(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(excerpt(v))
	case map[string]any, []any:
		return "an " + typeName(v)
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}
