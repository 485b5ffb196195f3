package prompts

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// template is one message of a prompt, parsed: the subset of text/template that only looks at inputs. An input's text is
// never parsed, so nothing in it is a template.
//
// Allowed are {{ .name }} and its members, $ for the inputs inside a range, if, else, range with its variables, literals,
// and the functions and, or, not, eq, ne, len. What an input does not have is an error, as with missingkey=error.
type template struct {
	root *parse.ListNode
	// uses are the inputs that the text names, sorted.
	uses []string
}

// functions with their least and most arguments; -1 is no bound.
var functions = map[string][2]int{"and": {1, -1}, "or": {1, -1}, "not": {1, 1}, "eq": {2, -1}, "ne": {2, 2}, "len": {1, 1}}

// templateError says where in a template something is wrong.
type templateError struct {
	line    int
	message string
}

func (e *templateError) Error() string {
	return fmt.Sprintf("line %d of the template: %s", e.line, e.message)
}

// parseTemplate parses text and lists every fault.
func parseTemplate(text string, inputs []string) (*template, []error) {
	known := map[string]any{}
	for name := range functions {
		known[name] = true
	}
	trees, err := parse.Parse("t", text, "", "", known)
	if err != nil {
		return nil, []error{parseError(err)}
	}
	c := &checker{text: text, inputs: inputs, uses: map[string]bool{}}
	for name := range trees {
		if name != "t" {
			c.fault(0, "define and block are not allowed")
		}
	}
	t := &template{root: &parse.ListNode{}}
	if main := trees["t"]; main != nil && main.Root != nil {
		t.root = main.Root
	}
	c.list(t.root, true)
	for name := range c.uses {
		t.uses = append(t.uses, name)
	}
	slices.Sort(t.uses)
	return t, c.faults
}

// parseError rewrites "template: t:3: message".
func parseError(err error) error {
	e := &templateError{line: 1, message: err.Error()}
	if _, err := fmt.Sscanf(e.message, "template: t:%d:", &e.line); err == nil {
		_, e.message, _ = strings.Cut(e.message, fmt.Sprintf("t:%d:", e.line))
		e.message = strings.TrimSpace(e.message)
	}
	if name, ok := strings.CutPrefix(e.message, "function "); ok {
		name, _, _ = strings.Cut(name, " not defined")
		e.message = name + " is no function here; allowed are and, or, not, eq, ne, len; an input is written .name"
	}
	return e
}

// checker walks a parsed template and refuses what is outside the subset.
type checker struct {
	text   string
	inputs []string
	uses   map[string]bool
	faults []error
}

func (c *checker) fault(pos parse.Pos, format string, args ...any) {
	c.faults = append(c.faults, &templateError{line: lineOf(c.text, pos), message: fmt.Sprintf(format, args...)})
}

func lineOf(text string, pos parse.Pos) int {
	return 1 + strings.Count(text[:min(int(pos), len(text))], "\n")
}

// list checks statements; top says that the dot is the inputs.
func (c *checker) list(l *parse.ListNode, top bool) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.TextNode, *parse.CommentNode:
		case *parse.ActionNode:
			c.pipe(n.Pipe, top, 0)
		case *parse.IfNode:
			c.pipe(n.Pipe, top, 0)
			c.list(n.List, top)
			c.list(n.ElseList, top)
		case *parse.RangeNode:
			c.pipe(n.Pipe, top, 2)
			c.list(n.List, false)
			c.list(n.ElseList, top)
		default:
			c.fault(n.Position(), "%s is not allowed; use .name, if, else, range, end", statement(n))
		}
	}
}

func statement(n parse.Node) string {
	switch n.(type) {
	case *parse.WithNode:
		return "with"
	case *parse.TemplateNode:
		return "template"
	case *parse.BreakNode:
		return "break"
	case *parse.ContinueNode:
		return "continue"
	}
	return "this statement"
}

// pipe checks an expression; vars is how many variables it may declare.
func (c *checker) pipe(p *parse.PipeNode, top bool, vars int) {
	switch {
	case len(p.Decl) > vars:
		c.fault(p.Pos, "variables are only allowed in range")
	case len(p.Cmds) != 1:
		c.fault(p.Pos, "pipelines are not allowed; write a function before its arguments")
	default:
		c.command(p.Cmds[0], top)
	}
}

func (c *checker) command(cmd *parse.CommandNode, top bool) {
	args := cmd.Args
	if id, ok := args[0].(*parse.IdentifierNode); ok {
		bounds := functions[id.Ident]
		if n := len(args) - 1; n < bounds[0] || bounds[1] >= 0 && n > bounds[1] {
			c.fault(cmd.Pos, "%s has %d arguments; see the reference for how many it takes", id.Ident, n)
		}
		args = args[1:]
	} else if len(args) > 1 {
		c.fault(cmd.Pos, "an input takes no arguments")
	}
	for _, a := range args {
		c.operand(a, top)
	}
}

func (c *checker) operand(n parse.Node, top bool) {
	switch n := n.(type) {
	case *parse.FieldNode:
		if top {
			c.input(n.Pos, n.Ident[0])
		}
	case *parse.DotNode:
		if top {
			c.fault(n.Pos, "the dot alone is all inputs; name one, as in .document")
		}
	case *parse.VariableNode:
		switch {
		case n.Ident[0] != "$":
		case len(n.Ident) == 1:
			c.fault(n.Pos, "$ alone is all inputs; name one, as in $.document")
		default:
			c.input(n.Pos, n.Ident[1])
		}
	case *parse.PipeNode:
		c.pipe(n, top, 0)
	case *parse.StringNode, *parse.BoolNode:
	case *parse.NumberNode:
		if !decimal(n.Text) {
			c.fault(n.Pos, "the number %s has no JSON form; write it in decimal", n.Text)
		}
	default:
		c.fault(n.Position(), "%s is not allowed here; use .name, a literal or a function in parentheses", n)
	}
}

func (c *checker) input(pos parse.Pos, name string) {
	c.uses[name] = true
	if !slices.Contains(c.inputs, name) {
		c.fault(pos, ".%s is no input of this prompt%s", name, nearest(name, c.inputs))
	}
}
