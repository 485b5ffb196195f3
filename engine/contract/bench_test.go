package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const invoiceSchema = `{"type":"object","required":["number","total","lines"],"additionalProperties":false,"properties":{
	"number":{"type":"string","pattern":"^INV-[0-9]+$"},"date":{"type":"string","format":"date"},"currency":{"enum":["EUR","USD"]},
	"total":{"type":"number","minimum":0},"lines":{"type":"array","items":{"$ref":"#/$defs/line"}}},
	"$defs":{"line":{"type":"object","required":["text","price"],"additionalProperties":false,"properties":{
		"text":{"type":"string","minLength":1,"maxLength":200},"price":{"type":"number","multipleOf":0.01},
		"count":{"type":"integer","minimum":1},"note":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}`

// invoice is a valid text of about size bytes.
func invoice(size int) []byte {
	lines := []string{}
	for n := 0; n < size-100; n += len(lines[len(lines)-1]) + 1 {
		lines = append(lines, fmt.Sprintf(`{"text":"item number %d","price":%d.25,"count":3,"note":null}`, len(lines), len(lines)))
	}
	return []byte(`{"number":"INV-17","date":"2024-05-01","currency":"EUR","total":56.75,"lines":[` + strings.Join(lines, ",") + `]}`)
}

func BenchmarkJudge(b *testing.B) {
	for _, size := range []int{1 << 10, 50 << 10, 1 << 20} {
		for name, text := range map[string][]byte{
			"valid": invoice(size), "invalid": []byte(strings.Replace(string(invoice(size)), `"count":3`, `"count":"3"`, 1)),
		} {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				c := schemaContract(b, invoiceSchema)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if v := c.Judge(text); v.Err != nil || v.Valid() != (name == "valid") {
						b.Fatal(v)
					}
				}
			})
		}
	}
}

func BenchmarkScan(b *testing.B) {
	text := invoice(50 << 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		scan(text, false, false)
	}
}

// BenchmarkChanged compares 50 KiB with a copy in which one allowed place and one other differ.
func BenchmarkChanged(b *testing.B) {
	c := schemaContract(b, invoiceSchema)
	before := invoice(50 << 10)
	after := []byte(strings.Replace(strings.Replace(string(before), `"count":3`, `"count":4`, 1), `56.75`, `56.8`, 1))
	b.SetBytes(int64(len(before)))
	b.ReportAllocs()
	for b.Loop() {
		if list := c.Changed(before, after, []string{"/lines/0/count"}); len(list) != 1 {
			b.Fatal(list)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.Run("cached", func(b *testing.B) {
		spec := Spec{Mode: "json_schema", Schema: json.RawMessage(invoiceSchema)}
		for b.Loop() {
			mustCompile(b, spec)
		}
	})
	b.Run("new", func(b *testing.B) {
		spec := Spec{Mode: "json_schema", Schema: json.RawMessage(invoiceSchema)}
		for b.Loop() {
			if _, err := build(spec); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestBudgetIsRoomy: ordinary texts stay far from the budget.
func TestBudgetIsRoomy(t *testing.T) {
	c := schemaContract(t, invoiceSchema)
	text := invoice(1 << 20)
	j, err := c.schema.borrow()
	if err != nil {
		t.Fatal(err)
	}
	o := scan(text, true, false)
	j.meter.reset(o.depth)
	if err := j.schema.Validate(o.value); err != nil {
		t.Fatal(err)
	}
	used := budget - j.meter.left
	t.Logf("1 MiB uses %d of %d", used, budget)
	if used > budget/3 {
		t.Errorf("1 MiB uses %d of %d", used, budget)
	}
}
