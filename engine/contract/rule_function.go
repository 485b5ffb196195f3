package contract

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"

	"emend/schemas"
)

// offered are the functions and macros that authors look for, for a hint at a misspelt one; operators are not called.
var offered = strings.Fields("all exists exists_one filter map has size contains startsWith endsWith matches int uint double string bool " +
	"timestamp duration sum type getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds")

// function refuses a call of what rules do not offer. Without that a library's function, as in math.abs(x), would be told as
// an unknown field of the schema.
func (r *reader) function(call ast.CallExpr, in scope) {
	name := call.FunctionName()
	if r.functions(name) {
		return
	}
	shown := name
	if call.IsMemberFunction() {
		shown = r.library(call.Target(), in) + name
	}
	hint := ""
	for _, known := range offered {
		if len(name) > 3 && schemas.Distance(strings.ToLower(name), strings.ToLower(known)) < 2 {
			hint = " (did you mean " + known + "?)"
		}
	}
	r.fail(fmt.Errorf("there is no function %s in rules%s; docs/output.md, section Rules, lists what there is", excerpt(shown), hint))
}

// library is what stands before a function where it is no value but a name, with its dot.
func (r *reader) library(e ast.Expr, in scope) string {
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
		if _, local := in[name]; !local && !r.known[name] && name != outputName {
			return name + "."
		}
	case ast.SelectKind:
		if before := r.library(e.AsSelect().Operand(), in); before != "" {
			return before + e.AsSelect().FieldName() + "."
		}
	}
	return ""
}
