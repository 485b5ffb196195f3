package contract

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"emend/schemas"
)

// ErrTooLarge says that a text is larger than the contract's bound.
var ErrTooLarge = errors.New("the text is too large to be judged; ask for a smaller answer or raise the bound")

// Judge judges one text. It never panics: what cannot be judged has Err set and is neither valid nor invalid. The
// verdict holds no part of text itself, only copies; Expected and Schema of its findings are shared and read-only.
func (c *Contract) Judge(text []byte) Verdict { return c.JudgeText(string(text)) }

// JudgeText is Judge for a text that is a string already.
func (c *Contract) JudgeText(text string) (v Verdict) {
	defer func() {
		if p := recover(); p != nil {
			v = Verdict{Err: judgeError(p)}
		}
	}()
	if len(text) > c.maxBytes {
		return Verdict{Err: fmt.Errorf("%w: it has %d bytes, the bound is %d", ErrTooLarge, len(text), c.maxBytes)}
	}
	switch {
	case c.mode == schemas.ModeNone:
		return Verdict{Class: OK}
	case strings.TrimSpace(text) == "":
		return Verdict{Class: EmptyOutput, Findings: []Finding{{Keyword: string(EmptyOutput), Message: "the text is empty"}}}
	case c.mode == schemas.ModeBasic:
		return Verdict{Class: OK}
	}
	return c.judgeJSON(text)
}

// judgeError turns a recovered panic into an error.
func judgeError(p any) error {
	if err, ok := p.(error); ok && errors.Is(err, ErrBudget) {
		return err
	}
	return fmt.Errorf("the judge failed on this text: %v", p)
}

func (c *Contract) judgeJSON(text string) Verdict {
	o := c.scan(text)
	if o.fault == nil {
		return c.judgeValue(text, o)
	}
	raw := []byte(text)
	if v, ok := c.mend(raw, o); ok {
		return v
	}
	finding := o.fault.finding(raw, c.names())
	return Verdict{Class: o.fault.class, Findings: []Finding{finding}, CutOff: o.cut}
}

func (c *Contract) scan(text string) scanned {
	return scanText(text, c.schema != nil || c.rules != nil, c.lastWins)
}

// judgeValue judges a text that the scan accepts: by the schema, then by the rules, which run beside its findings.
func (c *Contract) judgeValue(text string, o scanned) Verdict {
	v := Verdict{Class: OK, Value: o.raw(text)}
	if c.schema != nil {
		v = c.schema.judge(v, o)
	}
	if c.also != nil && v.Valid() {
		if v.Findings = c.also(v.Value); len(v.Findings) > 0 {
			v.Class = SchemaInvalid
		}
	}
	if c.rules != nil && v.Err == nil {
		v = c.rules.judge(v, o.value, c.names())
	}
	return v
}

// names returns the keys that the schema names; not nil, so that everything else is masked.
func (c *Contract) names() map[string]bool {
	if c.schema == nil {
		return map[string]bool{}
	}
	return c.schema.names
}

// judge holds a sound value against the schema.
func (s *schema) judge(v Verdict, o scanned) Verdict {
	err := s.validateValue(o)
	if err == nil {
		return v
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return Verdict{Err: err}
	}
	leaves := flatten(invalid)
	for _, l := range leaves {
		if l.broken {
			return Verdict{Err: fmt.Errorf("the schema refers to itself without end at %s; correct the schema",
				DisplayPath(pointer(l.schema)))}
		}
	}
	v.Class = SchemaInvalid
	v.Findings, v.Omitted = s.findings(leaves, v.Value)
	return v
}

func (s *schema) validateValue(o scanned) error {
	j, err := s.borrow()
	if err != nil {
		return err
	}
	defer s.giveBack(j)
	j.meter.reset(o.depth)
	return j.schema.Validate(o.value)
}
