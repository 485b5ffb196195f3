package contract

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// reader finds what an expression reads, and holds it against the schema.
type reader struct {
	schema *schema
	known  map[string]bool // variables that are members of the value
	// functions reports whether there is a function of a name.
	functions func(name string) bool
	source    string
	info      *ast.SourceInfo

	reads   []field     // in the order in which they stand
	holders []field     // what must be there to ask with has() what is in it
	tested  []fieldPath // by has()
	unknown []string    // names that are no variables
	err     error       // the first
}

// scope are the variables of macros: the items they stand for, nil if that is not one place.
type scope map[string]fieldPath

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// walk reads an expression.
func (r *reader) walk(e ast.Expr, in scope) {
	if path, ok := r.path(e, in); ok {
		r.place(e, path)
		r.indices(e, in)
		return
	}
	switch e.Kind() {
	case ast.IdentKind:
		if _, local := in[e.AsIdent()]; !local {
			r.unknown = append(r.unknown, e.AsIdent())
		}
	case ast.SelectKind:
		r.walk(e.AsSelect().Operand(), in)
	case ast.CallKind:
		r.call(e.AsCall(), in)
	case ast.LiteralKind:
		r.literal(e)
	case ast.ComprehensionKind:
		r.loop(e.AsComprehension(), in)
	default:
		r.parts(e, in)
	}
}

// parts reads what a list, a map or a message is made of.
func (r *reader) parts(e ast.Expr, in scope) {
	switch e.Kind() {
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			r.walk(item, in)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.walk(entry.AsMapEntry().Key(), in)
			r.walk(entry.AsMapEntry().Value(), in)
		}
	case ast.StructKind:
		for _, f := range e.AsStruct().Fields() {
			r.walk(f.AsStructField().Value(), in)
		}
	}
}

// path returns the place of the value that e stands for, if it is one.
func (r *reader) path(e ast.Expr, in scope) (fieldPath, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return r.variable(e.AsIdent(), in)
	case ast.SelectKind:
		path, ok := r.path(e.AsSelect().Operand(), in)
		return extend(path, token{name: e.AsSelect().FieldName()}), ok
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Index {
			if path, ok := r.path(call.Args()[0], in); ok {
				return r.indexed(path, call.Args()[1])
			}
		}
	}
	return nil, false
}

func extend(path fieldPath, t token) fieldPath { return append(path[:len(path):len(path)], t) }

func (r *reader) variable(name string, in scope) (fieldPath, bool) {
	if path, local := in[name]; local {
		return path, path != nil
	}
	if name == outputName {
		return fieldPath{}, true
	}
	return fieldPath{{name: name}}, r.known[name]
}

// indexed is a place by its key or index. An index that is computed may be any item; a key that is computed has no
// place.
func (r *reader) indexed(path fieldPath, index ast.Expr) (fieldPath, bool) {
	if index.Kind() == ast.LiteralKind {
		switch v := index.AsLiteral().(type) {
		case types.String:
			return extend(path, token{name: string(v)}), true
		case types.Int:
			return extend(path, token{name: strconv.FormatInt(int64(v), 10), index: true}), v >= 0
		}
	}
	return extend(path, token{every: true}), r.isList(path)
}

// isList reports whether an array stands at the path, and nothing else that has members.
func (r *reader) isList(path fieldPath) bool {
	f, err := r.schema.fieldAt(path)
	return err == nil && f.kinds&arrayKind != 0 && f.kinds&objectKind == 0
}

// place notes that e reads the place at path, or only asks whether it is there.
func (r *reader) place(e ast.Expr, path fieldPath) {
	f, err := r.schema.fieldAt(path)
	if err != nil {
		r.fail(atField(path.String(), err))
		return
	}
	if e.Kind() != ast.SelectKind || !e.AsSelect().IsTestOnly() {
		r.reads = append(r.reads, f)
		return
	}
	r.tested = append(r.tested, path)
	if holder, err := r.schema.fieldAt(path[:len(path)-1]); err == nil {
		holder.kinds &= objectKind
		r.holders = append(r.holders, holder)
	}
}

