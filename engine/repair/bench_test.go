package repair_test

import (
	"fmt"
	"strings"
	"testing"

	"emend/engine/repair"
	"emend/schemas"
)

// BenchmarkCorrectEight chooses and renders the correction of eight findings on a candidate of 50 KB; issue 4 allows one
// millisecond.
func BenchmarkCorrectEight(b *testing.B) {
	rows := each(500, func(i int) string {
		price := "19.5"
		if i%63 == 0 {
			price = `"4.25 USD"`
		}
		return fmt.Sprintf(`{"sku":"SKU-%d","note":"%s","price":%s}`, i, strings.Repeat("n", 60), price)
	})
	text := []byte(`{"items":[` + rows + `]}`)
	v := judge(b, order, string(text))
	if len(v.Findings) != 8 || len(text) < 50_000 {
		b.Fatalf("%d findings on %d bytes", len(v.Findings), len(text))
	}
	for _, received := range []bool{false, true} {
		b.Run(fmt.Sprintf("received=%v", received), func(b *testing.B) {
			for b.Loop() {
				choice := repair.Choose(text, v, repair.Options{})
				repair.Correct(base, text, v, repair.Style{Mode: schemas.ModeJSONSchema, N: 1, M: 2, Style: choice.Style, Received: received})
			}
		})
	}
}

// BenchmarkCorrectShape is the dearest choice: the candidate itself is looked into.
func BenchmarkCorrectShape(b *testing.B) {
	text := []byte(`{"Answer":{"a":"` + strings.Repeat("x", 50_000) + `","b":1}}`)
	v := judge(b, ab, string(text))
	for b.Loop() {
		choice := repair.Choose(text, v, repair.Options{})
		repair.Correct(base, text, v, repair.Style{Mode: schemas.ModeJSONSchema, N: 1, M: 2, Style: choice.Style})
	}
}
