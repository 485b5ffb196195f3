// Package scripted plays a YAML script of answers, faults and delays in place of a model, on the wires of four providers,
// which the path of a call tells apart: over HTTP (Handler, for emend mock) or in process (Transport, for rehearsals and
// tests without a network). The same script and the same requests give the same replies, in each provider's own form: its
// stop reasons, its counts, its error bodies, the arguments of a tool that Anthropic's request forces. What a wire has no
// word for stands in for it: Gemini withholds what a script refuses, and Ollama's model says it.
//
//	latency: 20ms            # delay of every reply that names none
//	concurrency: 8           # more calls at once are answered 429
//	rules:                   # the first that matches answers
//	  - match: {contains: invoice, model: small}
//	    replies:             # in order, per conversation; the last repeats
//	      - {status: 429, retry_after: "1"}
//	      - {text: '{"total": "4 EUR"}', usage: {input: 120, output: 9}}
//	      - {json: {total: 4}}
//	    then: cycle          # or begin again
//	default: {replies: [{echo: true}]}
//
// A conversation is the wire, the model, the system and developer messages and the first user message: a correction or a retry
// continues it. An empty script answers {"ok":true}.
package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"emend/schemas"
)

// Script is a checked script. It is not changed after Parse and may be shared.
type Script struct {
	// Latency delays every reply that names no delay of its own.
	Latency Duration `yaml:"latency"`
	// Concurrency is how many calls are answered at once; 0 means any number.
	Concurrency int `yaml:"concurrency"`
	// Conversations bounds how many conversations are remembered; 0 means 16384. The least recently used goes first.
	Conversations int `yaml:"conversations"`
	// Models is the list of GET /v1/models; empty means the models that rules name.
	Models []string `yaml:"models"`
	Rules  []Rule   `yaml:"rules"`
	// Default answers what no rule matches.
	Default *Rule `yaml:"default"`
}

// Rule answers the requests that it matches.
type Rule struct {
	Match   Match   `yaml:"match"`
	Replies []Reply `yaml:"replies"`
	// Then is repeat (default: the last reply again) or cycle.
	Then string `yaml:"then"`
}

// Match restricts a rule; what is empty restricts nothing.
type Match struct {
	// Contains is text that some message must hold.
	Contains string `yaml:"contains"`
	Model    string `yaml:"model"`
}

// Reply is one answer or fault. At most one of Text, JSON, Echo, Refusal, NullContent, Body and Drop is given.
type Reply struct {
	// Text is the content, byte for byte.
	Text *string `yaml:"text"`
	// JSON is a YAML value that becomes the content as compact JSON, in its own order.
	JSON yaml.Node `yaml:"json"`
	// Echo answers with the last user message.
	Echo bool `yaml:"echo"`
	// Refusal is a refusal, without content.
	Refusal     string `yaml:"refusal"`
	NullContent bool   `yaml:"null_content"`
	// Body is the whole reply, byte for byte.
	Body *string `yaml:"body"`
	// Drop ends the connection without a reply.
	Drop bool `yaml:"drop"`

	// Delay comes before the reply.
	Delay *Duration `yaml:"delay"`
	// Status is the HTTP status; other than 2xx without a Body it makes an error body.
	Status int `yaml:"status"`
	// RetryAfter is the header of that name.
	RetryAfter string            `yaml:"retry_after"`
	Headers    map[string]string `yaml:"headers"`
	// ErrorCode is the code of the error body; without a Status it makes a 200 that carries an error.
	ErrorCode string `yaml:"error_code"`
	// Malformed breaks the reply's JSON.
	Malformed bool `yaml:"malformed"`
	// Truncate cuts the content after so many bytes, at a UTF-8 boundary, with finish reason length.
	Truncate *int `yaml:"truncate"`
	// Finish replaces the finish reason. The words stop, length, tool_calls and content_filter become the wire's own.
	Finish string `yaml:"finish"`
	// Usage replaces the counts, which are a quarter of the bytes by default; the word none leaves them out.
	Usage *Usage `yaml:"usage"`
}

// Usage is what a reply reports. A nil count is not reported.
type Usage struct {
	Input, Output, Cached *int64
	// None leaves the whole object out.
	None bool
}

// UnmarshalYAML reads {input, output, cached} or the word none.
func (u *Usage) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Value == "none" {
		u.None = true
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return lineError(n, "usage must be the word none or {input, output, cached}")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		field, ok := map[string]**int64{"input": &u.Input, "output": &u.Output, "cached": &u.Cached}[n.Content[i].Value]
		if !ok {
			return lineError(n.Content[i], "usage has no field "+n.Content[i].Value+": it has input, output, cached")
		}
		if err := n.Content[i+1].Decode(field); err != nil || *field != nil && **field < 0 {
			return lineError(n.Content[i+1], "usage."+n.Content[i].Value+" must be a whole number of tokens")
		}
	}
	return nil
}

