package contract

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Bounds of expressions. Costs are in CEL's units, about a step of the evaluation each.
const (
	maxExpression  = 10_000  // characters
	maxCost        = 500_000 // of one expression on one value
	maxVerdictCost = 2_000_000
	usualLength    = 100 // items and characters that a list or text is taken to have where the schema gives no bound
)

// expression is a compiled CEL expression.
type expression struct {
	program  cel.Program
	required []field
	integers map[string]bool
}

// environment is what the expressions of a contract may name.
type environment struct {
	env      *cel.Env
	known    map[string]bool
	integers map[string]bool
}

// environment declares the members of the schema's root and output. Without a schema there is only output.
func (s *schema) environment() (*environment, error) {
	out := &environment{known: map[string]bool{}, integers: map[string]bool{}}
	options := []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true), cel.CustomTypeAdapter(adapter{}), cel.ParserExpressionSizeLimit(maxExpression),
		cel.Variable(outputName, cel.DynType), sumFunction(),
	}
	if s != nil {
		for _, name := range namesOf([]part{{s.top, true}}) {
			f, err := s.fieldAt(fieldPath{{name: name}})
			if err != nil || !isName(name) {
				continue
			}
			out.known[name], out.integers[name] = true, f.kinds == integerKind
			options = append(options, cel.Variable(name, typeOf(f.kinds)))
		}
	}
	var err error
	out.env, err = cel.NewEnv(options...)
	return out, err
}

// reserved are the words that CEL keeps for itself, and the name that is taken.
var reserved = strings.Fields("as break const continue else false for function if import in let loop null package namespace " +
	"return true var void while " + outputName)

var plainName = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// isName reports whether a member can be a variable; the others are reached through output.
func isName(name string) bool { return plainName.MatchString(name) && !slices.Contains(reserved, name) }

// typeOf is the CEL type of a variable: dyn where the schema allows several JSON types.
func typeOf(k kinds) *cel.Type {
	switch {
	case k == integerKind:
		return cel.IntType
	case k != 0 && k&^numberKind == 0:
		return cel.DoubleType
	}
	switch k {
	case stringKind:
		return cel.StringType
	case boolKind:
		return cel.BoolType
	case arrayKind:
		return cel.ListType(cel.DynType)
	case objectKind:
		return cel.MapType(cel.StringType, cel.DynType)
	}
	return cel.DynType
}

// cel compiles the expression of a rule.
func (c *ruleCompiler) cel(expr string, out *compiledRule) error {
	if c.environment == nil {
		var err error
		if c.environment, err = c.schema.environment(); err != nil {
			return err
		}
	}
	env := c.environment
	parsed, issues := env.env.Parse(expr)
	if issues.Err() != nil {
		return celError(issues)
	}
	read := &reader{schema: c.schema, known: env.known, functions: env.env.HasFunction, source: expr, info: parsed.NativeRep().SourceInfo()}
	read.walk(parsed.NativeRep().Expr(), scope{})
	checked, issues := env.env.Check(parsed)
	switch {
	case read.err != nil:
		return read.err
	case issues.Err() != nil:
		return c.checkError(issues, read.unknown)
	case checked.OutputType() != types.BoolType:
		return fmt.Errorf("it is of type %s; it must be true or false, so compare it with something", checked.OutputType())
	case len(read.reads)+len(read.tested) == 0:
		return errors.New("it reads no field of the output, so no answer can mend it; name one")
	}
	return c.plan(checked, read, out)
}

func (c *ruleCompiler) plan(checked *cel.Ast, read *reader, out *compiledRule) (err error) {
	cost, err := c.environment.env.EstimateCost(checked, sizes{c.schema})
	if err != nil {
		return err
	}
	if cost.Max > maxCost {
		return fmt.Errorf("it may take %d steps, more than %d, for lists and texts as long as the schema allows, or of %d where it gives "+
			"no bound; nest fewer loops, or bound the lists with maxItems", cost.Max, maxCost, usualLength)
	}
	out.program = &expression{required: read.required(), integers: c.environment.integers}
	out.program.program, err = c.environment.env.Program(checked, cel.CustomDecorator(exactly), cel.CustomDecorator(counted))
	if err != nil {
		return err
	}
	out.expected = []byte(quoted(read.source))
	if out.fields != nil {
		return nil
	}
	for _, path := range read.changeable() {
		f, err := c.schema.fieldAt(path)
		if err != nil {
			return err
		}
		out.fields = append(out.fields, f)
	}
	return nil
}

// celError takes the first issue, without the picture of the source.
func celError(issues *cel.Issues) error {
	first := issues.Errors()[0]
	text := excerptOf(strings.TrimSpace(first.Message), 4*maxExcerpt)
	if strings.Contains(text, "'(double, int)'") || strings.Contains(text, "'(int, double)'") {
		text += "; write the integer with a point, 1.0, or convert with double()"
	}
	if strings.Contains(text, "argument to has()") {
		text += "; ask for a member, as in has(output.total)"
	}
	return fmt.Errorf("%s (line %d, column %d of the expression)", text, first.Location.Line(), first.Location.Column()+1)
}

// checkError says of a name that is no variable what it may have been.
func (c *ruleCompiler) checkError(issues *cel.Issues, unknown []string) error {
	first := issues.Errors()[0].Message
	for _, name := range unknown {
		if !strings.Contains(first, "undeclared reference to '"+name+"'") {
			continue
		}
		if c.schema == nil {
			return atField(name, errors.New("without a schema only output is known; write output."+name))
		}
		parts := []part{{c.schema.top, true}}
		if slices.Contains(namesOf(parts), name) {
			return atField(name, fmt.Errorf("CEL keeps this word for itself; write output[%s]", quoted(name)))
		}
		return atField(name, errors.New("the schema does not know this field"+nearestField(parts, nil, name)))
	}
	return celError(issues)
}
