package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
)

// Bounds of an expression.
const (
	maxExpression     = 10_000
	maxExpressionCost = 2_000_000
)

// Variables of expressions.
const (
	// VarItems are the accepted outputs of a merge, VarMerged the merged value, VarNormalized what a normalize step made of it.
	VarItems      = "items"
	VarMerged     = "merged"
	VarNormalized = "normalized"
)

// Expression is a compiled CEL expression that makes a JSON value of others.
type Expression struct {
	source  string
	names   []string
	program cel.Program
}

// String is the expression as it was written.
func (e *Expression) String() string { return e.source }

// CompileExpression compiles an expression over the named variables. A predicate must be true or false.
func CompileExpression(source string, predicate bool, names ...string) (*Expression, error) {
	options := []cel.EnvOption{cel.CrossTypeNumericComparisons(true), cel.ParserExpressionSizeLimit(maxExpression), ext.Lists(), ext.Strings(), ext.Math()}
	for _, n := range names {
		options = append(options, cel.Variable(n, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, fmt.Errorf("%s (line %d, column %d of the expression; it may name %s)", first.Message, first.Location.Line(),
			first.Location.Column()+1, strings.Join(names, ", "))
	}
	if t := ast.OutputType(); predicate && !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it is of type %s; it must be true or false", t)
	}
	program, err := env.Program(ast, cel.CostLimit(maxExpressionCost))
	if err != nil {
		return nil, err
	}
	return &Expression{source: source, names: names, program: program}, nil
}

// eval gives the variables their values, in the order of their names.
func (e *Expression) eval(values ...any) (json.RawMessage, error) {
	out, err := e.run(values...)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := write(&b, out); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// holds evaluates a predicate.
func (e *Expression) holds(values ...any) (bool, error) {
	out, err := e.run(values...)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, errors.New("the expression is neither true nor false")
	}
	return bool(b), nil
}

func (e *Expression) run(values ...any) (ref.Val, error) {
	vars := map[string]any{}
	for i, v := range values {
		x, err := decoded(v)
		if err != nil {
			return nil, err
		}
		vars[e.names[i]] = x
	}
	out, _, err := e.program.Eval(vars)
	if err != nil {
		return nil, errors.New("the expression cannot be evaluated on these values: " + reasonOf(err))
	}
	return out, nil
}

// reasonOf is an evaluation's error without what it says of values.
func reasonOf(err error) string {
	for _, known := range []string{"no such key", "no such overload", "division by zero", "index out of bounds", "actual cost limit exceeded", "overflow"} {
		if strings.Contains(err.Error(), known) {
			return known
		}
	}
	return "evaluation failed"
}

// decoded is JSON as CEL takes it: whole numbers as int, others as double.
func decoded(v any) (any, error) {
	if list, ok := v.([]json.RawMessage); ok {
		out := make([]any, len(list))
		for i, raw := range list {
			x, err := decoded(raw)
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	}
	dec := json.NewDecoder(bytes.NewReader(v.(json.RawMessage)))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return nil, errors.New("an output is no JSON value")
	}
	return native(x)
}

func native(x any) (any, error) {
	var err error
	switch x := x.(type) {
	case json.Number:
		return exact(string(x))
	case map[string]any:
		for name := range x {
			if x[name], err = native(x[name]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range x {
			if x[i], err = native(x[i]); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}

// exact refuses a number that would lose digits on its way: the output must not differ from what a model wrote.
func exact(lexeme string) (any, error) {
	if n, err := strconv.ParseInt(lexeme, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(lexeme, 64)
	if err == nil {
		a, ok := new(big.Rat).SetString(lexeme)
		b, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		if ok && b != nil && a.Cmp(b) == 0 {
			return f, nil
		}
	}
	return nil, errors.New("an output has a number with more digits than an expression keeps; combine without cel, or have it written as text")
}

// write makes JSON of a CEL value; members of a map are sorted.
func write(b *bytes.Buffer, v ref.Val) error {
	switch v := v.(type) {
	case types.Null:
		b.WriteString("null")
	case types.Bool:
		b.WriteString(strconv.FormatBool(bool(v)))
	case types.Int:
		b.WriteString(strconv.FormatInt(int64(v), 10))
	case types.Uint:
		b.WriteString(strconv.FormatUint(uint64(v), 10))
	case types.Double:
		return writeJSON(b, float64(v))
	case types.String:
		return writeJSON(b, string(v))
	case traits.Mapper:
		return writeMap(b, v)
	case traits.Lister:
		return writeList(b, v)
	default:
		return fmt.Errorf("the expression makes a %s, which has no JSON form", v.Type().TypeName())
	}
	return nil
}
