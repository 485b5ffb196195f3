package anthropic_test

import (
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/anthropic"
	pt "emend/engine/provider/providertest"
)

var cost = pt.Cost{New: func() provider.Dialect { return anthropic.New() }, Reply: func(answer string) string {
	return reply(`[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":`+quote(answer)+`}]`, `"end_turn"`,
		`{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":7,"service_tier":"standard"}`).Body
}}

func TestBuildAndReadAreCheap(t *testing.T) { cost.CheckAllocations(t) }

func BenchmarkBuildRead(b *testing.B) { cost.Benchmark(b) }
