package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bounds of the strict scan.
const (
	maxDepth    = 200  // nested containers
	maxExponent = 4096 // magnitude of a number's exponent
	maxDigits   = 4096 // digits of a number's mantissa
)

// fault is what the scan has against a text, at a byte offset.
type fault struct {
	class  Class
	at     int
	path   []step
	key    string
	reason string
}

// step is one token of the path to the value under the scanner.
type step struct {
	key   string
	index int
	list  bool
}

// scanned is a text that holds exactly one sound JSON value, or the fault found in it.
type scanned struct {
	value      any // decoded, numbers as json.Number; nil unless asked for
	start, end int // the value's bytes
	depth      int
	fault      *fault
	cut        bool
}

// scanner reads one JSON value in one pass. Syntax faults stop it; other faults are noted, the first one counts, and
// reading goes on, because a text that is cut or is no JSON must be called that whatever else it holds.
type scanner struct {
	src      string
	pos      int
	build    bool
	lastWins bool
	path     []step
	depth    int
	deepest  int
	hard     *fault
	soft     *fault
}

// scan judges the text's form. Of several faults it reports, in this order: invalid UTF-8 anywhere, a fault of syntax
// (too_deep stops the scan like one), several values, then the first of the others in text order.
func scan(text []byte, build, lastWins bool) scanned { return scanText(string(text), build, lastWins) }

func scanText(text string, build, lastWins bool) scanned {
	s := &scanner{src: text, build: build, lastWins: lastWins}
	s.space()
	out := scanned{start: s.pos}
	value, ok := s.value()
	out.value, out.end = value, s.pos
	if ok {
		s.space()
		s.trailing(&out)
	}
	out.cut = out.cut || s.cutOff()
	out.depth = s.deepest
	out.fault = s.verdict()
	return out
}

func (s *scanner) verdict() *fault {
	if at := invalidUTF8(s.src); at >= 0 {
		return &fault{class: InvalidUTF8, at: at, reason: "the text is not valid UTF-8"}
	}
	if s.hard != nil {
		return s.hard
	}
	return s.soft
}

// invalidUTF8 returns the offset of the first byte that is no UTF-8, or -1.
func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
			return i
		}
	}
	return -1
}

// trailing judges what follows the value: nothing, another complete value, or text that is no JSON.
func (s *scanner) trailing(out *scanned) {
	if s.pos == len(s.src) {
		return
	}
	rest := &scanner{src: s.src, pos: s.pos, lastWins: s.lastWins}
	_, ok := rest.value()
	if ok && rest.soft == nil && s.separate(rest.pos) {
		s.fail(MultipleJSON, s.pos, "another JSON value follows the first")
		return
	}
	out.cut = !ok && rest.cutOff() && opens(s.src[s.pos])
	s.fail(NotJSON, s.pos, "text follows the JSON value")
}

// separate reports whether the value from s.pos to end stands for itself: a container or a string, or a scalar with
// white space around it ("2024-01-01" begins with the numbers 2024 and -0, and is not several values).
func (s *scanner) separate(end int) bool {
	if opens(s.src[s.pos]) {
		return true
	}
	before := isSpace(s.src[s.pos-1])
	return before && (end == len(s.src) || isSpace(s.src[end]))
}

func opens(b byte) bool   { return b == '{' || b == '[' || b == '"' }
func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// cutOff reports whether the text ended inside a value.
func (s *scanner) cutOff() bool {
	if s.hard == nil {
		return false
	}
	if s.hard.class == TooDeep {
		return s.openAtEnd()
	}
	return s.hard.class == NotJSON && s.hard.at >= len(s.src)
}

// openAtEnd goes on from a value that was too deep and reports whether a container or string is still open at the end.
func (s *scanner) openAtEnd() bool {
	open, quoted := s.depth, false
	for i := s.pos; i < len(s.src); i++ {
		switch c := s.src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			open++
		case !quoted && (c == '}' || c == ']'):
			open--
		}
	}
	return quoted || open > 0
}

func (s *scanner) at() fault { return fault{path: append([]step(nil), s.path...)} }

// fail notes a fault that stops the scan.
func (s *scanner) fail(class Class, at int, reason string) bool {
	if s.hard == nil {
		f := s.at()
		f.class, f.at, f.reason = class, at, reason
		s.hard = &f
	}
	return false
}

// note notes a fault that does not stop the scan.
func (s *scanner) note(class Class, at int, key, reason string) {
	if s.soft == nil {
		f := s.at()
		f.class, f.at, f.key, f.reason = class, at, key, reason
		s.soft = &f
	}
}

func (s *scanner) space() {
	for s.pos < len(s.src) && isSpace(s.src[s.pos]) {
		s.pos++
	}
}

// peek returns the byte at the scanner's place; ok is false at the end of the text.
func (s *scanner) peek() (b byte, ok bool) {
	if s.pos >= len(s.src) {
		return 0, false
	}
	return s.src[s.pos], true
}

func (s *scanner) value() (any, bool) {
	b, ok := s.peek()
	switch {
	case !ok:
		return nil, s.fail(NotJSON, s.pos, "the text ends where a value should begin")
	case b == '{':
		return s.object()
	case b == '[':
		return s.array()
	case b == '"':
		text, ok := s.text()
		return s.built(text), ok
	case b == '-' || b >= '0' && b <= '9':
		return s.number()
	default:
		return s.literal()
	}
}

