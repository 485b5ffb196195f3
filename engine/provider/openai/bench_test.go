package openai_test

import (
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/openai"
	pt "emend/engine/provider/providertest"
)

var cost = pt.Cost{New: func() provider.Dialect { return openai.New() }, Reply: func(answer string) string {
	return completion(`"content":`+quote(answer)+`,"refusal":null,"annotations":[]`, `"stop"`,
		`{"prompt_tokens":12,"completion_tokens":7,"total_tokens":19,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}}`).Body
}}

func TestBuildAndReadAreCheap(t *testing.T) { cost.CheckAllocations(t) }

func BenchmarkBuildRead(b *testing.B) { cost.Benchmark(b) }