// Duration is a time such as 200ms.
type Duration time.Duration

// UnmarshalYAML reads the form of time.ParseDuration.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || v < 0 {
		return lineError(n, fmt.Sprintf("%q is not a duration such as 200ms", n.Value))
	}
	*d = Duration(v)
	return nil
}

func lineError(n *yaml.Node, what string) error {
	return fmt.Errorf("line %d: %s", n.Line, what)
}

// Parse reads a script strictly: an unknown field is an error with its line.
func Parse(text []byte) (*Script, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var s Script
	if err := dec.Decode(&s); err != nil && err != io.EOF {
		return nil, plain(err)
	}
	if err := dec.Decode(new(yaml.Node)); err != io.EOF {
		return nil, errors.New("holds more than one YAML document")
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return &s, nil
}

var (
	typeName = regexp.MustCompile(` in type \S+|scripted\.`)
	unknown  = regexp.MustCompile(`^line (\d+): field (.*) not found in type scripted\.(\w+)$`)
)

// plain takes Go's names out of a YAML error, and tells each fault in a line of its own.
func plain(err error) error {
	te, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	out := make([]error, len(te.Errors))
	for i, fault := range te.Errors {
		if m := unknown.FindStringSubmatch(fault); m != nil {
			fault = "line " + m[1] + ": unknown field " + m[2] + "; " + meant(m[2], fields[m[3]])
		}
		out[i] = errors.New(typeName.ReplaceAllString(fault, ""))
	}
	return errors.Join(out...)
}

// fields are the names that the parts of a script have.
var fields = map[string][]string{"Script": named(Script{}), "Rule": named(Rule{}), "Match": named(Match{}), "Reply": named(Reply{})}

func named(part any) []string {
	var out []string
	for f := range reflect.TypeOf(part).Fields() {
		out = append(out, f.Tag.Get("yaml"))
	}
	return out
}

// meant proposes the closest of the names, or lists them.
func meant(name string, known []string) string {
	best := slices.MinFunc(known, func(a, b string) int { return schemas.Distance(name, a) - schemas.Distance(name, b) })
	if schemas.Distance(name, best) < 2+len(name)/4 {
		return "did you mean " + best + "?"
	}
	return "known are " + strings.Join(known, ", ")
}

func (s *Script) check() error {
	var errs []error
	if s.Concurrency < 0 || s.Conversations < 0 {
		errs = append(errs, errors.New("concurrency and conversations must not be negative"))
	}
	for i := range s.Rules {
		errs = append(errs, s.Rules[i].check(fmt.Sprintf("rules[%d]", i)))
	}
	if s.Default != nil {
		if s.Default.Match != (Match{}) {
			errs = append(errs, errors.New("default.match: the default matches everything; make it a rule"))
		}
		errs = append(errs, s.Default.check("default"))
	}
	return errors.Join(errs...)
}

func (r *Rule) check(at string) error {
	var errs []error
	if r.Then != "" && r.Then != "repeat" && r.Then != "cycle" {
		errs = append(errs, fmt.Errorf("%s.then is %q, not repeat or cycle", at, r.Then))
	}
	if len(r.Replies) == 0 {
		errs = append(errs, fmt.Errorf("%s.replies is empty: give at least one", at))
	}
	for i := range r.Replies {
		if err := r.Replies[i].check(); err != nil {
			errs = append(errs, fmt.Errorf("%s.replies[%d]: %w", at, i, err))
		}
	}
	return errors.Join(errs...)
}

func (r *Reply) check() error {
	var given []string
	for _, g := range []struct {
		name string
		is   bool
	}{{"text", r.Text != nil}, {"json", r.JSON.Kind != 0}, {"echo", r.Echo}, {"refusal", r.Refusal != ""},
		{"null_content", r.NullContent}, {"body", r.Body != nil}, {"drop", r.Drop}} {
		if g.is {
			given = append(given, g.name)
		}
	}
	switch {
	case len(given) > 1:
		return fmt.Errorf("%s exclude each other", strings.Join(given, " and "))
	case r.Status != 0 && (r.Status < 200 || r.Status > 599):
		return fmt.Errorf("status is %d, not a status from 200 to 599", r.Status)
	case r.Truncate != nil && *r.Truncate < 0:
		return errors.New("truncate must not be negative")
	case r.JSON.Kind != 0:
		return r.renderJSON()
	}
	return nil
}

// renderJSON replaces a JSON value by its text, once.
func (r *Reply) renderJSON() error {
	text, err := compact(&r.JSON)
	if err != nil {
		return err
	}
	r.Text, r.JSON = &text, yaml.Node{}
	return nil
}
