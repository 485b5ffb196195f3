package prompts

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// decoder reads YAML nodes into the types of types.go, strictly, and collects every fault.
type decoder struct {
	file     string
	problems Errors
}

func (d *decoder) fault(n *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.file, Line: n.Line, Path: path, Message: fmt.Sprintf(format, args...)})
}

// maxFile bounds a definition file, maxDepth its nesting.
const (
	maxFile  = 1 << 20
	maxDepth = 64
)

// decode reads a whole file into v, a pointer to a struct.
func (d *decoder) decode(text []byte, v any) {
	root, ok := d.document(text)
	defaults(reflect.ValueOf(v).Elem())
	if ok && root != nil {
		d.value(root, reflect.ValueOf(v).Elem(), "", field{})
	}
}

func (d *decoder) document(text []byte) (*yaml.Node, bool) {
	if len(text) > maxFile {
		d.problems = append(d.problems, Problem{File: d.file, Message: fmt.Sprintf("the file has %d bytes, allowed are %d", len(text), maxFile)})
		return nil, false
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		d.problems = append(d.problems, yamlProblem(d.file, err))
		return nil, false
	}
	if len(doc.Content) == 0 {
		return nil, true
	}
	return doc.Content[0], d.sound(doc.Content[0], 0)
}

// yamlProblem takes the line out of yaml's message.
func yamlProblem(file string, err error) Problem {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	p := Problem{File: file, Message: "not YAML: " + msg}
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		if num, text, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(num); err == nil {
				p.Line, p.Message = n, "not YAML: "+text
			}
		}
	}
	return p
}

// sound refuses aliases (a few bytes of them can expand without end) and runaway nesting.
func (d *decoder) sound(n *yaml.Node, depth int) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fault(n, "", "anchors and aliases are not supported: write the value out")
		return false
	case depth > maxDepth:
		d.fault(n, "", "nested deeper than %d", maxDepth)
		return false
	}
	ok := true
	for _, c := range n.Content {
		ok = d.sound(c, depth+1) && ok
	}
	return ok
}

// own are types that read themselves from a node.
type own interface {
	fromNode(*decoder, *yaml.Node, string)
}

// written are types with a written form.
type written interface{ parse(string) error }

// value reads one node into v.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string, f field) {
	if isNull(n) {
		return // null equals absent
	}
	if o, ok := v.Addr().Interface().(own); ok {
		o.fromNode(d, n, path)
		return
	}
	if w, ok := v.Addr().Interface().(written); ok {
		d.written(n, w, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		defaults(v.Elem())
		d.value(n, v.Elem(), path, f)
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Map:
		d.mapping(n, v, path)
	case reflect.Slice:
		d.sequence(n, v, path, f)
	default:
		d.scalar(n, v, path, f)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func (d *decoder) written(n *yaml.Node, w written, path string) {
	if n.Kind != yaml.ScalarNode {
		d.fault(n, path, "must be a word, not %s", kindOf(n))
		return
	}
	if err := w.parse(n.Value); err != nil {
		d.fault(n, path, "%v", err)
	}
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.fault(n, path, "must be a mapping, not %s", kindOf(n))
		return
	}
	fields := fieldsOf(v.Type())
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		f, ok := fields.byName(key.Value)
		switch {
		case !ok:
			d.unknown(key, join(path, key.Value), fields)
		case seen[key.Value]:
			d.fault(key, join(path, key.Value), "stands twice")
		default:
			seen[key.Value] = true
			d.value(val, v.Field(f.index), join(path, key.Value), f)
		}
	}
	for _, f := range fields {
		if f.required && !seen[f.name] {
			d.fault(n, join(path, f.name), "is missing: %s", f.doc)
		}
	}
	if t, ok := v.Addr().Interface().(interface{ at(*yaml.Node) }); ok {
		t.at(n)
	}
}

// later are fields of the design that this version does not read: refused by name, never ignored.
var later = []string{"checks", "retries", "validation_policy", "validators", "repair", "outputs", "output_governance", "validation_rules"}

