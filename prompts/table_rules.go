package prompts

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"emend/engine/contract"
	"emend/engine/run"
)

// numeral is a number that keeps its digits, so that a bound is compared exactly.
type numeral struct{}

func (k numeral) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	if tag := n.ShortTag(); n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" {
		r.fault(at, "must be a %s, not %s", k.words(), nodeKind(n))
		return
	}
	v.SetString(strings.TrimPrefix(n.Value, "+"))
}

func (k numeral) check(r *report, at string, v reflect.Value) {
	if s := v.String(); !json.Valid([]byte(s)) || strings.Trim(s, "-0123456789.eE+") != "" {
		r.fault(at, "must be a %s, written as in JSON", k.words())
	}
}

func (numeral) schema() ordered { return ordered{{"type", "number"}} }
func (numeral) words() string   { return "number" }

// boundFields are the bounds of one value, in every form of a rule.
var boundFields = []field{
	{name: "equals", kind: anyValue{}, doc: "the value it must be"},
	{name: "values", kind: list{of: anyValue{}, min: 1, max: 1000}, doc: "the values that it may be"},
	{name: "min", kind: numeral{}, doc: "its least value"},
	{name: "max", kind: numeral{}, doc: "its greatest value"},
	{name: "exclusive_min", kind: numeral{}, doc: "a value that it must be above"},
	{name: "exclusive_max", kind: numeral{}, doc: "a value that it must be below"},
	{name: "min_length", kind: whole{0, math.MaxInt32}, doc: "the least number of characters of a text"},
	{name: "max_length", kind: whole{0, math.MaxInt32}, doc: "the greatest number of characters of a text"},
	{name: "min_items", kind: whole{0, math.MaxInt32}, doc: "the least number of entries of an array"},
	{name: "max_items", kind: whole{0, math.MaxInt32}, doc: "the greatest number of entries of an array"},
	{name: "pattern", kind: text{}, doc: "a regular expression (RE2) that a text must match somewhere"},
}

var boundsObject = &object{name: "bounds", doc: "What a value must keep.", fields: boundFields}

// clauseKind is the bounds of one field of an if or a then: a mapping of bounds, or the value that it must be.
type clauseKind struct{}

func (clauseKind) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	if n.Kind == yaml.MappingNode {
		boundsObject.read(r, n, at, v)
		return
	}
	readInto(r, anyValue{}, n, at, slot(v, "equals"))
}

func (clauseKind) check(r *report, at string, v reflect.Value) {
	if v.IsZero() {
		r.fault(at, "must give a value, or bounds such as {max: 0.5}")
		return
	}
	boundsObject.check(r, at, v)
}

func (clauseKind) schema() ordered {
	return ordered{{"description", "the value that it must be, or an object of bounds"}}
}

func (clauseKind) words() string { return "the value that it must be, or bounds" }

var fieldPath = regexp.MustCompile(`^[^\s].{0,511}$`)

const fieldWords = `a path into the answer, such as total or items[2].price`

var codePattern = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

