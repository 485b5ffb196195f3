package contract

import (
	"strings"
	"testing"

	"emend/internal/allocs"
)

// A verdict's allocations: scan and schema, of a valid text and of one with a finding.
func TestAllocationsOfAVerdict(t *testing.T) {
	c := schemaContract(t, invoiceSchema)
	for _, v := range []struct {
		name string
		text []byte
		pin  allocs.Pin
	}{
		{"1 KiB", invoice(1 << 10), allocs.Pin{Plain: 650, Race: 666}},
		{"50 KiB", invoice(50 << 10), allocs.Pin{Plain: 31226, Race: 32028}},
		{"1 KiB with a finding", []byte(strings.Replace(string(invoice(1<<10)), `"count":3`, `"count":"3"`, 1)), allocs.Pin{Plain: 905, Race: 921}},
	} {
		allocs.Check(t, "a verdict on "+v.name, v.pin, func() {
			if v := c.Judge(v.text); v.Err != nil {
				t.Fatal(v.Err)
			}
		})
	}
}
