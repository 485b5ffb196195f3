package openai

import (
	"bytes"
	"encoding/json"
	"math"

	"emend/schemas"
)

// fields are the usage fields with a name of their own (providers.md, "usage").
func fields(t *schemas.Tokens) map[string]**int64 {
	return map[string]**int64{
		"prompt_tokens": &t.Input, "completion_tokens": &t.Output,
		"prompt_tokens_details.cached_tokens":        &t.Cached,
		"prompt_tokens_details.cache_write_tokens":   &t.CacheWritten,
		"completion_tokens_details.reasoning_tokens": &t.Reasoning,
	}
}

// usage reads what was reported: a field that is absent, null, negative or no number stays unreported.
func usage(raw json.RawMessage) *schemas.Tokens {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var v map[string]any
	if len(raw) == 0 || dec.Decode(&v) != nil || v == nil {
		return nil
	}
	t := &schemas.Tokens{}
	known := fields(t)
	walk("", v, func(name string, n float64) {
		if p, ok := known[name]; ok {
			i := int64(math.Ceil(n))
			*p = &i
			return
		}
		if name == "total_tokens" {
			return // a sum of the others
		}
		if t.Other == nil {
			t.Other = map[string]float64{}
		}
		t.Other[name] = n
	})
	if t.Empty() {
		return nil
	}
	return t
}

// walkDepth bounds nesting, otherFields the number of fields that are kept.
const walkDepth = 4

func walk(prefix string, v map[string]any, found func(string, float64)) {
	for name, x := range v {
		full := prefix + name
		switch x := x.(type) {
		case float64:
			if x >= 0 && x < 1<<53 && len(full) <= 96 {
				found(full, x)
			}
		case map[string]any:
			if bytes.Count([]byte(full), []byte(".")) < walkDepth {
				walk(full+".", x, found)
			}
		}
	}
}
