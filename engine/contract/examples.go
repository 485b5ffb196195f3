package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxBadExamples bounds what BadExamples lists.
const maxBadExamples = 100

// BadExamples lists the values that the schema itself gives and that do not satisfy the sub-schema they stand in, in
// the order of their pointers: items of `examples`, `default`, `const`, items of `enum`, at most 100. Such a schema
// compiles, and Judge shows no example that does not satisfy it; who checks files should refuse them (issue 4). A value
// that takes too much work to be judged is passed over.
func (c *Contract) BadExamples() []*CompileError {
	if c.schema == nil {
		return nil
	}
	e, err := c.schema.examiner()
	if err != nil {
		return nil
	}
	for _, at := range c.schema.seen {
		e.examine(slices.Collect(pointerTokens(at)))
	}
	return e.bad[:min(len(e.bad), maxBadExamples)]
}

// examiner holds the values of a schema against sub-schemas that are compiled one by one: the judge compiles only what
// is reached from the root.
type examiner struct {
	s   *schema
	c   *jsonschema.Compiler
	j   *judge
	bad []*CompileError
}

func (s *schema) examiner() (*examiner, error) {
	j := newJudge()
	e := &examiner{s: s, c: s.compiler(j), j: j}
	var err error
	j.schema, err = s.compileWith(e.c)
	return e, err
}

// examine looks at the values of the sub-schema at tokens.
func (e *examiner) examine(tokens []string) {
	at := e.s.root.find(tokens...)
	if at == nil || len(e.bad) >= maxBadExamples || !slices.ContainsFunc(at.keys, func(k string) bool { return valued[k] }) {
		return
	}
	part := e.compile(tokens)
	if part == nil {
		return
	}
	for _, key := range at.keys {
		value := at.members[key]
		switch {
		case key == "const" || key == "default":
			e.hold(part, tokens, key, key, value)
		case valued[key] && value.list:
			for i, v := range value.items {
				e.hold(part, tokens, key, fmt.Sprintf("%s[%d]", key, i), v)
			}
		}
	}
}

// valued are the keywords that hold values of their own sub-schema.
var valued = map[string]bool{"const": true, "enum": true, "examples": true, "default": true}

// compile returns the compiled sub-schema at tokens; nil if it is unused and cannot be compiled.
func (e *examiner) compile(tokens []string) (part *jsonschema.Schema) {
	defer func() { _ = recover() }() // a sub-schema that breaks the compiler is nil, as one that it refuses
	e.j.meter.left = budget
	part, err := e.c.Compile(address(tokens))
	if err != nil {
		return nil
	}
	return part
}

// address is the inverse of location.
func address(tokens []string) string {
	var b strings.Builder
	b.WriteString(base + "#")
	for _, t := range tokens {
		b.WriteString("/" + url.PathEscape(escapeToken(t)))
	}
	return b.String()
}

// hold judges one value of the sub-schema part.
func (e *examiner) hold(part *jsonschema.Schema, tokens []string, key, name string, at *span) {
	value := at.raw(e.s.text)
	invalid, ok := errors.AsType[*jsonschema.ValidationError](e.j.try(part, value))
	if !ok {
		return
	}
	leaves := flatten(invalid)
	if slices.ContainsFunc(leaves, func(l leaf) bool { return l.broken }) {
		return
	}
	found, _ := e.s.findings(leaves[:1], value)
	e.bad = append(e.bad, &CompileError{Pointer: pointer(tokens), Keyword: key, Reason: fmt.Sprintf(
		"%s is %s, which its own sub-schema refuses: %s; correct the value or the sub-schema", name, excerpt(string(value)), found[0].Message)})
}

// try judges a value of the schema itself within a small budget; the error is nil or ErrBudget's kin where there is no
// verdict.
func (j *judge) try(part *jsonschema.Schema, value json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = judgeError(p)
		}
	}()
	o := scan(value, true, false)
	if o.fault != nil {
		return errors.New(o.fault.reason)
	}
	j.meter.reset(o.depth)
	j.meter.left = exampleBudget
	return part.Validate(o.value)
}
