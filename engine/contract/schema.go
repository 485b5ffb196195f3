package contract

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// base is the address under which a schema is compiled; it resolves to nothing outside.
const base = "emend:///schema"

// schema is a checked JSON Schema with the copies that judge by it.
type schema struct {
	text     []byte // private, exact
	root     *span
	names    map[string]bool
	doc      any
	programs *programs
	judges   sync.Pool    // of *judge, made on demand: a judge serves one text at a time
	judged   atomic.Int32 // texts that the first judge judged
	top      *jsonschema.Schema
	parts    map[string]*jsonschema.Schema // compiled sub-schemas by pointer, to be read, not to judge with
	seen     []string                      // pointers of every sub-schema in the document
	forms    sync.Map                      // pointer of a sub-schema to its form
}

// judge is a compiled copy of a schema with its own meter.
type judge struct {
	schema *jsonschema.Schema
	meter  meter
	parts  []*jsonschema.Schema // every compiled sub-schema
	gates  map[*jsonschema.Schema]*gate
	first  bool // the schema's own: read by many, never shortened
}

func newJudge() *judge { return &judge{gates: map[*jsonschema.Schema]*gate{}} }

// newSchema checks and compiles a schema.
func newSchema(text []byte) (*schema, error) {
	doc, root, err := readSchema(text)
	if err != nil {
		return nil, err
	}
	s := &schema{text: text, root: root, doc: doc, programs: &programs{byExpr: map[string]program{}}}
	check := &checker{seen: map[string]bool{}, names: map[string]bool{}}
	if err := check.schema(doc, nil, draft2020); err != nil {
		return nil, err
	}
	s.names = check.names
	if err := s.validate(); err != nil {
		return nil, err
	}
	first, err := s.compile()
	if err != nil {
		return nil, err
	}
	if err := s.checkParts(first, check); err != nil {
		return nil, err
	}
	s.index(first, check)
	first.first = true
	s.judges.Put(first)
	return s, nil
}

// index keeps what is known of the schema's parts.
func (s *schema) index(first *judge, check *checker) {
	s.top, s.parts = first.schema, map[string]*jsonschema.Schema{}
	for _, part := range first.parts {
		if tokens, ok := location(part.Location); ok {
			s.parts[pointer(tokens)] = part
		}
	}
	s.seen = slices.Sorted(maps.Keys(check.seen))
}

// readSchema reads one strict JSON value that is an object or a boolean.
func readSchema(text []byte) (any, *span, error) {
	if len(text) > MaxSchemaBytes {
		return nil, nil, refuse(nil, "", "the schema is larger than %d bytes; use a smaller one", MaxSchemaBytes)
	}
	o := scan(text, true, false)
	if o.fault != nil {
		f := o.fault.finding(text, nil)
		return nil, nil, &CompileError{Pointer: f.Pointer, Reason: "the schema is no sound JSON: " + f.Message}
	}
	switch o.value.(type) {
	case map[string]any, bool:
		return o.value, spans(string(text)), nil
	}
	return nil, nil, refuse(nil, "", "the schema is of type %s; it must be an object or a boolean", typeName(o.value))
}

// validate holds the schema against its whole metaschema: a compiler with an own vocabulary checks only a part of it.
func (s *schema) validate() error {
	c := jsonschema.NewCompiler()
	_, err := s.compileWith(c)
	return err
}

// compile makes a judge.
func (s *schema) compile() (*judge, error) {
	j := newJudge()
	var err error
	j.schema, err = s.compileWith(s.compiler(j))
	return j, err
}

// compiler makes a compiler that puts the gates of j into what it compiles.
func (s *schema) compiler(j *judge) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertVocabs()
	c.UseRegexpEngine(s.programs.engine(&j.meter))
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "emend:meter", Compile: j.take})
	j.meter.left = budget
	return c
}

// take is called for every sub-schema once the library has compiled it, and puts a gate before it.
func (j *judge) take(ctx *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
	part := ctx.Enqueue(nil)
	j.parts = append(j.parts, part)
	j.gates[part] = newGate(&j.meter, part)
	return newExtra(&j.meter, part, obj), nil
}

func (s *schema) compileWith(c *jsonschema.Compiler) (_ *jsonschema.Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = refuse(nil, "", "the schema breaks its compiler (%v); simplify it", p)
		}
	}()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refuseLoads{})
	if err := c.AddResource(base, s.doc); err != nil {
		return nil, refuse(nil, "", "the schema cannot be registered: %v", err)
	}
	compiled, err := c.Compile(base)
	if err != nil {
		return nil, s.compileError(err)
	}
	return compiled, nil
}

// refuseLoads is the loader that loads nothing.
type refuseLoads struct{}

// Load implements jsonschema.URLLoader.
func (refuseLoads) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s would have to be loaded", url)
}

// checkParts checks what the document walk did not reach (targets of $ref in unusual places) and refuses references
// that lead back to themselves on the same value.
func (s *schema) checkParts(j *judge, check *checker) error {
	for _, part := range j.parts {
		tokens, ok := location(part.Location)
		if !ok {
			continue
		}
		if v, found := lookup(s.doc, tokens); found {
			if err := check.schema(v, tokens, part.DraftVersion); err != nil {
				return err
			}
		}
	}
	return (&chains{length: map[*jsonschema.Schema]int{}}).check(j.parts)
}

// location turns a compiled schema's address into tokens; ok is false for the embedded metaschemas.
func location(address string) (tokens []string, ok bool) {
	rest, ok := strings.CutPrefix(address, base+"#")
	if !ok {
		return nil, false
	}
	if rest == "" {
		return nil, true
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		plain, err := url.PathUnescape(token)
		if err != nil {
			return nil, false
		}
		tokens = append(tokens, unescapeToken(plain))
	}
	return tokens, true
}

func lookup(v any, tokens []string) (any, bool) {
	for _, t := range tokens {
		switch c := v.(type) {
		case map[string]any:
			v = c[t]
		case []any:
			i := 0
			if _, err := fmt.Sscan(t, &i); err != nil || i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, v != nil
}

// borrow hands out a judge; give it back with giveBack.
func (s *schema) borrow() (*judge, error) {
	if j, ok := s.judges.Get().(*judge); ok {
		return j, nil
	}
	j, err := s.compile()
	if err == nil {
		j.shorten()
	}
	return j, err
}

// giveBack takes a judge back. The first one, which cannot be shortened, serves a few texts only.
func (s *schema) giveBack(j *judge) {
	j.meter.forget()
	if !j.first || s.judged.Add(1) < patience {
		s.judges.Put(j)
	}
}

// raw returns the bytes of the sub-schema at tokens.
func (s *schema) raw(tokens ...string) []byte {
	return bytes.TrimSpace(s.root.find(tokens...).raw(s.text))
}
