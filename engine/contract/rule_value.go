package contract

import (
	"encoding/json"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// outputName is the variable that holds the whole value.
const outputName = "output"

// adapter makes CEL values of decoded JSON, lists and objects part by part when they are looked at.
type adapter struct{}

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case nil:
		return types.NullValue
	case json.Number:
		return parseNumber(string(v)).double()
	case []any:
		return types.NewDynamicList(a, v)
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// variables are a value as an expression sees it: whole as output, and its members under their own names.
type variables struct {
	value    any
	integers map[string]bool // members that the schema makes integers
	work     *work
}

// ResolveName implements interpreter.Activation.
func (v variables) ResolveName(name string) (any, bool) {
	switch name {
	case outputName:
		return v.value, true
	case workName:
		return v.work, true
	}
	members, _ := v.value.(map[string]any)
	member, ok := members[name]
	if n, isNumber := member.(json.Number); isNumber && v.integers[name] && isInteger(string(n)) {
		return parseNumber(string(n)).whole(), true
	}
	return member, ok
}

// Parent implements interpreter.Activation.
func (v variables) Parent() interpreter.Activation { return nil }
