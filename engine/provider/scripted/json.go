package scripted

import (
	"encoding/json"
	"fmt"
	"math"

	"gopkg.in/yaml.v3"

	"emend/engine/provider"
)

// Bounds of a JSON value in a script: aliases can make a small text a large value.
const (
	jsonDepth = 100
	jsonNodes = 100_000
)

// compact renders a YAML value as compact JSON. Members keep their order, numbers that are JSON keep their digits.
func compact(n *yaml.Node) (string, error) {
	w := jsonWriter{}
	if err := w.value(n, 0); err != nil {
		return "", fmt.Errorf("json: %w", err)
	}
	return string(w.enc.Bytes()), nil
}

type jsonWriter struct {
	enc   provider.Encoder
	nodes int
}

func (w *jsonWriter) value(n *yaml.Node, depth int) error {
	if w.nodes++; depth > jsonDepth || w.nodes > jsonNodes {
		return lineError(n, "the value is too deep or too large")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return w.object(n, depth)
	case yaml.SequenceNode:
		w.enc.Open('[')
		for _, element := range n.Content {
			if err := w.value(element, depth+1); err != nil {
				return err
			}
		}
		w.enc.Close(']')
		return nil
	}
	return w.scalar(n)
}

func (w *jsonWriter) object(n *yaml.Node, depth int) error {
	w.enc.Open('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind != yaml.ScalarNode || n.Content[i].Tag == "!!merge" {
			return lineError(n.Content[i], "a member's name must be a plain word or text")
		}
		w.enc.Key(n.Content[i].Value)
		if err := w.value(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	w.enc.Close('}')
	return nil
}

func (w *jsonWriter) scalar(n *yaml.Node) error {
	switch n.Tag {
	case "!!null":
		w.enc.Raw([]byte("null"))
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return lineError(n, "is not a boolean")
		}
		w.enc.Bool(b)
	case "!!int", "!!float":
		return w.number(n)
	default:
		w.enc.String(n.Value)
	}
	return nil
}

func (w *jsonWriter) number(n *yaml.Node) error {
	if json.Valid([]byte(n.Value)) {
		w.enc.Raw([]byte(n.Value))
		return nil
	}
	var f float64
	if err := n.Decode(&f); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return lineError(n, n.Value+" has no JSON form")
	}
	w.enc.Float(f)
	return nil
}
