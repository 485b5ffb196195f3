package openai_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/openai"
	pt "emend/engine/provider/providertest"
)

const usage = `{"prompt_tokens":12,"completion_tokens":7,"total_tokens":19}`

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// completion renders a reply from the members of its message, its finish reason and its usage, each as raw JSON.
func completion(message, finish, usage string) pt.Fixture {
	body := fmt.Sprintf(`{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant"%s}%s}]%s}`,
		prefix(",", message), prefix(`,"finish_reason":`, finish), prefix(`,"usage":`, usage))
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
	parts := fmt.Sprintf(`"content":[{"type":"text","text":%s},{"type":"text","text":%s}]`, quote(pt.Text[:10]), quote(pt.Text[10:]))
	content := "choices[0].message.content is "
	return map[pt.Shape]pt.Fixture{
		pt.Candidate:      completion(text, `"stop"`, usage),
		pt.EmptyText:      completion(`"content":"","refusal":null,"parsed":null`, `"stop"`, usage),
		pt.BlankText:      completion(`"content":`+quote(pt.Blank), `"stop"`, usage),
		pt.NullText:       named(completion(`"content":null`, `"stop"`, usage), content+"null"),
		pt.MissingText:    named(completion("", `"stop"`, usage), content+"missing"),
		pt.NumberText:     named(completion(`"content":42`, `"stop"`, usage), content+"a number"),
		pt.PartsText:      named(completion(parts, `"stop"`, usage), content+"an array", "content_parts"),
		pt.NoChoices:      {Body: `{"id":"c1","choices":[],"usage":` + usage + `}`, Names: []string{"choices is empty"}},
		pt.ChoicesNull:    {Body: `{"id":"c1","choices":null}`, Names: []string{"choices is null"}},
		pt.ChoicesMissing: {Body: `{"id":"c1","object":"chat.completion"}`, Names: []string{"choices is missing"}},
		pt.ErrorIn2xx:     {Body: fault(200, pt.FaultCode, pt.FaultText), Names: []string{"error is set", pt.FaultCode}},
		pt.Refusal:        named(completion(`"content":null,"refusal":`+quote(pt.FaultText), `"stop"`, usage), "message.refusal"),
		pt.RefusalBeside:  completion(text+`,"refusal":`+quote(pt.FaultText), `"stop"`, usage),
		pt.Filtered:       named(completion(text, `"content_filter"`, usage), "content_filter"),
		pt.FinishLength:   completion(text, `"length"`, usage),
		pt.FinishTool:     completion(text, `"tool_calls"`, usage),
		pt.FinishOdd:      completion(text, `"planted odd word"`, usage),
		pt.FinishMissing:  completion(text, "", usage),
		pt.UsageMissing:   completion(text, `"stop"`, ""),
		pt.UsageNull:      completion(text, `"stop"`, "null"),
		pt.UsagePartial:   completion(text, `"stop"`, `{"prompt_tokens":12,"completion_tokens":null}`),
		pt.UsageFloats:    completion(text, `"stop"`, `{"prompt_tokens":12.0,"completion_tokens":7.5}`),
		pt.UsageUnknown:   completion(text, `"stop"`, `{"prompt_tokens":12,"completion_tokens":7,"prompt_tokens_details":{"audio_tokens":0}}`),
		pt.UsageCached:    completion(text, `"stop"`, `{"prompt_tokens":12,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":5}}`),
		pt.UsageZero:      completion(text, `"stop"`, `{"prompt_tokens":0,"completion_tokens":0,"prompt_tokens_details":null}`),
		pt.UsageOdd:       completion(text, `"stop"`, `{"prompt_tokens":"12","completion_tokens":-7,"x":[1],"planted text":3}`),
		pt.ReasoningOnly:  named(completion(`"content":null,"reasoning_content":`+quote(pt.Text), `"stop"`, usage), content+"null", "reasoning_content is populated"),
		pt.ToolCallsOnly: named(completion(`"content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"save","arguments":"{\"text\":\"abc"}}]`,
			`"tool_calls"`, usage), "tool_calls is populated"),
	}
}

func fault(_ int, code, message string) string {
	return fmt.Sprintf(`{"error":{"message":%s,"type":"some_type","param":null,"code":%s}}`, quote(message), quote(code))
}

func TestConformance(t *testing.T) {
	pt.Run(t, pt.Subject{
		New:         func() provider.Dialect { return openai.New() },
		JoinOptions: map[string]any{"content_parts": "join"},
		Carry:       openai.Carry,
		Fixtures:    fixtures(),
		Fault:       fault,
	})
}
