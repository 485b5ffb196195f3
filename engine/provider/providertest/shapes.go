package providertest

import (
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/schemas"
)

// Shape names what a provider may answer, in no wire's terms.
type Shape string

// Shapes that a dialect renders. Where a shape needs a text, it is Text; where it reports usage, it is Input and Output
// tokens, unless the comment says otherwise.
const (
	Candidate      Shape = "candidate"
	EmptyText      Shape = "empty text"
	BlankText      Shape = "blank text"       // BlankText is two spaces and a line break
	NullText       Shape = "null text"        // reports usage
	MissingText    Shape = "missing text"     // reports usage
	NumberText     Shape = "number text"      // the text is a number, unquoted
	PartsText      Shape = "parts text"       // Text in two text parts
	NoChoices      Shape = "no choices"       // an empty list of answers; reports usage
	ChoicesNull    Shape = "choices null"     // null in place of the list
	ChoicesMissing Shape = "choices missing"  // no list at all
	ErrorIn2xx     Shape = "error in 2xx"     // an error body of code FaultCode under status 200
	Refusal        Shape = "refusal"          // refuses with FaultText; reports usage
	RefusalBeside  Shape = "refusal and text" // refuses beside Text
	Filtered       Shape = "filtered"         // stopped by the content filter beside Text; reports usage
	FinishLength   Shape = "finish length"    // Text, cut at the token limit
	FinishTool     Shape = "finish tool"      // Text, with a stop reason of tools
	FinishOdd      Shape = "finish odd"       // Text, with a stop reason that nobody knows
	FinishMissing  Shape = "finish missing"   // Text, with no stop reason
	UsageMissing   Shape = "usage missing"
	UsageNull      Shape = "usage null"
	UsagePartial   Shape = "usage partial"  // input tokens only
	UsageFloats    Shape = "usage floats"   // input 12.0, output 7.5
	UsageUnknown   Shape = "usage unknown"  // beside both counts one number of the dialect's choice that no Tokens field names
	UsageCached    Shape = "usage cached"   // Input tokens in total, CacheRead of them read from a cache
	UsageZero      Shape = "usage zero"     // input 0, output 0
	UsageOdd       Shape = "usage odd"      // text, negative numbers and lists in place of counts
	ReasoningOnly  Shape = "reasoning only" // null text, Text in the reasoning field
	ToolCallsOnly  Shape = "tool calls only"
)

// What fixtures hold.
const (
	// Text has what encoders like to change: quotes, HTML, line breaks, characters beyond the basic plane, escapes.
	Text      = "{\"answer\": \"<b>é 🙂</b> & \\ud82c\"}\n\t\u2028"
	Blank     = "  \n"
	Input     = 12
	Output    = 7
	CacheRead = 5
	FaultCode = "overquota_17"
	FaultText = "planted provider text: I cannot help with this."
)

// Shapes lists every shape that needs a fixture.
func Shapes() []Shape {
	out := make([]Shape, len(outcomes))
	for i, o := range outcomes {
		out[i] = o.shape
	}
	return out
}

// outcome is what a shape must come to: a text, or an error of kind.
type outcome struct {
	shape  Shape
	kind   provider.Kind
	text   string
	finish string
	tokens func(*schemas.Tokens) bool
}

func full(t *schemas.Tokens) bool {
	return t != nil && is(t.Input, Input) && is(t.Output, Output)
}

func none(t *schemas.Tokens) bool { return t == nil }

func partial(t *schemas.Tokens) bool {
	return t != nil && is(t.Input, Input) && t.Output == nil
}

func unknown(t *schemas.Tokens) bool { return full(t) && len(t.Other) == 1 }

func cached(t *schemas.Tokens) bool { return full(t) && is(t.Cached, CacheRead) }

func zero(t *schemas.Tokens) bool {
	return t != nil && is(t.Input, 0) && is(t.Output, 0) && t.Cached == nil
}

func is(p *int64, n int64) bool { return p != nil && *p == n }

var outcomes = []outcome{
	{shape: Candidate, text: Text, finish: provider.FinishStop, tokens: full},
	{shape: EmptyText, text: "", finish: provider.FinishStop},
	{shape: BlankText, text: Blank, finish: provider.FinishStop},
	{shape: NullText, kind: provider.KindMalformed, tokens: full},
	{shape: MissingText, kind: provider.KindMalformed, tokens: full},
	{shape: NumberText, kind: provider.KindMalformed},
	{shape: PartsText, kind: provider.KindMalformed},
	{shape: NoChoices, kind: provider.KindMalformed, tokens: full},
	{shape: ChoicesNull, kind: provider.KindMalformed},
	{shape: ChoicesMissing, kind: provider.KindMalformed},
	{shape: ErrorIn2xx, kind: provider.KindMalformed},
	{shape: Refusal, kind: provider.KindRefused, tokens: full},
	{shape: RefusalBeside, kind: provider.KindRefused},
	{shape: Filtered, kind: provider.KindFiltered, tokens: full},
	{shape: FinishLength, text: Text, finish: provider.FinishLength},
	{shape: FinishTool, text: Text, finish: provider.FinishTool},
	{shape: FinishOdd, text: Text, finish: provider.FinishOther},
	{shape: FinishMissing, text: Text},
	{shape: UsageMissing, text: Text, finish: provider.FinishStop, tokens: none},
	{shape: UsageNull, text: Text, finish: provider.FinishStop, tokens: none},
	{shape: UsagePartial, text: Text, finish: provider.FinishStop, tokens: partial},
	{shape: UsageFloats, text: Text, finish: provider.FinishStop, tokens: partial},
	{shape: UsageUnknown, text: Text, finish: provider.FinishStop, tokens: unknown},
	{shape: UsageCached, text: Text, finish: provider.FinishStop, tokens: cached},
	{shape: UsageZero, text: Text, finish: provider.FinishStop, tokens: zero},
	{shape: UsageOdd, text: Text, finish: provider.FinishStop, tokens: none},
	{shape: ReasoningOnly, kind: provider.KindMalformed},
	{shape: ToolCallsOnly, kind: provider.KindMalformed},
}