func (d *decoder) unknown(key *yaml.Node, path string, fields fieldTable) {
	if slices.Contains(later, key.Value) {
		d.fault(key, path, "is not supported by this version")
		return
	}
	d.fault(key, path, "unknown field%s", nearest(key.Value, fields.names()))
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.fault(n, path, "must be a mapping, not %s", kindOf(n))
		return
	}
	out := reflect.MakeMap(v.Type())
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if out.MapIndex(reflect.ValueOf(key.Value)).IsValid() {
			d.fault(key, join(path, key.Value), "stands twice")
			continue
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		if elem.Kind() == reflect.Interface {
			var x any
			if err := val.Decode(&x); err != nil {
				d.fault(val, join(path, key.Value), "%v", err)
			}
			out.SetMapIndex(reflect.ValueOf(key.Value), reflect.ValueOf(&x).Elem())
			continue
		}
		defaults(elem)
		d.value(val, elem, join(path, key.Value), field{})
		out.SetMapIndex(reflect.ValueOf(key.Value), elem)
	}
	v.Set(out)
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, path string, f field) {
	if n.Kind != yaml.SequenceNode {
		d.fault(n, path, "must be a list, not %s", kindOf(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		defaults(out.Index(i))
		d.value(c, out.Index(i), fmt.Sprintf("%s[%d]", path, i), f)
	}
	v.Set(out)
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string, f field) {
	if n.Kind != yaml.ScalarNode {
		d.fault(n, path, "must be %s, not %s", article(v.Kind()), kindOf(n))
		return
	}
	if err := setScalar(n, v); err != nil {
		d.fault(n, path, "%v", err)
		return
	}
	if err := f.check(v); err != nil {
		d.fault(n, path, "%v", err)
	}
}

func setScalar(n *yaml.Node, v reflect.Value) error {
	wrong := fmt.Errorf("must be %s, not %s", article(v.Kind()), kindOf(n))
	switch v.Kind() {
	case reflect.String:
		if n.Tag != "!!str" {
			return fmt.Errorf("must be text, not %s: put it in quotes", kindOf(n))
		}
		v.SetString(n.Value)
	case reflect.Bool:
		if n.Tag != "!!bool" {
			return wrong
		}
		v.SetBool(n.Value == "true")
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil || n.Tag != "!!int" {
			return wrong
		}
		v.SetInt(i)
	case reflect.Float64:
		x, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || (n.Tag != "!!float" && n.Tag != "!!int") {
			return wrong
		}
		v.SetFloat(x)
	default:
		return wrong
	}
	return nil
}

func article(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "a value"
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "null"
	}
	return "text"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// toJSON is the JSON form of a node, with numbers as they are written and keys in their order.
func toJSON(n *yaml.Node) (json.RawMessage, error) {
	var b strings.Builder
	err := writeJSON(&b, n)
	return json.RawMessage(b.String()), err
}

func writeJSON(b *strings.Builder, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		return writeList(b, n, "{}", 2)
	case yaml.SequenceNode:
		return writeList(b, n, "[]", 1)
	}
	switch n.Tag {
	case "!!null":
		b.WriteString("null")
		return nil
	case "!!bool":
		b.WriteString(strings.ToLower(n.Value))
		return nil
	case "!!int", "!!float":
		if !json.Valid([]byte(n.Value)) {
			return fmt.Errorf("line %d: the number has no JSON form", n.Line)
		}
		b.WriteString(n.Value)
		return nil
	}
	s, err := json.Marshal(n.Value)
	b.Write(s)
	return err
}

// writeList writes the nodes of a mapping (in pairs) or of a list.
func writeList(b *strings.Builder, n *yaml.Node, brackets string, step int) error {
	b.WriteByte(brackets[0])
	for i := 0; i < len(n.Content); i += step {
		if i > 0 {
			b.WriteByte(',')
		}
		if step == 2 {
			key, err := json.Marshal(n.Content[i].Value)
			if err != nil {
				return err
			}
			b.Write(key)
			b.WriteByte(':')
		}
		if err := writeJSON(b, n.Content[i+step-1]); err != nil {
			return err
		}
	}
	b.WriteByte(brackets[1])
	return nil
}
