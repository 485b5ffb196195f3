package contract

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// CEL's own count of an evaluation's cost takes time that grows with the square of a loop's length, so that one long list
// could hold a core for minutes before its limit is reached. The same units are counted here: one for each part that is
// evaluated, and the length of what it yields or compares.

// work is what an evaluation may still take, in CEL's units. It belongs to one evaluation.
type work struct{ left int64 }

// workName is the variable that holds the work of an evaluation; no expression can write it.
const workName = "@work"

// workOf finds the work of an evaluation; nil where nobody counts.
func workOf(frame *interpreter.ExecutionFrame) *work {
	v, _ := frame.ResolveName(workName)
	w, _ := v.(*work)
	return w
}

// charge ends the evaluation once nothing is left.
func (w *work) charge(units int64) {
	if w == nil {
		return
	}
	if w.left -= units; w.left < 0 {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: ErrBudget.Error()})
	}
}

// counted makes every field that is read and every call charge for itself.
func counted(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	switch node := i.(type) {
	case *countedField, *countedCall:
		return i, nil
	case interpreter.InterpretableAttribute:
		return &countedField{node}, nil
	case interpreter.InterpretableCall:
		return &countedCall{node}, nil
	}
	return i, nil
}

type countedField struct {
	interpreter.InterpretableAttribute
}

// Exec implements interpreter.InterpretableV2.
func (f *countedField) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := f.InterpretableAttribute.Exec(frame)
	workOf(frame).charge(1 + effort(v))
	return v
}

// Eval implements interpreter.Interpretable.
func (f *countedField) Eval(vars interpreter.Activation) ref.Val {
	return f.Exec(interpreter.AsFrame(vars))
}

// Qualify reads the item of a list that the field names, which CEL does not do with a number inside the output, and leaves
// every other index to CEL.
func (f *countedField) Qualify(vars interpreter.Activation, obj any) (any, error) {
	n, isNumber := numberOf(f.Eval(vars))
	list, isList := f.Adapter().NativeToValue(obj).(traits.Lister)
	if !isNumber || !isList || n.ratio != nil || n.exp < 0 || len(n.digits)+n.exp > nativeDigits {
		return f.InterpretableAttribute.Qualify(vars, obj)
	}
	item := list.Get(types.Int(n.signed(n.exp)))
	if types.IsError(item) {
		return nil, errIndex
	}
	return item, nil
}

type countedCall struct{ interpreter.InterpretableCall }

// Exec implements interpreter.InterpretableV2.
func (c *countedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	w := workOf(frame)
	w.charge(1)
	v := c.InterpretableCall.Exec(frame)
	w.charge(effort(v))
	return v
}

// Eval implements interpreter.Interpretable.
func (c *countedCall) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// effort is the cost of going over a text, a tenth of a unit a byte, as CEL has it, or of calculating with a number that
// is no native one, as much for each of its places.
func effort(v ref.Val) int64 {
	switch v := v.(type) {
	case exact:
		return v.places() / 10
	case types.String:
		return int64(len(v)) / 10
	case types.Bytes:
		return int64(len(v)) / 10
	}
	return 0
}

// places is about how many decimal places a number has, before and behind the point.
func (e exact) places() int64 {
	if e.ratio != nil {
		return int64(e.ratio.Num().BitLen()+e.ratio.Denom().BitLen()) / 3
	}
	return int64(len(e.digits) + max(e.exp, -e.exp))
}

// wholly are the functions that go over all of what they are given, however deep.
var wholly = map[string]bool{operators.Equals: true, operators.NotEquals: true, operators.In: true, operators.OldIn: true, sumName: true}

// countedWhole is an argument of one of them: it charges for every part of its value.
type countedWhole struct{ interpreter.InterpretableV2 }

// countWhole makes arguments charge for every part of their values.
func countWhole(args []interpreter.InterpretableV2) []interpreter.InterpretableV2 {
	out := make([]interpreter.InterpretableV2, len(args))
	for i, a := range args {
		out[i] = &countedWhole{a}
	}
	return out
}

// Exec implements interpreter.InterpretableV2.
func (c *countedWhole) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := c.InterpretableV2.Exec(frame)
	if w := workOf(frame); w != nil {
		w.whole(v)
	}
	return v
}

// Eval implements interpreter.Interpretable.
func (c *countedWhole) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// whole charges for the items and members of a value. Its texts are charged for when they are read by themselves.
func (w *work) whole(v ref.Val) {
	switch v := v.(type) {
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			w.part(it.Next())
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			w.part(v.Get(it.Next()))
		}
	}
}

func (w *work) part(v ref.Val) {
	w.charge(1 + effort(v))
	w.whole(v)
}