func (s *scanner) built(text string) any {
	if !s.build {
		return nil
	}
	return text
}

func (s *scanner) literal() (any, bool) {
	rest := s.src[s.pos:]
	for _, l := range literals {
		if len(rest) >= len(l.text) && rest[:len(l.text)] == l.text {
			s.pos += len(l.text)
			return l.value, true
		}
		if rest == l.text[:min(len(rest), len(l.text))] {
			return nil, s.fail(NotJSON, len(s.src), "the text ends inside "+l.text)
		}
	}
	return nil, s.fail(NotJSON, s.pos, fmt.Sprintf("%s stands where a value should begin", s.found()))
}

var literals = []struct {
	text  string
	value any
}{{"true", true}, {"false", false}, {"null", nil}}

// found names the character at the scanner's place.
func (s *scanner) found() string {
	if s.pos >= len(s.src) {
		return "the end of the text"
	}
	r, _ := utf8.DecodeRuneInString(s.src[s.pos:])
	if r == '\ufeff' {
		return "a byte order mark"
	}
	return fmt.Sprintf("%q", r)
}

// enter counts one level of nesting.
func (s *scanner) enter() bool {
	if s.depth == maxDepth {
		return s.fail(TooDeep, s.pos, fmt.Sprintf("values are nested more than %d deep", maxDepth))
	}
	s.pos++
	s.depth++
	s.deepest = max(s.deepest, s.depth)
	s.path = append(s.path, step{})
	s.space()
	return true
}

func (s *scanner) leave() {
	s.pos++
	s.depth--
	s.path = s.path[:len(s.path)-1]
}

func (s *scanner) array() (any, bool) {
	if !s.enter() {
		return nil, false
	}
	list := []any{}
	if b, ok := s.peek(); ok && b == ']' {
		s.leave()
		return list, true
	}
	for i := 0; ; i++ {
		s.path[len(s.path)-1] = step{index: i, list: true}
		item, ok := s.value()
		if !ok {
			return nil, false
		}
		if s.build {
			list = append(list, item)
		}
		if more, ok := s.more(']'); !ok {
			return nil, false
		} else if !more {
			s.leave()
			return list, true
		}
	}
}

// more reads what follows a member: a comma, or the closing byte, which it leaves.
func (s *scanner) more(closing byte) (more, ok bool) {
	s.space()
	b, ok := s.peek()
	switch {
	case ok && b == closing:
		return false, true
	case ok && b == ',':
		s.pos++
		s.space()
		return true, true
	}
	return false, s.fail(NotJSON, s.pos, fmt.Sprintf("%s stands where a comma or %q should", s.found(), closing))
}

func (s *scanner) object() (any, bool) {
	if !s.enter() {
		return nil, false
	}
	members := map[string]any{}
	if b, ok := s.peek(); ok && b == '}' {
		s.leave()
		return members, true
	}
	for {
		if !s.member(members) {
			return nil, false
		}
		if more, ok := s.more('}'); !ok {
			return nil, false
		} else if !more {
			s.leave()
			return members, true
		}
	}
}

func (s *scanner) member(members map[string]any) bool {
	at := s.pos
	s.path[len(s.path)-1] = step{}
	if b, ok := s.peek(); !ok || b != '"' {
		return s.fail(NotJSON, s.pos, s.found()+" stands where a quoted key should")
	}
	key, ok := s.text()
	if !ok {
		return false
	}
	if _, twice := members[key]; twice && !s.lastWins {
		s.note(DuplicateKey, at, key, fmt.Sprintf("the key %q stands twice in one object", excerpt(key)))
	}
	s.path[len(s.path)-1].key = key
	s.space()
	if b, ok := s.peek(); !ok || b != ':' {
		return s.fail(NotJSON, s.pos, s.found()+" stands where a colon should")
	}
	s.pos++
	s.space()
	value, ok := s.value()
	members[key] = value
	return ok
}

// finding renders the fault. Its pointer is the value at which the scan stopped; for a duplicate key it is the object,
// for invalid UTF-8, which may be anywhere, the root.
func (f *fault) finding(text []byte, names map[string]bool) Finding {
	path := f.path
	if f.class == DuplicateKey || len(path) > 0 && !path[len(path)-1].list && path[len(path)-1].key == "" {
		path = path[:max(len(path)-1, 0)]
	}
	out := Finding{Keyword: string(f.class), Key: f.key}
	for _, p := range path {
		out.Pointer += "/" + p.token(nil)
		out.Masked += "/" + p.token(names)
	}
	line, column := position(text, f.at)
	out.Message = fmt.Sprintf("%s, at byte %d (line %d, column %d)", f.reason, f.at, line, column)
	return out
}

// token renders the step; with names, a key outside them becomes "*".
func (p step) token(names map[string]bool) string {
	switch {
	case p.list:
		return fmt.Sprint(p.index)
	case names != nil && !names[p.key]:
		return "*"
	}
	return escapeToken(p.key)
}

// position turns an offset into a line and a column, both from 1, the column in characters.
func position(text []byte, at int) (line, column int) {
	head := text[:min(at, len(text))]
	last := bytes.LastIndexByte(head, '\n')
	return bytes.Count(head, []byte{'\n'}) + 1, utf8.RuneCount(head[last+1:]) + 1
}

// raw returns a copy of the bytes of the one value.
func (o scanned) raw(text string) json.RawMessage { return json.RawMessage(text[o.start:o.end]) }
