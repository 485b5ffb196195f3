package scripted_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/openai"
	pt "emend/engine/provider/providertest"
	"emend/engine/provider/scripted"
)

const usage = "usage: {input: 12, output: 7}"

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// played is a fixture that a script answers. YAML reads JSON's strings, so quote serves both.
func played(t *testing.T, format string, args ...any) pt.Fixture {
	t.Helper()
	script, err := scripted.Parse(fmt.Appendf(nil, "default: {replies: [{"+format+"}]}", args...))
	if err != nil {
		t.Fatal(err)
	}
	return pt.Fixture{Handler: script.Handler()}
}

// raw is a fixture whose message and usage a script sends byte for byte.
func raw(t *testing.T, message, usage string) pt.Fixture {
	t.Helper()
	return played(t, "body: %s", quote(`{"choices":[{"message":{`+message+`},"finish_reason":"stop"}]`+usage+`}`))
}

func TestConformance(t *testing.T) {
	text, counts := `"content":`+quote(pt.Text), `,"usage":{"prompt_tokens":12,"completion_tokens":7}`
	parts := fmt.Sprintf(`"content":[{"type":"text","text":%s},{"type":"text","text":""}]`, quote(pt.Text))
	yaml := quote(pt.Text)
	pt.Run(t, pt.Subject{
		New:         func() provider.Dialect { return openai.New() },
		JoinOptions: map[string]any{"content_parts": "join"},
		Carry:       openai.Carry,
		Fault: func(_ int, code, message string) string {
			return fmt.Sprintf(`{"error":{"message":%s,"type":"x","code":%s}}`, quote(message), quote(code))
		},
		Fixtures: map[pt.Shape]pt.Fixture{
			pt.Candidate:      played(t, "text: %s, %s", yaml, usage),
			pt.EmptyText:      played(t, `text: ""`),
			pt.BlankText:      played(t, "text: %s", quote(pt.Blank)),
			pt.NullText:       played(t, "null_content: true, %s", usage),
			pt.MissingText:    raw(t, "", counts),
			pt.NumberText:     raw(t, `"content":4`, ""),
			pt.PartsText:      raw(t, parts, ""),
			pt.NoChoices:      played(t, "body: %s", quote(`{"choices":[]`+counts+`}`)),
			pt.ChoicesNull:    played(t, "body: %s", quote(`{"choices":null}`)),
			pt.ChoicesMissing: played(t, "body: %s", quote(`{"id":"x"}`)),
			pt.ErrorIn2xx:     played(t, "error_code: %s", pt.FaultCode),
			pt.Refusal:        played(t, "refusal: %s, %s", quote(pt.FaultText), usage),
			pt.RefusalBeside:  raw(t, text+`,"refusal":`+quote(pt.FaultText), ""),
			pt.Filtered:       played(t, "text: %s, finish: content_filter, %s", yaml, usage),
			pt.FinishLength:   played(t, "text: %s, truncate: %d", quote(pt.Text+"tail"), len(pt.Text)),
			pt.FinishTool:     played(t, "text: %s, finish: tool_calls", yaml),
			pt.FinishOdd:      played(t, "text: %s, finish: bored", yaml),
			pt.FinishMissing:  played(t, "body: %s", quote(`{"choices":[{"message":{`+text+`},"finish_reason":null}]}`)),
			pt.UsageMissing:   played(t, "text: %s, usage: none", yaml),
			pt.UsageNull:      raw(t, text, `,"usage":null`),
			pt.UsagePartial:   played(t, "text: %s, usage: {input: 12}", yaml),
			pt.UsageFloats:    raw(t, text, `,"usage":{"prompt_tokens":12.0,"completion_tokens":7.5}`),
			pt.UsageUnknown:   raw(t, text, `,"usage":{"prompt_tokens":12,"completion_tokens":7,"cost":0.5}`),
			pt.UsageCached:    played(t, "text: %s, usage: {input: 12, output: 7, cached: 5}", yaml),
			pt.UsageZero:      played(t, "text: %s, usage: {input: 0, output: 0}", yaml),
			pt.UsageOdd:       raw(t, text, `,"usage":{"prompt_tokens":"12","completion_tokens":[7]}`),
			pt.ReasoningOnly:  raw(t, `"content":null,"reasoning":`+quote(pt.Text), ""),
			pt.ToolCallsOnly:  raw(t, `"content":null,"tool_calls":[{"id":"t"}]`, ""),
		},
	})
}
