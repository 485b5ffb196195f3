package contract

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
)

// unfit are the formats whose texts a conversion never takes, with the way out.
var unfit = map[string]map[string]string{
	overloads.TypeConvertTimestamp: {
		"date": `it needs a time of day too; write timestamp(%s + "T00:00:00Z")`,
		"time": `it needs a date too; write timestamp("2000-01-01T" + %s)`,
	},
	overloads.TypeConvertDuration: {"duration": `it reads texts such as "36h", and this format is ISO 8601, such as "P1DT12H"; compare %s as a text`},
}

// convertible refuses a conversion that fails on every text that the schema allows in a field.
func (r *reader) convertible(function string, never map[string]string, e ast.Expr, in scope) {
	path, ok := r.path(e, in)
	if !ok {
		return
	}
	f, err := r.schema.fieldAt(path)
	if err != nil || f.kinds&^nullKind != stringKind {
		return
	}
	for _, p := range inPlaceOf(f.parts) {
		if p.certain && p.Format != nil && never[p.Format.Name] != "" {
			r.fail(atField(path.String(), fmt.Errorf("%s() never takes a text of format %s: %s", function, p.Format.Name,
				fmt.Sprintf(never[p.Format.Name], lastName(e)))))
		}
	}
}

// lastName is how an expression names a field, as far as a hint needs it.
func lastName(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		return lastName(e.AsSelect().Operand()) + "." + e.AsSelect().FieldName()
	}
	return "it"
}
