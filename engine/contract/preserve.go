package contract

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// maxChanges bounds what Changed lists.
const maxChanges = 100

// Changed compares two candidates and lists the places that differ outside the allowed pointers and what lies below
// them, in the order of before, at most 100 (seed 001, the preservation check; design section 5). Numbers are compared
// by lexeme, strings by what they mean, objects without the order of their keys, arrays index by index. A value that
// became another type is one change at its own place. An allowed place that is not there may be added, with the
// containers that lead to it. If before or after does not hold one sound JSON value, nothing can be compared: nil.
func (c *Contract) Changed(before, after []byte, allowed []string) []Change {
	if bytes.Equal(before, after) || !c.sound(before) || !c.sound(after) {
		return nil
	}
	d := &differ{before: string(before), after: string(after), names: c.names()}
	d.value(spans(d.before), spans(d.after), allow(allowed))
	return d.changes
}

func (c *Contract) sound(text []byte) bool { return scan(text, false, c.lastWins).fault == nil }

// permit is a place of a tree of places: free if it may change with all that lies below it.
type permit struct {
	free  bool
	below map[string]*permit
}

// allow makes a tree of RFC 6901 pointers; a text that is no pointer allows nothing.
func allow(pointers []string) *permit {
	root := &permit{}
	for _, p := range pointers {
		if p != "" && p[0] != '/' {
			continue
		}
		at := root
		for token := range pointerTokens(p) {
			at = at.child(token, true)
		}
		at.free = true
	}
	return root
}

// pointerTokens yields the tokens of a pointer, unescaped.
func pointerTokens(pointer string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if pointer == "" {
			return
		}
		for token := range strings.SplitSeq(pointer[1:], "/") {
			if !yield(unescapeToken(token)) {
				return
			}
		}
	}
}

// child returns the place under token; nil if there is none and none is to be made.
func (p *permit) child(token string, grow bool) *permit {
	if p == nil {
		return nil
	}
	next := p.below[token]
	if next == nil && grow {
		next = &permit{}
		if p.below == nil {
			p.below = map[string]*permit{}
		}
		p.below[token] = next
	}
	return next
}

// item is child for an index, without making a text of it where nothing is allowed.
func (p *permit) item(i int) *permit {
	if p == nil || len(p.below) == 0 {
		return nil
	}
	return p.below[strconv.Itoa(i)]
}

// reached reports whether a place that may change lies in s.
func (p *permit) reached(s *span) bool {
	if s == nil || p.free {
		return s != nil
	}
	for token, next := range p.below {
		if next.reached(s.child(token)) {
			return true
		}
	}
	return false
}

// differ walks two values at once.
type differ struct {
	before, after string
	names         map[string]bool
	path          []step
	changes       []Change
}

// value compares b and a, which stand at the same place.
func (d *differ) value(b, a *span, p *permit) {
	switch {
	case len(d.changes) == maxChanges || p != nil && p.free:
	case b.list && a.list:
		d.array(b, a, p)
	case b.members != nil && a.members != nil:
		d.object(b, a, p)
	case !d.same(b, a):
		d.note(b)
	}
}

// same compares two values that are not both arrays or both objects.
func (d *differ) same(b, a *span) bool {
	before, after := d.before[b.start:b.end], d.after[a.start:a.end]
	if before == after {
		return true
	}
	return before[0] == '"' && after[0] == '"' && meaning(before) == meaning(after)
}

// meaning decodes a quoted string.
func meaning(quoted string) string { return (&spanner{src: quoted}).key() }

func (d *differ) array(b, a *span, p *permit) {
	for i := range max(len(b.items), len(a.items)) {
		d.path = append(d.path, step{index: i, list: true})
		d.pair(at(b.items, i), at(a.items, i), p.item(i))
		d.path = d.path[:len(d.path)-1]
	}
}

func at(items []*span, i int) *span {
	if i < len(items) {
		return items[i]
	}
	return nil
}

func (d *differ) object(b, a *span, p *permit) {
	for _, key := range b.keys {
		d.member(key, b, a, p)
	}
	for _, key := range a.keys {
		if b.members[key] == nil {
			d.member(key, b, a, p)
		}
	}
}

func (d *differ) member(key string, b, a *span, p *permit) {
	d.path = append(d.path, step{key: key})
	d.pair(b.members[key], a.members[key], p.child(key, false))
	d.path = d.path[:len(d.path)-1]
}

// pair compares what stands at one place, of which one may be missing.
func (d *differ) pair(b, a *span, p *permit) {
	switch {
	case b != nil && a != nil:
		d.value(b, a, p)
	case p != nil && p.free:
	case b == nil && p != nil && p.reached(a):
		d.value(&span{list: a.list, members: map[string]*span{}}, a, p)
	default:
		d.note(b)
	}
}

// note records a change at the differ's place; b is nil if nothing stood there.
func (d *differ) note(b *span) {
	if len(d.changes) == maxChanges {
		return
	}
	c := Change{}
	if b != nil {
		c.Before = json.RawMessage(d.before[b.start:b.end])
	}
	for _, s := range d.path {
		c.Pointer += "/" + s.token(nil)
		c.Masked += "/" + s.token(d.names)
	}
	d.changes = append(d.changes, c)
}