// common are replies that come from something other than the wire's server; their form is the same for all.
var common = map[string]Fixture{
	"empty body":      {Body: "", Names: []string{"empty"}},
	"blank body":      {Body: " \n ", Names: []string{"empty"}},
	"html":            {Header: map[string]string{"Content-Type": "text/html; charset=utf-8"}, Body: "<html>" + FaultText, Names: []string{"HTML", "text/html"}},
	"html as json":    {Body: "<!doctype html>" + FaultText, Names: []string{"HTML"}},
	"malformed json":  {Body: `{"a": tru`, Names: []string{"not JSON"}},
	"two documents":   {Body: `{} {}`, Names: []string{"not JSON"}},
	"event stream":    {Header: map[string]string{"Content-Type": "text/event-stream"}, Body: "data: {\"a\":1}\n\ndata: [DONE]\n\n", Names: []string{"event stream", "text/event-stream"}},
	"an array":        {Body: `[]`, Names: []string{"an array"}},
	"null":            {Body: `null`, Names: []string{"null"}},
	"odd object":      {Body: `{"unexpected": 1}`},
	"no content 204":  {Status: 204, Names: []string{"empty"}},
	"deeply nested":   {Body: strings.Repeat("[", 20000) + strings.Repeat("]", 20000)},
	"odd media type":  {Header: map[string]string{"Content-Type": "x/\"planted\""}, Body: "?", Names: []string{"unnamed"}},
	"only whitespace": {Body: "\t", Names: []string{"empty"}},
}

func (s Subject) shapes(t *testing.T) {
	for _, o := range outcomes {
		f, ok := s.Fixtures[o.shape]
		if !ok || f.Impossible != "" {
			continue
		}
		if o.shape == PartsText && s.JoinOptions == nil {
			o = outcome{text: Text, finish: provider.FinishStop}
		}
		t.Run(string(o.shape), func(t *testing.T) { s.shape(t, o, f) })
	}
	for name, f := range common {
		t.Run(name, func(t *testing.T) { s.shape(t, outcome{kind: provider.KindMalformed}, f) })
	}
	if f, ok := s.Fixtures[PartsText]; ok && f.Impossible == "" && s.JoinOptions != nil {
		joining := s
		joining.Options = s.JoinOptions
		t.Run("parts joined", func(t *testing.T) {
			joining.shape(t, outcome{text: Text, finish: provider.FinishStop}, f)
		})
	}
}

func (s Subject) shape(t *testing.T, o outcome, f Fixture) {
	client, ep := s.serve(t, f)
	if o.kind != "" {
		o.checkError(t, fails(t, client, ep), f)
		return
	}
	resp, err := client.Do(t.Context(), ep, request())
	if err != nil {
		t.Fatalf("the call failed: %v", err)
	}
	if resp.Text != o.text || resp.Finish != o.finish {
		t.Errorf("text %q, finish %q; want %q, %q", resp.Text, resp.Finish, o.text, o.finish)
	}
	if o.tokens != nil && !o.tokens(resp.Tokens) {
		t.Errorf("tokens %s", show(resp.Tokens))
	}
}

func (o outcome) checkError(t *testing.T, pe *provider.Error, f Fixture) {
	if pe.Kind != o.kind {
		t.Errorf("kind %s, want %s (%v)", pe.Kind, o.kind, pe)
	}
	if pe.Reason == "" || pe.NotSent {
		t.Errorf("reason %q, not sent %v: a reply must have a reason and was sent", pe.Reason, pe.NotSent)
	}
	for _, name := range f.Names {
		if !strings.Contains(pe.Error(), name) {
			t.Errorf("%q does not name %q", pe.Error(), name)
		}
	}
	if strings.Contains(pe.Error(), "planted") {
		t.Errorf("%q repeats the provider's text", pe.Error())
	}
	if o.kind == provider.KindRefused && !strings.Contains(pe.Detail, FaultText) {
		t.Errorf("detail %q does not carry the refusal", pe.Detail)
	}
	if o.tokens != nil && !o.tokens(pe.Tokens) {
		t.Errorf("tokens %s", show(pe.Tokens))
	}
}

func show(t *schemas.Tokens) string {
	raw, err := schemas.Marshal(t)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
