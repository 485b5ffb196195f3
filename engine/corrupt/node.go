package corrupt

import (
	"encoding/json"
	"fmt"
	"strings"
)

// node is a value of a sound JSON text with its place in it.
type node struct {
	src        []byte
	start, end int
	pointer    string
	// kind is object, array, string, number, boolean or null.
	kind     string
	children []*node
	// key is a member's, quoted as it stands.
	key string
}

// parse makes the tree of a sound JSON text without white space around it.
func parse(src []byte) *node {
	p := &parser{src: src}
	return p.value("")
}

func (n *node) text() []byte { return n.src[n.start:n.end] }

// walk yields the value and everything below it, in the order of the text, until yield says no.
func (n *node) walk(yield func(*node) bool) bool {
	if !yield(n) {
		return false
	}
	for _, c := range n.children {
		if !c.walk(yield) {
			return false
		}
	}
	return true
}

// with is the whole text with another in the place of one of its values.
func (n *node) with(at *node, text string) []byte {
	return []byte(string(n.src[:at.start]) + text + string(n.src[at.end:]))
}

// members writes an object with some of its members, and more ones after them.
func (n *node) members(keep func(*node) bool, more ...string) string {
	var parts []string
	for _, c := range n.children {
		if keep(c) {
			parts = append(parts, c.key+":"+string(c.text()))
		}
	}
	return "{" + strings.Join(append(parts, more...), ",") + "}"
}

// parser reads a sound JSON text: it checks nothing.
type parser struct {
	src []byte
	pos int
}

func (p *parser) value(pointer string) *node {
	p.space()
	n := &node{src: p.src, start: p.pos, pointer: pointer}
	switch p.src[p.pos] {
	case '{':
		n.kind = "object"
		p.object(n)
	case '[':
		n.kind = "array"
		p.array(n)
	case '"':
		n.kind = "string"
		p.text()
	case 't', 'f':
		n.kind = "boolean"
		p.word()
	case 'n':
		n.kind = "null"
		p.word()
	default:
		n.kind = "number"
		p.word()
	}
	n.end = p.pos
	return n
}

func (p *parser) space() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *parser) word() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n,]}", p.src[p.pos]) < 0 {
		p.pos++
	}
}

func (p *parser) text() {
	for p.pos++; p.src[p.pos] != '"'; p.pos++ {
		if p.src[p.pos] == '\\' {
			p.pos++
		}
	}
	p.pos++
}

// more skips to the next member, or over the closing bracket.
func (p *parser) more(closing byte) bool {
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

func (p *parser) array(n *node) {
	for p.pos++; p.more(']'); {
		n.children = append(n.children, p.value(fmt.Sprintf("%s/%d", n.pointer, len(n.children))))
	}
}

func (p *parser) object(n *node) {
	for p.pos++; p.more('}'); {
		start := p.pos
		p.text()
		key := string(p.src[start:p.pos])
		p.space()
		p.pos++
		c := p.value(n.pointer + "/" + token(key))
		c.key = key
		n.children = append(n.children, c)
	}
}

// token is a key as a pointer writes it.
func token(quoted string) string {
	var key string
	if json.Unmarshal([]byte(quoted), &key) != nil {
		return quoted
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
