package prompts

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/template/parse"
)

// Bounds of rendering: the bytes of one message, and the steps over all messages of a prompt.
const (
	MaxMessageBytes = 16 << 20
	maxSteps        = 2_000_000
)

// inputFault is a fault of an input that shows when it is rendered; its message holds nothing of the input.
type inputFault struct{ at, message string }

func (e *inputFault) Error() string { return e.at + ": " + e.message }

// renderer writes one template. A fault ends it by a panic with an *inputFault, which render catches: expressions nest,
// and none of them can go on.
type renderer struct {
	inputs map[string]*value
	out    strings.Builder
	steps  *int
	vars   []variable
}

type variable struct {
	name  string
	value *value
}

// render returns the text of a template for inputs that are complete.
func (t *template) render(inputs map[string]*value, steps *int) (text string, fault *inputFault) {
	r := &renderer{inputs: inputs, steps: steps}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *inputFault:
			text, fault = "", p
		default:
			panic(p)
		}
	}()
	r.list(t.root, nil)
	return r.out.String(), nil
}

func fail(at, format string, args ...any) {
	panic(&inputFault{at: at, message: fmt.Sprintf(format, args...)})
}

func (r *renderer) spend(n int) {
	if *r.steps += n; *r.steps > maxSteps {
		fail("inputs", "are too large for this prompt: rendering takes more than %d steps", maxSteps)
	}
}

func (r *renderer) write(s string) {
	if r.out.Len()+len(s) > MaxMessageBytes {
		fail("inputs", "are too large for this prompt: a message has more than %d bytes", MaxMessageBytes)
	}
	r.out.WriteString(s)
}

// list runs statements; dot is nil where it is the inputs.
func (r *renderer) list(l *parse.ListNode, dot *value) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		r.spend(1)
		switch n := n.(type) {
		case *parse.TextNode:
			r.write(string(n.Text))
		case *parse.ActionNode:
			v := r.pipe(n.Pipe, dot)
			r.spend(len(v.raw) >> 10)
			r.write(v.String())
		case *parse.IfNode:
			if r.pipe(n.Pipe, dot).true() {
				r.list(n.List, dot)
			} else {
				r.list(n.ElseList, dot)
			}
		case *parse.RangeNode:
			r.loop(n, dot)
		}
	}
}

func (r *renderer) loop(n *parse.RangeNode, dot *value) {
	over := r.pipe(n.Pipe, dot)
	before := len(r.vars)
	switch k := over.kind(); {
	case k == 'n' || k == '"' && over.size() == 0:
	case k == '[':
		over.decode()
		for i, e := range over.array {
			r.turn(n, number64(i), e)
			r.vars = r.vars[:before]
		}
	case k == '{':
		for _, name := range over.names() {
			// A member's name is the requester's: no message shows it.
			r.turn(n, newValue(over.at, jsonString(name)), newValue(join(over.at, "*"), over.object[name].raw))
			r.vars = r.vars[:before]
		}
	default:
		fail(over.at, "must be an array or an object: the prompt ranges over it")
	}
	if over.kind() != '[' && over.kind() != '{' || over.size() == 0 {
		r.list(n.ElseList, dot)
	}
}

// turn runs the body of a range for one element.
func (r *renderer) turn(n *parse.RangeNode, key, elem *value) {
	r.spend(1)
	switch d := n.Pipe.Decl; len(d) {
	case 1:
		r.vars = append(r.vars, variable{d[0].Ident[0], elem})
	case 2:
		r.vars = append(r.vars, variable{d[0].Ident[0], key}, variable{d[1].Ident[0], elem})
	}
	r.list(n.List, elem)
}

func number64(n int) *value { return newValue("inputs", strconv.AppendInt(nil, int64(n), 10)) }

func (r *renderer) pipe(p *parse.PipeNode, dot *value) *value {
	r.spend(1)
	args := p.Cmds[0].Args
	if id, ok := args[0].(*parse.IdentifierNode); ok {
		return r.call(id.Ident, args[1:], dot)
	}
	return r.operand(args[0], dot)
}

func (r *renderer) operand(n parse.Node, dot *value) *value {
	switch n := n.(type) {
	case *parse.FieldNode:
		return r.field(dot, n.Ident)
	case *parse.DotNode:
		return dot
	case *parse.VariableNode:
		return r.variable(n.Ident)
	case *parse.PipeNode:
		return r.pipe(n, dot)
	case *parse.StringNode:
		return newValue("inputs", jsonString(n.Text))
	case *parse.BoolNode:
		return truth(n.True)
	case *parse.NumberNode:
		return newValue("inputs", json.RawMessage(strings.TrimPrefix(n.Text, "+")))
	}
	panic(fmt.Sprintf("prompts: the checker let %T through", n)) // TestCheckerRefuses has seen all of them
}

// decimal reports whether a literal is a JSON number once a plus sign is cut.
func decimal(s string) bool { return json.Valid([]byte(strings.TrimPrefix(s, "+"))) }

func truth(b bool) *value { return newValue("inputs", strconv.AppendBool(nil, b)) }

// field follows names from a value, or from the inputs.
func (r *renderer) field(v *value, names []string) *value {
	if v == nil {
		v, names = r.inputs[names[0]], names[1:]
	}
	for _, name := range names {
		if v.kind() != '{' {
			fail(v.at, "must be an object with %s: the prompt uses it", quoted(name))
		}
		v.decode()
		next := v.object[name]
		if next == nil {
			fail(v.at, "has no %s, which the prompt uses", quoted(name))
		}
		v = next
	}
	return v
}

func (r *renderer) variable(names []string) *value {
	if names[0] == "$" {
		return r.field(nil, names[1:])
	}
	for i := len(r.vars) - 1; i >= 0; i-- {
		if r.vars[i].name == names[0] {
			return r.field(r.vars[i].value, names[1:])
		}
	}
	panic("prompts: the parser let an undeclared variable through") // it refuses them
}

func (r *renderer) call(name string, args []parse.Node, dot *value) *value {
	v := r.operand(args[0], dot)
	switch name {
	case "not":
		return truth(!v.true())
	case "len":
		if k := v.kind(); k != '{' && k != '[' && k != '"' {
			fail(v.at, "must be a text, an array or an object: the prompt asks for its length")
		}
		return number64(v.size())
	case "and", "or":
		for _, a := range args[1:] {
			if v.true() == (name == "or") {
				break
			}
			v = r.operand(a, dot)
		}
		return v
	}
	return truth(r.anyEqual(v, args[1:], dot) == (name == "eq"))
}

func (r *renderer) anyEqual(v *value, args []parse.Node, dot *value) bool {
	found := false
	for _, a := range args {
		o := r.operand(a, dot)
		r.spend((len(v.raw) + len(o.raw)) >> 10)
		same, ok := v.equal(o)
		if !ok {
			at := v.at
			if k := o.kind(); k == '{' || k == '[' {
				at = o.at
			}
			fail(at, "must be a text, a number, a boolean or null: the prompt compares it")
		}
		found = found || same
	}
	return found
}
