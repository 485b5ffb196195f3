package contract

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// exactly replaces, in a planned expression, every operator and conversion that can meet a number by one that computes
// exactly, and a match by one that is bounded. Everything else is CEL's own.
func exactly(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok {
		return i, nil
	}
	impl := operatorOf(call.Function())
	if call.Function() == overloads.Matches {
		impl = matcher(call)
	}
	if impl == nil {
		return i, nil
	}
	args := call.Args()
	if wholly[call.Function()] {
		args = countWhole(args)
	}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), args, impl), nil
}

// operatorOf returns the exact form of a function, nil if CEL's own is right.
func operatorOf(function string) functions.FunctionOp {
	if holds, ok := orders[function]; ok {
		return ordered(holds)
	}
	if op, ok := arithmetic[function]; ok {
		return calculated(op)
	}
	switch function {
	case operators.Equals:
		return func(args ...ref.Val) ref.Val { return types.Bool(equalVals(args[0], args[1])) }
	case operators.NotEquals:
		return func(args ...ref.Val) ref.Val { return types.Bool(!equalVals(args[0], args[1])) }
	case operators.In, operators.OldIn:
		return contained
	case operators.Negate:
		return negated
	case sumName:
		return func(args ...ref.Val) ref.Val { return sumOf(args[0]) }
	case overloads.TypeConvertInt, overloads.TypeConvertDouble, overloads.TypeConvertUint, overloads.TypeConvertString:
		return converted(function)
	}
	return nil
}

var orders = map[string]func(int) bool{
	operators.Less:          func(o int) bool { return o < 0 },
	operators.LessEquals:    func(o int) bool { return o <= 0 },
	operators.Greater:       func(o int) bool { return o > 0 },
	operators.GreaterEquals: func(o int) bool { return o >= 0 },
}

var arithmetic = map[string]byte{
	operators.Add: '+', operators.Subtract: '-', operators.Multiply: '*', operators.Divide: '/', operators.Modulo: '%',
}

// numbersOf returns two numbers, and false if one of them is none.
func numbersOf(a, b ref.Val) (x, y exact, ok bool) {
	if x, ok = numberOf(a); ok {
		y, ok = numberOf(b)
	}
	return x, y, ok
}

// compareVals orders two numbers, or two values that CEL orders.
func compareVals(a, b ref.Val) (int, ref.Val) {
	if x, ok := a.(types.Double); ok {
		if y, ok := b.(types.Double); ok {
			return cmp.Compare(x, y), nil // both stand for the decimals that they spell, and these have the same order
		}
	}
	if x, y, ok := numbersOf(a, b); ok {
		return x.compareTo(y), nil
	}
	c, ok := a.(traits.Comparer)
	if !ok {
		return 0, types.MaybeNoSuchOverloadErr(b)
	}
	order, ok := c.Compare(b).(types.Int)
	if !ok {
		return 0, types.MaybeNoSuchOverloadErr(b)
	}
	return int(order), nil
}

func ordered(holds func(int) bool) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		order, fault := compareVals(args[0], args[1])
		if fault != nil {
			return fault
		}
		return types.Bool(holds(order))
	}
}

// calculated is one of + - * / %. On two integers / cuts the fraction away, as CEL does; integers are the variables that
// the schema makes integers, integer literals, and what is calculated from them, but no part of a list or object.
func calculated(op byte) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		x, y, ok := numbersOf(args[0], args[1])
		if !ok {
			return added(op, args[0], args[1])
		}
		integer := isInt(args[0]) && isInt(args[1])
		r, err := calculate(op, x, y, integer)
		if err != nil {
			return types.WrapErr(err)
		}
		return result(r, integer)
	}
}

func isInt(v ref.Val) bool { return v.Type() == types.IntType }

// added is what + and - mean for texts, lists, times.
func added(op byte, a, b ref.Val) ref.Val {
	if adder, ok := a.(traits.Adder); ok && op == '+' {
		return adder.Add(b)
	}
	if subtractor, ok := a.(traits.Subtractor); ok && op == '-' {
		return subtractor.Subtract(b)
	}
	return types.MaybeNoSuchOverloadErr(a)
}