const codeWords = "a code of a-z, 0-9 and _, at most 64"

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,64}$`)

const nameWords = "a name of letters, digits and _ - . @, at most 64"

var pathText = text{pattern: fieldPath, what: fieldWords}

// ruleFields are the forms of a rule, seed 002's and CEL.
var ruleFields = append([]field{
	{name: "rule", kind: text{lines: true}, doc: "a CEL expression that is true of a good answer; the schema's top-level properties are its variables, output is the whole"},
	{name: "field", kind: pathText, doc: "the field that must keep the bounds beside it"},
	{name: "if", kind: dict{of: clauseKind{}, name: fieldPath, what: fieldWords}, doc: "fields and what they are when then must hold"},
	{name: "then", kind: dict{of: clauseKind{}, name: fieldPath, what: fieldWords}, doc: "fields and what they must be where if holds"},
	{name: "message", kind: text{lines: true}, doc: "what is wrong when it fails, for the model and for people"},
	{name: "code", kind: text{pattern: codePattern, what: codeWords}, doc: "its name, in the votes of a stage and in the correction of one: what is wrong, in a few words; absent means rule_ and its number"},
	{name: "fields", kind: list{of: pathText, max: 8, unique: true}, doc: "the fields that may change to mend it; absent means those that it reads"},
}, boundFields...)

var ruleObject = &object{name: "validation_rule", doc: "A business rule: rule, field with bounds, or if with then.", also: checkRule, fields: ruleFields}

var checkObject = &object{name: "check", doc: "A rule on the answer, a judge of it, or a function in Go.", also: checkCheck, fields: append([]field{
	{name: "judge", kind: text{}, doc: "a prompt with a profile of its own, as id or id@version, that approves or rejects a valid answer"},
	{name: "go", kind: text{pattern: namePattern, what: nameWords}, doc: "a validator that your own program brings, with engine.WithValidators; emend itself has none"},
	{name: "retries", kind: whole{0, maxJudgeRetries}, doc: "further tries of a judge that came to no decision", def: "0"},
	{name: "repair_attempts", kind: whole{0, MaxRepairAttempts}, doc: "corrective calls after a judge's answer that is no decision, in each try", def: "0"},
}, ruleFields...)}

const maxJudgeRetries = 10

var policyObject = &object{name: "validation_policy", doc: "What follows when a judge does not approve, or has nothing to judge.",
	fields: []field{
		{name: "producer_structural_failure", noNull: true, kind: text{oneOf: []string{run.PolicyFailRun, run.PolicyRejectOutput}},
			doc: "whether an answer that stays invalid fails a run that has judges, or is its result with status invalid; output.on_exhausted says the same; fail_run"},
		{name: "semantic_rejection", noNull: true, kind: text{oneOf: []string{run.PolicyFailRun, run.PolicyRejectOutput}},
			doc: "whether a rejected answer fails the run, or is its result with status rejected", def: run.PolicyFailRun},
		{name: "validator_failure", noNull: true, kind: text{oneOf: []string{run.PolicyWarnContinue, run.PolicyFailRun}},
			doc: "whether a run whose judge came to no decision goes on as unverified, or fails", def: run.PolicyWarnContinue},
	}}

// checkRule: a rule has one form.
func checkRule(r *report, at string, v any) {
	c := v.(Rule)
	forms := 0
	for _, given := range []bool{c.CEL != "", c.Field != "", len(c.If) > 0 || len(c.Then) > 0} {
		if given {
			forms++
		}
	}
	switch {
	case forms != 1:
		r.once(at, "needs one of rule (CEL), field with bounds, or if with then")
	case c.Field == "" && !reflect.ValueOf(c.Bounds).IsZero():
		r.once(at, "has bounds without field; put them under then, or name the field")
	case c.Field != "" && reflect.ValueOf(c.Bounds).IsZero():
		r.once(at, "needs bounds beside field, such as min: 0 or min_length: 20")
	case (len(c.If) == 0) != (len(c.Then) == 0):
		r.once(at, "if and then go together")
	}
}

func checkCheck(r *report, at string, v any) {
	c := v.(CheckSpec)
	forms := 0
	for _, given := range []bool{!reflect.ValueOf(c.Rule).IsZero(), c.Judge != "", c.Go != ""} {
		if given {
			forms++
		}
	}
	if forms > 1 {
		r.once(at, "is more than one of a rule, a judge and go at once; make an entry of each")
	}
	switch {
	case c.Judge != "":
		if !validRef(c.Judge) {
			r.once(join(at, "judge"), "must be id or id@version, the version a whole number from 1")
		}
		return
	case c.Retries != 0:
		r.once(join(at, "retries"), "has no effect on a rule or on go: the same answer gives the same verdict; remove it")
	}
	if c.RepairAttempts != 0 {
		r.once(join(at, "repair_attempts"), "has no effect on a rule or on go, which make no call; the prompt's own stand under output; remove it")
	}
	if c.Go == "" {
		checkRule(r, at, c.Rule)
	}
}

// rule is the contract's form.
func (c Rule) rule() contract.Rule {
	return contract.Rule{CEL: c.CEL, Field: c.Field, Bounds: c.Bounds.bounds(), If: clauses(c.If), Then: clauses(c.Then), Message: c.Message, Fields: c.Fields}
}

func clauses(m map[string]Bounds) []contract.Clause {
	var out []contract.Clause
	for _, name := range sortedKeys(m) {
		out = append(out, contract.Clause{Field: name, Bounds: m[name].bounds()})
	}
	return out
}

func (b Bounds) bounds() contract.Bounds {
	return contract.Bounds{Equals: b.Equals, Values: b.Values, Min: b.Min, Max: b.Max, ExclusiveMin: b.ExclusiveMin, ExclusiveMax: b.ExclusiveMax,
		MinLength: b.MinLength, MaxLength: b.MaxLength, MinItems: b.MinItems, MaxItems: b.MaxItems, Pattern: b.Pattern}
}
