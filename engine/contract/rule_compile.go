package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxRules bounds the rules of a contract.
const maxRules = 200

// rules are the compiled rules of a contract. They are safe for concurrent use.
type rules struct {
	schema *schema // nil in mode json
	list   []*compiledRule
}

// compiledRule is one rule. It has a program, or clauses: where all of when hold, all of then must.
type compiledRule struct {
	number     int
	message    string
	expected   json.RawMessage
	prefix     fieldPath // the longest path up to [*] among the clauses: the rule is judged for each of its items
	when, then []clause
	program    *expression
	fields     []field // what may change, nil for the fields of the broken clauses
}

// clause is a field that must keep bounds.
type clause struct {
	field
	bounds *bounds
}

// atField says which field of a rule is at fault, as it was written.
func atField(name string, err error) error { return fmt.Errorf("field %s: %w", excerpt(name), err) }

// newRules compiles rules against a schema, nil in mode json. A rule is numbered from 1. Its error tells every broken rule.
func newRules(list []Rule, s *schema) (*rules, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if len(list) > maxRules {
		return nil, &CompileError{Rule: maxRules + 1, Reason: fmt.Sprintf("there are %d rules; at most %d are allowed", len(list), maxRules)}
	}
	c := &ruleCompiler{schema: s, programs: &programs{byExpr: map[string]program{}}}
	out := &rules{schema: s}
	var faults []error
	for i, r := range list {
		compiled, err := c.rule(r)
		if err != nil {
			faults = append(faults, &CompileError{Rule: i + 1, Reason: err.Error()})
			continue
		}
		compiled.number = i + 1
		out.list = append(out.list, compiled)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return out, nil
}

type ruleCompiler struct {
	schema      *schema
	programs    *programs
	environment *environment // made for the first expression
}

func (c *ruleCompiler) rule(r Rule) (*compiledRule, error) {
	if err := checkForm(r); err != nil {
		return nil, err
	}
	out := &compiledRule{message: r.Message}
	for _, name := range r.Fields {
		f, err := c.field(name)
		if err != nil {
			return nil, err
		}
		out.fields = append(out.fields, f)
	}
	if r.CEL != "" {
		return out, c.cel(r.CEL, out)
	}
	return out, c.clauses(r, out)
}

// checkForm refuses a rule that is none of the three forms, or several at once.
func checkForm(r Rule) error {
	var forms []string
	if r.CEL != "" {
		forms = append(forms, "an expression")
	}
	if r.Field != "" {
		forms = append(forms, "a field with bounds")
	}
	if len(r.If)+len(r.Then) > 0 {
		forms = append(forms, "if and then")
	}
	switch {
	case len(forms) > 1:
		return fmt.Errorf("it is %s at once; write a rule for each", strings.Join(forms, " and "))
	case r.Field == "" && !r.Bounds.empty():
		return errors.New("it has bounds without a field; name the field")
	case len(forms) == 0:
		return errors.New("it says nothing; give an expression, a field with bounds, or if and then")
	case r.CEL == "" && r.Field == "" && (len(r.If) == 0 || len(r.Then) == 0):
		return errors.New("if and then need each other; add the missing one, or write a field with bounds")
	}
	return nil
}

func (b Bounds) empty() bool {
	return b.Equals == nil && len(b.Values) == 0 && b.Min == "" && b.Max == "" && b.ExclusiveMin == "" && b.ExclusiveMax == "" &&
		b.MinLength == nil && b.MaxLength == nil && b.MinItems == nil && b.MaxItems == nil && b.Pattern == ""
}

func (c *ruleCompiler) field(name string) (field, error) {
	f, err := c.schema.newField(name)
	if err != nil {
		return field{}, atField(name, err)
	}
	return f, nil
}

// clauses compiles a rule without an expression.
func (c *ruleCompiler) clauses(r Rule, out *compiledRule) (err error) {
	if r.Field != "" {
		out.then, err = c.clauseList([]Clause{{Field: r.Field, Bounds: r.Bounds}})
		if err == nil {
			out.expected = json.RawMessage(`{"field":` + quoted(r.Field) + "," + out.then[0].bounds.text + "}")
			out.prefix = out.then[0].path[:out.then[0].path.wild()]
		}
		return err
	}
	if out.when, err = c.clauseList(r.If); err != nil {
		return err
	}
	if out.then, err = c.clauseList(r.Then); err != nil {
		return err
	}
	out.expected = json.RawMessage(`{"if":` + clausesText(out.when) + `,"then":` + clausesText(out.then) + "}")
	out.prefix, err = commonItems(append(out.when[:len(out.when):len(out.when)], out.then...))
	return err
}

func (c *ruleCompiler) clauseList(from []Clause) (list []clause, err error) {
	for _, one := range from {
		compiled, err := c.clause(one)
		if err != nil {
			return nil, atField(one.Field, err)
		}
		list = append(list, compiled)
	}
	return list, nil
}

func (c *ruleCompiler) clause(from Clause) (clause, error) {
	f, err := c.schema.newField(from.Field)
	if err != nil {
		return clause{}, err
	}
	b, err := newBounds(from.Bounds, c.programs)
	if err != nil {
		return clause{}, err
	}
	if f.kinds&b.kind == 0 {
		return clause{}, fmt.Errorf("the schema makes it %s, and the bounds are for %s; correct one of them", f.kinds, b.kind)
	}
	return clause{f, b}, c.possible(f, from.Bounds)
}

// possible refuses a value that the schema never lets stand in the field: an if that never holds, a then that no answer
// keeps.
func (c *ruleCompiler) possible(f field, b Bounds) error {
	list, name := b.Values, "values"
	if b.Equals != nil {
		list, name = []json.RawMessage{b.Equals}, "equals"
	}
	for _, value := range list {
		if c.schema != nil && !c.schema.allows(f, value) {
			return fmt.Errorf("%s holds %s, which the schema does not allow there; correct one of them", name, excerpt(string(value)))
		}
	}
	return nil
}

// commonItems returns the longest path up to [*]; every other one must be a part of it, so that all clauses speak of
// the same item.
func commonItems(all []clause) (longest fieldPath, err error) {
	for _, c := range all {
		if n := c.path.wild(); n > len(longest) {
			longest = c.path[:n]
		}
	}
	for _, c := range all {
		if prefix := c.path[:c.path.wild()]; !longest.startsWith(prefix) {
			return nil, fmt.Errorf("its fields name the items of both %s and %s; write a rule for each list, or an expression", longest, prefix)
		}
	}
	return longest, nil
}

// clausesText renders clauses as seed 002 writes them: a value alone for equals.
func clausesText(all []clause) string {
	var parts []string
	for _, c := range all {
		text := "{" + c.bounds.text + "}"
		if value, ok := strings.CutPrefix(c.bounds.text, `"equals":`); ok && value[0] != '{' {
			text = value
		}
		parts = append(parts, quoted(c.path.String())+":"+text)
	}
	return "{" + strings.Join(parts, ",") + "}"
}
