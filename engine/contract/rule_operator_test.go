package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"pgregory.net/rapid"
)

// evaluate runs an expression over a, b and l with or without the exact operators.
func evaluate(t *testing.T, expr string, vars map[string]any, options ...cel.ProgramOption) string {
	t.Helper()
	env, err := cel.NewEnv(cel.CrossTypeNumericComparisons(true), cel.Variable("a", cel.DynType), cel.Variable("b", cel.DynType),
		cel.Variable("l", cel.ListType(cel.DynType)))
	if err != nil {
		t.Fatal(err)
	}
	checked, issues := env.Compile(expr)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", expr, issues.Err())
	}
	program, err := env.Program(checked, options...)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := program.Eval(vars)
	if err != nil {
		return "error"
	}
	return fmt.Sprintf("%s %v", out.Type().TypeName(), out.Value())
}

// TestAgreesWithCEL: where CEL's own numbers are exact, the operators do what CEL says, errors included.
func TestAgreesWithCEL(t *testing.T) {
	value := rapid.SampledFrom([]any{
		int64(0), int64(7), int64(-3), uint64(2), 1.0, 2.0, -8.0, "x", "", "xy", true, false, nil, []any{int64(1), "x"}, []any{}, []any{2.0},
		map[string]any{"x": int64(1)}, map[string]any{}, []byte("x"),
	})
	expr := rapid.SampledFrom([]string{
		"a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b", "[a] == [b]", "{'k': a} != {'k': b}", "a in l", "a in [b, 2]", "'x' in a",
		"a + b", "a - b", "a * b", "-a", "string(a)", "int(a)", "double(a) > 1.0", "size(a)", "l.map(x, [x])", "l.filter(x, x == a)",
		"l.exists_one(x, x == b)", "a == b ? a : b", "a < b || a > b", "type(a) == type(b)", "[a, b] + l", "l.all(x, x != a) && a == a",
		"a.matches('^x')", "l[0] == a", "a == {} || b == []", "b'x' == a", "timestamp('2024-01-01T00:00:00Z') > timestamp('2023-01-01T00:00:00Z')",
		"duration('1h') + duration('1m') > duration('1h')",
	})
	rapid.Check(t, func(r *rapid.T) {
		e := expr.Draw(r, "expression")
		vars := map[string]any{"a": value.Draw(r, "a"), "b": value.Draw(r, "b"), "l": []any{value.Draw(r, "x"), value.Draw(r, "y")}}
		plain, ours := evaluate(t, e, vars), evaluate(t, e, vars, cel.CustomDecorator(exactly))
		if plain != ours && !mixed(e, plain, vars) {
			r.Fatalf("%s over %v: %s, CEL says %s", e, vars, ours, plain)
		}
	})
}

// mixed are the cases in which the operators go beyond CEL: numbers of two types are calculated with, and an unsigned
// number loses its type. A double zero is not drawn: CEL has a negative one, which decimals have not.
func mixed(expr, plain string, vars map[string]any) bool {
	number := func(v any) bool {
		_, ok := numberOf(types.DefaultTypeAdapter.NativeToValue(v))
		return ok
	}
	calculates := strings.ContainsAny(expr[1:min(len(expr), 3)], "+-*") || strings.HasPrefix(expr, "-a")
	return number(vars["a"]) && (calculates && (plain == "error" || fmt.Sprintf("%T", vars["a"]) == "uint64") ||
		strings.HasPrefix(expr, "int(") || strings.HasPrefix(expr, "string("))
}

// TestOperatorsRefuse: an operator on what it is not for is an error, as in CEL.
func TestOperatorsRefuse(t *testing.T) {
	for _, expr := range []string{
		"a < 1", "1 < a", "a - 1", "1 + a", "a * 2", "-a", "a / 2", "a % 2", "1 in a", "int(a)", "double(a) > 0.0", "uint(a) > 1u", "a.matches('x')",
		"double('NaN') > 1.0", "double('1e9999') > 1.0",
	} {
		for _, v := range []any{map[string]any{}, true} {
			if (expr == "1 in a" || expr == "a < 1") && v != true {
				continue
			}
			if got := evaluate(t, expr, map[string]any{"a": v, "b": nil, "l": []any{}}, cel.CustomDecorator(exactly)); got != "error" {
				t.Errorf("%s over %v: %s", expr, v, got)
			}
		}
	}
}
