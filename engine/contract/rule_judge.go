package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxFields bounds the places that one finding of a rule lists; more of them are named by the list they are items of.
const maxFields = 100

// outcome is what became of a rule, or of a rule for one item; the worst counts.
type outcome int

const (
	skipped outcome = iota // its fields are missing or mistyped
	held
	failed
)

// ruleRun judges one value by all rules.
type ruleRun struct {
	*rules
	value  any
	text   json.RawMessage
	root   *span           // of text, made for the first finding
	types  map[string]bool // pointers of values of a wrong type
	faulty bool            // the schema refuses the value
	names  map[string]bool
	meter  meter
	cost   int64 // of expressions
	list   []Finding
	over   int // findings beyond the bound
}

// judge adds to a verdict what the rules say of its value, which is v's.
func (rs *rules) judge(v Verdict, value any, names map[string]bool) Verdict {
	run := &ruleRun{rules: rs, value: value, text: v.Value, names: names, faulty: v.Class != OK, meter: meter{left: budget}}
	run.mistyped(v.Findings)
	for _, r := range rs.list {
		result, err := run.one(r)
		if err != nil {
			return Verdict{Err: fmt.Errorf("rule %d cannot be decided on this text: %w", r.number, err)}
		}
		switch result {
		case skipped:
			v.Rules.Skipped++
		case held:
			v.Rules.Held++
		case failed:
			v.Rules.Failed++
			v.Failed = append(v.Failed, r.number)
		}
	}
	return run.merge(v)
}

// mistyped notes which places the schema calls mistyped.
func (run *ruleRun) mistyped(findings []Finding) {
	for _, f := range findings {
		if f.Keyword == "type" {
			if run.types == nil {
				run.types = map[string]bool{}
			}
			run.types[f.Pointer] = true
		}
	}
}

// merge puts the findings among those of the schema.
func (run *ruleRun) merge(v Verdict) Verdict {
	if len(run.list) == 0 {
		return v
	}
	if v.Class == OK {
		v.Class = RuleFailed
	}
	v.Findings = append(v.Findings, run.list...)
	slices.SortStableFunc(v.Findings, byPlace)
	if extra := len(v.Findings) - maxFindings; extra > 0 {
		v.Findings = v.Findings[:maxFindings]
		v.Omitted += extra
	}
	v.Omitted += run.over
	return v
}

// one judges one rule. Work beyond the budget is an error.
func (run *ruleRun) one(r *compiledRule) (result outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = judgeError(p)
		}
	}()
	if r.program != nil {
		return run.expression(r)
	}
	items := 0
	whole := r.prefix.each(run.value, func(at []int) {
		items++
		result = max(result, run.clauses(r, at))
	})
	if items == 0 && whole {
		return held, nil
	}
	return result, nil
}

// broken is a clause that its field does not keep.
type broken struct {
	clause
	path fieldPath
	why  string
}

// clauses judges a rule for the items at.
func (run *ruleRun) clauses(r *compiledRule, at []int) outcome {
	for _, c := range r.when {
		why, result := run.clause(c, at)
		if result == skipped {
			return skipped
		}
		if why.why != "" {
			return held
		}
	}
	result := held
	var wrong []broken
	for _, c := range r.then {
		b, one := run.clause(c, at)
		if one == skipped {
			result = skipped
		} else if b.why != "" {
			wrong = append(wrong, b)
		}
	}
	if wrong == nil {
		return result
	}
	run.add(r, at, wrong, "")
	return failed
}

// clause holds one field against its bounds; it is skipped if the field is missing or mistyped.
func (run *ruleRun) clause(c clause, at []int) (broken, outcome) {
	run.meter.charge(2)
	path := c.path.at(at)
	v, ok := path.find(run.value)
	if !ok || kindOf(v)&c.bounds.kind&c.kinds == 0 || run.underType(path) {
		return broken{}, skipped
	}
	return broken{c, path, c.bounds.broken(v, &run.meter)}, held
}