// indices reads the indices within a place that are computed.
func (r *reader) indices(e ast.Expr, in scope) {
	switch e.Kind() {
	case ast.SelectKind:
		r.indices(e.AsSelect().Operand(), in)
	case ast.CallKind:
		r.indices(e.AsCall().Args()[0], in)
		r.walk(e.AsCall().Args()[1], in)
	}
}

func (r *reader) call(call ast.CallExpr, in scope) {
	r.function(call, in)
	args := call.Args()
	if call.IsMemberFunction() {
		r.walk(call.Target(), in)
	}
	for _, arg := range args {
		r.walk(arg, in)
	}
	if call.FunctionName() == overloads.Matches && len(args) > 0 {
		r.pattern(args[len(args)-1])
	}
	if never := unfit[call.FunctionName()]; len(args) == 1 && never != nil {
		r.convertible(call.FunctionName(), never, args[0], in)
	}
}

// maxPattern bounds the program of a pattern, in instructions.
const maxPattern = 20_000

// pattern checks the pattern of a match, which the author writes and no candidate.
func (r *reader) pattern(e ast.Expr) {
	if e.Kind() != ast.LiteralKind {
		r.fail(errors.New("a pattern of matches must be a text in the rule itself, not a field; write it there"))
		return
	}
	expr, ok := e.AsLiteral().(types.String)
	if !ok {
		return // the type check says it
	}
	if _, err := regexp.Compile(string(expr)); err != nil {
		r.fail(fmt.Errorf("the pattern %s cannot run (%w); write it without lookaround, backreferences and repetitions over 1000",
			quoted(excerpt(string(expr))), err))
	} else if programSize(string(expr)) > maxPattern {
		r.fail(fmt.Errorf("the pattern %s is too large; simplify it", quoted(excerpt(string(expr)))))
	}
}

// loop reads a macro such as all or map: its variable stands for every item of a list.
func (r *reader) loop(c ast.ComprehensionExpr, in scope) {
	r.walk(c.IterRange(), in)
	r.walk(c.AccuInit(), in)
	inner := maps.Clone(in)
	for _, name := range []string{c.AccuVar(), c.IterVar(), c.IterVar2()} {
		inner[name] = nil
	}
	if path, ok := r.path(c.IterRange(), in); ok && !c.HasIterVar2() && r.isList(path) {
		inner[c.IterVar()] = extend(path, token{every: true})
	}
	r.walk(c.LoopCondition(), inner)
	r.walk(c.LoopStep(), inner)
	r.walk(c.Result(), inner)
}

var literalNumber = regexp.MustCompile(`^-?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?`)

// literal refuses a number with more digits than CEL keeps, which would be another number.
func (r *reader) literal(e ast.Expr) {
	f, ok := e.AsLiteral().(types.Double)
	at, placed := r.info.GetOffsetRange(e.ID())
	if !ok || !placed || math.IsInf(float64(f), 0) {
		return
	}
	text := literalNumber.FindString(string([]rune(r.source)[at.Start:]))
	kept, _ := numberOf(f)
	if text != "" && parseNumber(text).compare(kept.number) != 0 {
		r.fail(fmt.Errorf("the number %s has more digits than an expression keeps; use a field with bounds", excerpt(text)))
	}
}

// required are the reads without what the expression asks for itself with has().
func (r *reader) required() []field {
	return slices.DeleteFunc(slices.Concat(r.reads, r.holders), func(f field) bool {
		return slices.ContainsFunc(r.tested, f.path.startsWith)
	})
}

// changeable are the fields that mend the rule by default: what is read or asked for, lists whole.
func (r *reader) changeable() (list []fieldPath) {
	var all []fieldPath
	for _, f := range r.reads {
		all = append(all, f.path)
	}
	for _, path := range append(all, r.tested...) {
		if i := slices.IndexFunc(path, func(t token) bool { return t.every }); i >= 0 {
			path = path[:i]
		}
		if !slices.ContainsFunc(list, path.startsWith) {
			list = slices.DeleteFunc(list, func(p fieldPath) bool { return p.startsWith(path) })
			list = append(list, path)
		}
	}
	return list
}