func negated(args ...ref.Val) ref.Val {
	n, ok := numberOf(args[0])
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	r, err := calculate('-', exact{}, n, false)
	if err != nil {
		return types.WrapErr(err)
	}
	return result(r, isInt(args[0]))
}

// equalVals is the equality of JSON: of numbers by value, of lists and maps by their parts.
func equalVals(a, b ref.Val) bool {
	if x, y, ok := numbersOf(a, b); ok {
		return x.compareTo(y) == 0
	}
	switch x := a.(type) {
	case traits.Lister:
		y, ok := b.(traits.Lister)
		return ok && equalLists(x, y)
	case traits.Mapper:
		y, ok := b.(traits.Mapper)
		return ok && equalMaps(x, y)
	}
	return types.Equal(a, b) == types.True
}

func equalLists(a, b traits.Lister) bool {
	if types.Equal(a.Size(), b.Size()) != types.True {
		return false
	}
	for x, y := a.Iterator(), b.Iterator(); x.HasNext() == types.True; {
		if !equalVals(x.Next(), y.Next()) {
			return false
		}
	}
	return true
}

func equalMaps(a, b traits.Mapper) bool {
	if types.Equal(a.Size(), b.Size()) != types.True {
		return false
	}
	for keys := a.Iterator(); keys.HasNext() == types.True; {
		key := keys.Next()
		other, ok := b.Find(key)
		if !ok || !equalVals(a.Get(key), other) {
			return false
		}
	}
	return true
}

// contained is the operator in: an item of a list, a key of a map.
func contained(args ...ref.Val) ref.Val {
	if keys, ok := args[1].(traits.Mapper); ok {
		if _, number := numberOf(args[0]); !number {
			return keys.Contains(args[0])
		}
	}
	all, ok := args[1].(traits.Iterable)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[1])
	}
	for it := all.Iterator(); it.HasNext() == types.True; {
		if equalVals(args[0], it.Next()) {
			return types.True
		}
	}
	return types.False
}

// converted is one of int, uint, double, string. A text becomes the number that it spells, digit by digit.
func converted(function string) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		n, isNumber := numberOf(args[0])
		text, isText := args[0].(types.String)
		switch {
		case function == overloads.TypeConvertDouble && isNumber && n.ratio == nil:
			return n.double()
		case function == overloads.TypeConvertDouble && isText:
			if n, ok := spelled(string(text)); ok {
				return n.double()
			}
			return types.NewErr("the text is no number")
		case function == overloads.TypeConvertInt && isNumber:
			return n.truncated()
		}
		to := conversions[function]
		if !slices.Contains(to.from, args[0].Type()) {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		return args[0].ConvertToType(to.want)
	}
}

// conversions are the types that CEL converts into each of its own.
var conversions = map[string]struct {
	want ref.Type
	from []ref.Type
}{
	overloads.TypeConvertInt: {types.IntType, []ref.Type{types.DoubleType, types.DurationType, types.IntType, types.StringType,
		types.TimestampType, types.UintType}},
	overloads.TypeConvertUint:   {types.UintType, []ref.Type{types.DoubleType, types.IntType, types.StringType, types.UintType}},
	overloads.TypeConvertDouble: {types.DoubleType, []ref.Type{types.DoubleType, types.IntType, types.StringType, types.UintType}},
	overloads.TypeConvertString: {types.StringType, []ref.Type{types.BoolType, types.BytesType, types.DoubleType, types.DurationType,
		types.IntType, types.StringType, types.TimestampType, types.UintType}},
}

// maxMatch bounds one match: characters times the size of the program, over 32.
const maxMatch = 2_000_000

// matcher is the function matches with a pattern that the author wrote (checked when the rule is compiled), run within
// a bound. It is nil if the pattern cannot be compiled, which CEL then says.
func matcher(call interpreter.InterpretableCall) functions.FunctionOp {
	literal, ok := call.Args()[1].(interpreter.InterpretableConst)
	if !ok {
		return nil
	}
	expr, _ := literal.Value().(types.String)
	re, err := regexp.Compile(string(expr))
	if err != nil {
		return nil
	}
	size := programSize(string(expr))
	return func(args ...ref.Val) ref.Val {
		text, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		if int64(len(text))*size/32 > maxMatch {
			return types.WrapErr(ErrBudget)
		}
		return types.Bool(re.MatchString(string(text)))
	}
}