// underType reports whether a place or a container of it is of a wrong type.
func (run *ruleRun) underType(path fieldPath) bool {
	if run.types == nil {
		return false
	}
	at := ""
	for _, t := range path {
		if run.types[at] {
			return true
		}
		at += "/" + escapeToken(t.name)
	}
	return run.types[at]
}

// add makes the finding of a failed rule; wrong are its broken clauses, none for an expression, and fault is why that could
// not be evaluated, "" if it could.
func (run *ruleRun) add(r *compiledRule, at []int, wrong []broken, fault string) {
	if len(run.list) == maxFindings {
		run.over++
		return
	}
	places, form := run.places(r, at, wrong)
	f := Finding{Keyword: KeywordRule, Message: run.message(r, at, wrong, fault), Expected: r.expected, Rule: r.number}
	for _, p := range places {
		f.Fields = append(f.Fields, pointer(p.tokens()))
	}
	f.Pointer = f.Fields[0]
	if run.root == nil {
		run.root = spans(string(run.text))
	}
	tokens := places[0].tokens()
	f.Masked = run.root.masked(tokens, run.names)
	f.Value = run.root.find(tokens...).raw(run.text)
	f.Shape, f.Example = form.text, form.example
	run.list = append(run.list, f)
}

// places are where the value may be changed to mend the rule, and the form of the first of them.
func (run *ruleRun) places(r *compiledRule, at []int, wrong []broken) (list []fieldPath, wanted form) {
	fields := r.fields
	if fields == nil {
		for _, b := range wrong {
			fields = append(fields, b.field)
		}
	}
	for _, f := range fields {
		list = append(list, run.expand(f.path, r.prefix, at)...)
	}
	if len(list) > maxFields {
		list = list[:maxFields]
	}
	if run.schema != nil && len(list[0]) == len(fields[0].path) {
		wanted = run.schema.formOf(fields[0].form())
	}
	return list, wanted
}

// expand puts the items at into a path, and every item into what [*] is left. Where there is none, or too many, the
// list itself may change.
func (run *ruleRun) expand(path, prefix fieldPath, at []int) (list []fieldPath) {
	if prefix.startsWith(path[:path.wild()]) {
		path = path.at(at)
	}
	if path.wild() == 0 {
		return []fieldPath{path}
	}
	path.each(run.value, func(items []int) {
		if len(list) <= maxFields {
			list = append(list, path.at(items))
		}
	})
	if len(list) == 0 || len(list) > maxFields {
		first := slices.IndexFunc(path, func(t token) bool { return t.every })
		return []fieldPath{path[:first]}
	}
	return list
}

// message says what is wrong: in the author's words, and of an expression without a verdict why it has none.
func (run *ruleRun) message(r *compiledRule, at []int, wrong []broken, fault string) string {
	switch {
	case fault == "" && r.message == "":
		return run.generated(r, at, wrong)
	case fault == "":
		return r.message
	case r.message == "":
		return unevaluated + fault + ": " + r.excerpt()
	}
	return r.message + "; " + unevaluated + fault
}

// excerpt shows an expression.
func (r *compiledRule) excerpt() string { return excerptOf(string(r.expected), 4*maxExcerpt) }

// generated is the message of a rule without one.
func (run *ruleRun) generated(r *compiledRule, at []int, wrong []broken) string {
	if wrong == nil {
		return "the rule does not hold: " + r.excerpt()
	}
	var parts, since []string
	for _, b := range wrong {
		parts = append(parts, b.path.String()+" "+b.why)
	}
	for _, c := range r.when {
		path := c.path.at(at)
		v, _ := path.find(run.value)
		since = append(since, path.String()+" is "+excerpt(shownValue(v)))
	}
	out := strings.Join(parts, "; ")
	if since != nil {
		out += ", since " + strings.Join(since, " and ")
	}
	return excerptOf(out, 16*maxExcerpt)
}
