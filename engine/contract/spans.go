package contract

import (
	"encoding/json"
	"strconv"
	"strings"
)

// span is the place of a JSON value in a text that the scan has accepted, with the places of its members.
type span struct {
	start, end int
	list       bool
	items      []*span
	keys       []string // of members, in the order in which they first stand
	members    map[string]*span
}

// spans finds the place of every value of a sound JSON text. Of duplicate keys the last counts.
func spans(text string) *span {
	p := &spanner{src: text}
	p.space()
	return p.value()
}

// raw returns the bytes of the value.
func (s *span) raw(text []byte) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(text[s.start:s.end:s.end])
}

// child returns the member or item under token, nil if there is none.
func (s *span) child(token string) *span {
	if s == nil {
		return nil
	}
	if !s.list {
		return s.members[token]
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(s.items) {
		return nil
	}
	return s.items[i]
}

// find follows tokens from s.
func (s *span) find(tokens ...string) *span {
	for _, t := range tokens {
		s = s.child(t)
	}
	return s
}

// masked renders tokens as a pointer in which a key outside names is "*". Indices of lists stay.
func (s *span) masked(tokens []string, names map[string]bool) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		if s != nil && s.list || names[t] {
			b.WriteString(escapeToken(t))
		} else {
			b.WriteByte('*')
		}
		s = s.child(t)
	}
	return b.String()
}

// spanner walks a sound JSON text; its depth is bounded by the scan.
type spanner struct {
	src string
	pos int
}

func (p *spanner) space() {
	for p.pos < len(p.src) && isSpace(p.src[p.pos]) {
		p.pos++
	}
}

func (p *spanner) value() *span {
	s := &span{start: p.pos}
	switch p.src[p.pos] {
	case '{':
		p.object(s)
	case '[':
		p.array(s)
	case '"':
		p.skipString()
	default:
		for p.pos < len(p.src) && !endsScalar(p.src[p.pos]) {
			p.pos++
		}
	}
	s.end = p.pos
	return s
}

func endsScalar(b byte) bool { return b == ',' || b == ']' || b == '}' || isSpace(b) }

func (p *spanner) skipString() (escaped bool) {
	for p.pos++; p.src[p.pos] != '"'; p.pos++ {
		if p.src[p.pos] == '\\' {
			escaped = true
			p.pos++
		}
	}
	p.pos++
	return escaped
}

// next skips white space and a comma, and reports whether a member follows; otherwise it skips the closing byte.
func (p *spanner) next(closing byte) bool {
	p.space()
	if p.src[p.pos] == ',' {
		p.pos++
		p.space()
	}
	if p.src[p.pos] == closing {
		p.pos++
		return false
	}
	return true
}

func (p *spanner) array(s *span) {
	s.list = true
	for p.pos++; p.next(']'); {
		s.items = append(s.items, p.value())
	}
}

func (p *spanner) object(s *span) {
	s.members = map[string]*span{}
	for p.pos++; p.next('}'); {
		key := p.key()
		p.space()
		p.pos++
		p.space()
		if _, twice := s.members[key]; !twice {
			s.keys = append(s.keys, key)
		}
		s.members[key] = p.value()
	}
}

func (p *spanner) key() string {
	start := p.pos
	if !p.skipString() {
		return p.src[start+1 : p.pos-1]
	}
	s := &scanner{src: p.src, pos: start}
	key, _ := s.text()
	return key
}
