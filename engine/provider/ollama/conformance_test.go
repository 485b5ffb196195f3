package ollama_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/ollama"
	pt "emend/engine/provider/providertest"
)

const usage = `"total_duration":4648158584,"load_duration":4071084,"prompt_eval_count":12,"prompt_eval_duration":439038000,"eval_count":7,"eval_duration":4196918000`

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// completion renders a reply from the members of its message, its stop reason and its counts, each as raw JSON.
func completion(message, reason, counts string) pt.Fixture {
	body := fmt.Sprintf(`{"model":"m","created_at":"2026-11-30T12:00:00Z","message":{"role":"assistant"%s},"done":true%s%s}`,
		prefix(",", message), prefix(`,"done_reason":`, reason), prefix(",", counts))
	return pt.Fixture{Body: body}
}

func prefix(p, s string) string {
	if s == "" {
		return ""
	}
	return p + s
}

func named(f pt.Fixture, names ...string) pt.Fixture {
	f.Names = names
	return f
}

func fixtures() map[pt.Shape]pt.Fixture {
	text := `"content":` + quote(pt.Text)
	const stop = `"stop"`
	return map[pt.Shape]pt.Fixture{
		pt.Candidate:      completion(text, stop, usage),
		pt.EmptyText:      completion(`"content":"","thinking":"hm"`, stop, usage),
		pt.BlankText:      completion(`"content":`+quote(pt.Blank), stop, usage),
		pt.NullText:       named(completion(`"content":null`, stop, usage), "message.content is null"),
		pt.MissingText:    named(completion("", stop, usage), "message.content is missing"),
		pt.NumberText:     named(completion(`"content":42`, stop, usage), "message.content is a number"),
		pt.PartsText:      {Impossible: "content is one text, images stand beside it"},
		pt.NoChoices:      {Impossible: "the wire has one message, no list of answers"},
		pt.ChoicesNull:    {Body: `{"model":"m","message":null,"done":true}`, Names: []string{"message is null"}},
		pt.ChoicesMissing: {Body: `{"model":"m","done":true}`, Names: []string{"message is missing"}},
		pt.ErrorIn2xx:     {Body: fault(200, pt.FaultCode, pt.FaultText), Names: []string{"error is set"}},
		pt.Refusal:        {Impossible: "the wire has no refusal"},
		pt.RefusalBeside:  {Impossible: "the wire has no refusal"},
		pt.Filtered:       {Impossible: "the wire has no filter"},
		pt.FinishLength:   completion(text, `"length"`, usage),
		pt.FinishTool:     {Impossible: "the wire has no stop reason of tools"},
		pt.FinishOdd:      completion(text, `"planted odd word"`, usage),
		pt.FinishMissing:  completion(text, "", usage),
		pt.UsageMissing:   completion(text, stop, ""),
		pt.UsageNull:      completion(text, stop, `"prompt_eval_count":null,"eval_count":null`),
		pt.UsagePartial:   completion(text, stop, `"prompt_eval_count":12`),
		pt.UsageFloats:    completion(text, stop, `"prompt_eval_count":12.0,"eval_count":7.5`),
		pt.UsageUnknown:   completion(text, stop, usage+`,"draft_count":3`),
		pt.UsageCached:    {Impossible: "the wire does not say what came from a cache"},
		pt.UsageZero:      completion(text, stop, `"prompt_eval_count":0,"eval_count":0`),
		pt.UsageOdd:       completion(text, stop, `"prompt_eval_count":"12","eval_count":-7,"x":[1],"planted text":3`),
		pt.ReasoningOnly:  named(completion(`"content":null,"thinking":`+quote(pt.Text), stop, usage), "thinking is populated instead"),
		pt.ToolCallsOnly:  named(completion(`"content":null,"tool_calls":[{"function":{"name":"save","arguments":{"a":1}}}]`, stop, usage), "tool_calls is populated instead"),
	}
}

func fault(_ int, _, message string) string { return `{"error":` + quote(message) + `}` }

func TestConformance(t *testing.T) {
	pt.Run(t, pt.Subject{
		New:      func() provider.Dialect { return ollama.New() },
		Carry:    ollama.Carry,
		NoCodes:  true,
		Fixtures: fixtures(),
		Fault:    fault,
	})
}
