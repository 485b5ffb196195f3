package contract

import (
	"errors"
	"slices"
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// expression judges a rule that has one. Where it cannot be evaluated on a value that the schema accepts, the value is at
// fault and can be mended: that is a finding, never a pass. More work than the budget allows is an error.
func (run *ruleRun) expression(r *compiledRule) (outcome, error) {
	e := r.program
	missing := false
	for _, f := range e.required {
		state := run.readable(f, f.path, run.value, nil)
		if state == mistypedField || state == missingField && f.path.wild() == 0 {
			return skipped, nil
		}
		missing = missing || state == missingField
	}
	out, err := run.evaluate(e)
	spent := errors.Is(err, ErrBudget)
	switch {
	case err != nil && (run.faulty || missing && !spent):
		return skipped, nil // what the schema says comes first, or an item lacks what is read of it
	case spent:
		return failed, err
	case err != nil:
		why, ofValue := faultOf(err)
		if !ofValue {
			return failed, errEvaluation
		}
		run.add(r, nil, nil, why)
		return failed, nil
	case out == types.True:
		return held, nil
	}
	run.add(r, nil, nil, "")
	return failed, nil
}

// evaluate gives an expression what it may take of what is left to the verdict; more is ErrBudget.
func (run *ruleRun) evaluate(e *expression) (ref.Val, error) {
	w := &work{left: min(maxCost, maxVerdictCost-run.cost)}
	before := w.left
	out, _, err := e.program.Eval(variables{run.value, e.integers, w})
	run.cost += before - max(w.left, 0)
	if w.left < 0 {
		return nil, ErrBudget
	}
	return out, err
}

// readability is whether a field can be read.
type readability int

const (
	readable readability = iota
	missingField
	mistypedField
)

// readable follows a path in v; where it has [*], the worst of the items counts. before leads to v.
func (run *ruleRun) readable(f field, path fieldPath, v any, before fieldPath) readability {
	run.meter.charge(1)
	n := slices.IndexFunc(path, func(t token) bool { return t.every })
	if n < 0 {
		found, ok := path.find(v)
		switch {
		case !ok:
			return missingField
		case kindOf(found)&f.kinds == 0 || run.types != nil && run.underType(slices.Concat(before, path)):
			return mistypedField
		}
		return readable
	}
	found, ok := path[:n].find(v)
	list, isList := found.([]any)
	if !ok || !isList {
		return missingField
	}
	worst := readable
	for i, item := range list {
		if run.types != nil {
			here := slices.Concat(before, path[:n+1])
			here[len(here)-1] = token{name: strconv.Itoa(i), index: true}
			worst = max(worst, run.readable(f, path[n+1:], item, here))
		} else {
			worst = max(worst, run.readable(f, path[n+1:], item, nil))
		}
	}
	return worst
}
