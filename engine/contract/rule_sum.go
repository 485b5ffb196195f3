package contract

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// sumName is the function's name; maxSummed bounds the items of one sum.
const (
	sumName   = "sum"
	maxSummed = 100_000
)

// sumFunction is sum(list), or list.sum(): the exact sum of a list of numbers, 0 of an empty one. CEL itself has none, and
// "the lines add up to the total" is the rule that most contracts need first.
func sumFunction() cel.EnvOption {
	list := cel.ListType(cel.DynType)
	return cel.Function(sumName,
		cel.Overload("sum_list", []*cel.Type{list}, cel.DoubleType, cel.UnaryBinding(sumOf)),
		cel.MemberOverload("list_sum", []*cel.Type{list}, cel.DoubleType, cel.UnaryBinding(sumOf)))
}

func sumOf(v ref.Val) ref.Val {
	list, ok := v.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	if n, ok := list.Size().(types.Int); !ok || n > maxSummed {
		return types.WrapErr(fmt.Errorf("%w: a sum has more than %d items", ErrBudget, maxSummed))
	}
	total := exact{number: parseNumber("0")}
	for it := list.Iterator(); it.HasNext() == types.True; {
		item, ok := numberOf(it.Next())
		if !ok {
			return types.NewErr("no such overload: an item of a sum is no number")
		}
		var err error
		if total, err = calculate('+', total, item, false); err != nil {
			return types.WrapErr(err)
		}
	}
	return result(total, false)
}
