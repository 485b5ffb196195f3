package gemini

import (
	"errors"
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

// writeConfig writes generationConfig, if anything stands in it.
func writeConfig(e *provider.Encoder, ep *provider.Endpoint, r *provider.Request) error {
	more, _ := ep.Options[optConfig.Name].(map[string]any)
	if noSettings(r.Settings) && r.Schema == nil && len(more) == 0 {
		return nil
	}
	e.Key("generationConfig")
	e.Open('{')
	writeSettings(e, ep, r.Settings)
	if r.Schema != nil {
		carried := Carry(ep.Options, r.Schema.Bytes)
		if carried.Schema == nil {
			return errors.New("the schema cannot go out: " + strings.Join(carried.Weakened, "; "))
		}
		e.Key("responseMimeType")
		e.String("application/json")
		e.Key(form)
		e.Raw(carried.Schema)
	}
	if err := ep.WriteMembers(e, optConfig); err != nil {
		return err
	}
	e.Close('}')
	return nil
}

func noSettings(s schemas.Settings) bool {
	return s.Temperature == nil && s.TopP == nil && s.MaxOutputTokens == nil && s.Seed == nil && s.Stop == nil &&
		s.FrequencyPenalty == nil && s.PresencePenalty == nil && s.ReasoningEffort == nil
}

func writeSettings(e *provider.Encoder, ep *provider.Endpoint, s schemas.Settings) {
	e.FloatMember("temperature", s.Temperature)
	e.FloatMember("topP", s.TopP)
	e.IntMember("maxOutputTokens", s.MaxOutputTokens)
	e.IntMember("seed", s.Seed)
	e.TextsMember("stopSequences", s.Stop)
	e.FloatMember("frequencyPenalty", s.FrequencyPenalty)
	e.FloatMember("presencePenalty", s.PresencePenalty)
	if s.ReasoningEffort != nil && ep.Word(optThinking) != "none" {
		writeThinking(e, *s.ReasoningEffort, ep.Word(optThinking) == "budget")
	}
}

// efforts maps reasoning_effort to a thinking level and to the budget that Google's own OpenAI endpoint gives it. There is
// no level above high, and none for none: a budget of zero is how thinking is turned off.
var efforts = map[string]struct {
	level  string
	budget int64
}{
	"none": {"", 0}, "minimal": {"MINIMAL", 1024}, "low": {"LOW", 1024}, "medium": {"MEDIUM", 8192}, "high": {"HIGH", 24576}, "xhigh": {"HIGH", 24576},
}

func writeThinking(e *provider.Encoder, effort string, asBudget bool) {
	to, known := efforts[effort]
	if !known {
		return
	}
	e.Key("thinkingConfig")
	e.Open('{')
	if asBudget || to.level == "" {
		e.Key("thinkingBudget")
		e.Int(to.budget)
	} else {
		e.Key("thinkingLevel")
		e.String(to.level)
	}
	e.Close('}')
}
