package gemini_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/gemini"
	pt "emend/engine/provider/providertest"
)

const usage = `{"promptTokenCount":12,"candidatesTokenCount":7,"totalTokenCount":19,"promptTokensDetails":[{"modality":"TEXT","tokenCount":12}],"trafficType":"ON_DEMAND"}`

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// completion renders a reply from the members of its content's parts, its finish reason and its usage, each as raw JSON.
func completion(parts, finish, usage string) pt.Fixture {
	body := fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]}%s,"index":0}]%s,"modelVersion":"m-001","responseId":"r1"}`,
		parts, prefix(`,"finishReason":`, finish), prefix(`,"usageMetadata":`, usage))
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
	text := `{"text":` + quote(pt.Text) + `}`
	const stop = `"STOP"`
	return map[pt.Shape]pt.Fixture{
		pt.Candidate:      completion(text, stop, usage),
		pt.EmptyText:      completion(`{"text":""}`, stop, usage),
		pt.BlankText:      completion(`{"text":`+quote(pt.Blank)+`}`, stop, usage),
		pt.NullText:       named(completion(`{"text":null}`, stop, usage), "candidates[0].content.parts[0].text is null"),
		pt.MissingText:    named(completion(`{"thoughtSignature":"x"}`, stop, usage), "candidates[0].content.parts holds no text"),
		pt.NumberText:     named(completion(`{"text":42}`, stop, usage), "parts[0].text is a number"),
		pt.PartsText:      completion(`{"text":`+quote(pt.Text[:10])+`},{"text":"hm","thought":true},{"text":`+quote(pt.Text[10:])+`}`, stop, usage),
		pt.NoChoices:      {Body: `{"candidates":[],"usageMetadata":` + usage + `}`, Names: []string{"candidates is empty"}},
		pt.ChoicesNull:    {Body: `{"candidates":null}`, Names: []string{"candidates is null"}},
		pt.ChoicesMissing: {Body: `{"responseId":"r1"}`, Names: []string{"candidates is missing"}},
		pt.ErrorIn2xx:     {Body: fault(200, pt.FaultCode, pt.FaultText), Names: []string{"error is set", pt.FaultCode}},
		pt.Refusal:        {Impossible: "the wire has no refusal: a policy ends the answer"},
		pt.RefusalBeside:  {Impossible: "the wire has no refusal: a policy ends the answer"},
		pt.Filtered:       named(completion(text, `"SAFETY"`, usage), "candidates[0].finishReason is SAFETY"),
		pt.FinishLength:   completion(text, `"MAX_TOKENS"`, usage),
		pt.FinishTool:     completion(text+`,{"functionCall":{"name":"f"}}`, `"UNEXPECTED_TOOL_CALL"`, usage),
		pt.FinishOdd:      completion(text, `"planted odd word"`, usage),
		pt.FinishMissing:  completion(text, "", usage),
		pt.UsageMissing:   completion(text, stop, ""),
		pt.UsageNull:      completion(text, stop, "null"),
		pt.UsagePartial:   completion(text, stop, `{"promptTokenCount":12,"candidatesTokenCount":null}`),
		pt.UsageFloats:    completion(text, stop, `{"promptTokenCount":12.0,"candidatesTokenCount":7.5}`),
		pt.UsageUnknown:   completion(text, stop, `{"promptTokenCount":12,"candidatesTokenCount":7,"toolUsePromptTokenCount":3}`),
		pt.UsageCached:    completion(text, stop, `{"promptTokenCount":12,"candidatesTokenCount":7,"cachedContentTokenCount":5}`),
		pt.UsageZero:      completion(text, stop, `{"promptTokenCount":0,"candidatesTokenCount":0,"cachedContentTokenCount":null}`),
		pt.UsageOdd:       completion(text, stop, `{"promptTokenCount":"12","candidatesTokenCount":-7,"x":[1],"planted text":3}`),
		pt.ReasoningOnly:  named(completion(`{"thought":true,"text":`+quote(pt.Text)+`}`, stop, usage), "thoughts are populated instead"),
		pt.ToolCallsOnly:  named(completion(`{"functionCall":{"name":"save","args":{"a":1}}}`, stop, usage), "functionCall is populated instead"),
	}
}

func fault(status int, code, message string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%s,"details":[{"@type":"type.googleapis.com/google.rpc.Help","links":[]}]}}`,
		status, quote(message), quote(code))
}

func TestConformance(t *testing.T) {
	pt.Run(t, pt.Subject{
		New:      func() provider.Dialect { return gemini.New() },
		Carry:    gemini.Carry,
		Fixtures: fixtures(),
		Fault:    fault,
	})
}
