package contract

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ErrBudget says that judging a text against its schema takes more work than a verdict may: the schema branches over
// and over on the same values, or the text is very large. Simplify anyOf and oneOf that reach the same sub-schema.
var ErrBudget = errors.New("the text cannot be judged within the work budget; simplify the schema's unions and " +
	"patterns, or ask for a smaller answer")

// budget is the work that one verdict may take, in units of about 100 ns on a slow core.
const budget = 8_000_000

// meter counts the work of one verdict. It belongs to one compiled schema, which judges one text at a time; above the
// budget it panics with ErrBudget, which Judge recovers.
type meter struct {
	left  int64
	visit int64 // cost of entering a sub-schema: a failure there keeps the path to it
	key   []byte

	lexeme string // the number that was read last, and what it is
	read   number
}

func (m *meter) reset(depth int) {
	m.left = budget
	m.visit = 6 + int64(depth)/2
}

func (m *meter) charge(units int64) {
	m.left -= units
	if m.left < 0 {
		panic(ErrBudget)
	}
}

// number reads a number once for the gate, which charges by its size, and for the bounds, which follow.
func (m *meter) number(lexeme string) number {
	if m.lexeme != lexeme {
		m.lexeme, m.read = lexeme, parseNumber(lexeme)
	}
	return m.read
}

// forget lets go of the text that was judged.
func (m *meter) forget() { m.lexeme, m.read = "", number{} }

// pattern is a regular expression that charges for its use: RE2 is linear, but in text times program.
type pattern struct {
	program
	m *meter
}

// program is a compiled expression, shared by every copy of a schema.
type program struct {
	*regexp.Regexp
	size int64
}

// MatchString implements jsonschema.Regexp.
func (p pattern) MatchString(s string) bool {
	p.m.charge(2 + int64(len(s))*p.size/32)
	return p.Regexp.MatchString(s)
}

// programs compiles every expression of a schema once.
type programs struct {
	mu     sync.Mutex
	byExpr map[string]program
}

func (ps *programs) engine(m *meter) jsonschema.RegexpEngine {
	return func(expr string) (jsonschema.Regexp, error) {
		p, err := ps.compile(expr)
		return pattern{program: p, m: m}, err
	}
}

func (ps *programs) compile(expr string) (program, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p, ok := ps.byExpr[expr]; ok {
		return p, nil
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return program{}, err
	}
	p := program{Regexp: re, size: programSize(expr)}
	ps.byExpr[expr] = p
	return p, nil
}

func programSize(expr string) int64 {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 1
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 1
	}
	return int64(len(prog.Inst))
}
