package anthropic_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/anthropic"
	pt "emend/engine/provider/providertest"
)

const used = `{"input_tokens":12,"output_tokens":7}`

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// reply renders a message from its blocks, its stop reason and its usage, each as raw JSON; "" leaves a member out.
func reply(content, stop, usage string) pt.Fixture {
	return pt.Fixture{Body: `{"id":"msg_1","type":"message","role":"assistant","model":"m"` + member("content", content) +
		member("stop_reason", stop) + `,"stop_sequence":null` + member("usage", usage) + `}`}
}

func member(name, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf(`,%q:%s`, name, value)
}

func named(f pt.Fixture, names ...string) pt.Fixture {
	f.Names = names
	return f
}

func text(s string) string { return `[{"type":"text","text":` + quote(s) + `}]` }

func fixtures() map[pt.Shape]pt.Fixture {
	const end = `"end_turn"`
	whole := text(pt.Text)
	return map[pt.Shape]pt.Fixture{
		pt.Candidate:      reply(whole, end, used),
		pt.EmptyText:      reply(text(""), end, used),
		pt.BlankText:      reply(text(pt.Blank), end, used),
		pt.NullText:       named(reply(`[{"type":"text","text":null}]`, end, used), "content[0].text is null"),
		pt.MissingText:    named(reply(`[{"type":"text"}]`, end, used), "content[0].text is missing"),
		pt.NumberText:     named(reply(`[{"type":"text","text":42}]`, end, used), "content[0].text is a number"),
		pt.PartsText:      reply(fmt.Sprintf(`[{"type":"text","text":%s},{"type":"text","text":%s}]`, quote(pt.Text[:10]), quote(pt.Text[10:])), end, used),
		pt.NoChoices:      named(reply(`[]`, `"tool_use"`, used), "content is empty"),
		pt.ChoicesNull:    named(reply(`null`, end, used), "content is null"),
		pt.ChoicesMissing: named(reply("", end, used), "content is missing"),
		pt.ErrorIn2xx:     {Body: fault(200, pt.FaultCode, pt.FaultText), Names: []string{"error is set", pt.FaultCode}},
		pt.Refusal:        named(reply(text(pt.FaultText), `"refusal"`, used), "stop_reason is refusal"),
		pt.RefusalBeside:  reply(fmt.Sprintf(`[{"type":"text","text":%s},{"type":"text","text":%s}]`, quote(pt.Text), quote(pt.FaultText)), `"refusal"`, used),
		pt.Filtered:       {Impossible: "a filter answers with status 400: TestWhatTheAPISaysInWordsAlone"},
		pt.FinishLength:   reply(whole, `"max_tokens"`, used),
		pt.FinishTool:     reply(whole, `"tool_use"`, used),
		pt.FinishOdd:      reply(whole, `"planted odd word"`, used),
		pt.FinishMissing:  reply(whole, "", used),
		pt.UsageMissing:   reply(whole, end, ""),
		pt.UsageNull:      reply(whole, end, "null"),
		pt.UsagePartial:   reply(whole, end, `{"input_tokens":12,"output_tokens":null}`),
		pt.UsageFloats:    reply(whole, end, `{"input_tokens":12.0,"output_tokens":7.5}`),
		pt.UsageUnknown:   reply(whole, end, `{"input_tokens":12,"output_tokens":7,"server_tool_use":{"web_search_requests":0}}`),
		pt.UsageCached:    reply(whole, end, `{"input_tokens":4,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":7}`),
		pt.UsageZero:      reply(whole, end, `{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":null}`),
		pt.UsageOdd:       reply(whole, end, `{"input_tokens":"12","output_tokens":-7,"x":[1],"planted text":3}`),
		pt.ReasoningOnly:  named(reply(`[{"type":"thinking","thinking":`+quote(pt.Text)+`,"signature":"s"}]`, end, used), "no text block", "thinking stands there instead"),
		pt.ToolCallsOnly:  named(reply(`[{"type":"tool_use","id":"t1","name":"save","input":{"text":"abc"}}]`, `"tool_use"`, used), "tool_use stands there instead"),
	}
}

func fault(_ int, code, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":%s},"request_id":"req_1"}`, quote(code), quote(message))
}

func TestConformance(t *testing.T) {
	for _, form := range []string{"output_config", "tool", "output_format"} {
		t.Run(form, func(t *testing.T) {
			pt.Run(t, pt.Subject{
				New:      func() provider.Dialect { return anthropic.New() },
				Options:  map[string]any{"native_form": form},
				Carry:    anthropic.Carry,
				Fixtures: fixtures(),
				Fault:    fault,
			})
		})
	}
}
