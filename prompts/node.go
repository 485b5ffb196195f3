package prompts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Bounds of a definition file.
const (
	MaxFileBytes = 1 << 20
	maxDepth     = 64
)

// parseYAML reads a file into its one root node, nil if there is nothing usable; faults go to the report.
func parseYAML(r *report, text []byte) *yaml.Node {
	r.lines[""] = 1
	if len(text) > MaxFileBytes {
		r.fault("", "the file has %d bytes, allowed are %d", len(text), MaxFileBytes)
		return nil
	}
	doc, err := parseDocument(text)
	if err != nil {
		line, message := yamlError(err)
		r.faultOn(line, "", "is no valid YAML: %s", message)
		return nil
	}
	if doc == nil {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}
	}
	if !sound(r, doc, 0) {
		return nil
	}
	return doc
}

// parseDocument returns nil for a file without a value. The parser is not ours: a panic in it is an error here.
func parseDocument(text []byte) (root *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, fmt.Errorf("yaml: line %d: a second document begins here; one file holds one", more.Line)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return nil, nil
	}
	return doc.Content[0], nil
}

// yamlError takes the line out of the parser's message.
func yamlError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if digits, text, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				return n, text
			}
		}
	}
	return 0, message
}

// sound refuses aliases (a few bytes of them expand without end), explicit tags and runaway nesting.
func sound(r *report, n *yaml.Node, depth int) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.faultOn(n.Line, "", "anchors and aliases are not supported; write the value out")
		return false
	case n.Style&yaml.TaggedStyle != 0:
		r.faultOn(n.Line, "", "explicit tags such as !!str are not supported; put text in quotes")
		return false
	case depth > maxDepth:
		r.faultOn(n.Line, "", "is nested more than %d deep", maxDepth)
		return false
	}
	ok := true
	for _, c := range n.Content {
		ok = sound(r, c, depth+1) && ok
	}
	return ok
}

// eachMember calls f for the members of a mapping, each name once.
func eachMember(r *report, n *yaml.Node, at string, f func(key string, line int, val *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fault(at, "must be a mapping, not %s", nodeKind(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			r.faultOn(key.Line, at, "a name must be text, not %s", nodeKind(key))
		case seen[key.Value]:
			r.faultOn(key.Line, join(at, key.Value), "is given more than once")
		default:
			seen[key.Value] = true
			f(key.Value, key.Line, n.Content[i+1])
		}
	}
}

// nodeKind names what a node is.
func nodeKind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "null"
	}
	return "text"
}

// isText accepts dates, which YAML takes for more than text.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!str" || n.ShortTag() == "!!timestamp")
}

// jsonOf writes a node as compact JSON: names in their order, numbers as they stand.
func jsonOf(r *report, n *yaml.Node, at string) json.RawMessage {
	var b bytes.Buffer
	writeJSON(r, &b, n, at)
	return b.Bytes()
}

func writeJSON(r *report, b *bytes.Buffer, n *yaml.Node, at string) {
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		first := true
		eachMember(r, n, at, func(key string, _ int, val *yaml.Node) {
			if !first {
				b.WriteByte(',')
			}
			first = false
			writeText(b, key)
			b.WriteByte(':')
			writeJSON(r, b, val, join(at, key))
		})
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(r, b, c, index(at, i))
		}
		b.WriteByte(']')
	default:
		writeScalar(r, b, n, at)
	}
}

func writeScalar(r *report, b *bytes.Buffer, n *yaml.Node, at string) {
	switch n.ShortTag() {
	case "!!null":
		b.WriteString("null")
	case "!!bool":
		b.WriteString(strings.ToLower(n.Value))
	case "!!int", "!!float":
		if !json.Valid([]byte(n.Value)) {
			r.faultOn(n.Line, at, "the number has no JSON form; write it in decimal, or in quotes if it is text")
			b.WriteString("null")
			return
		}
		b.WriteString(n.Value)
	default:
		writeText(b, n.Value)
	}
}

func writeText(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has a JSON form
	b.Truncate(b.Len() - 1)
}
