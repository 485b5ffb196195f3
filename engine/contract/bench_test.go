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

// tenRules are the ten rules of issue 4's benchmark: five with bounds, one if and then, four expressions.
var tenRules = []Rule{
	{Field: "number", Bounds: Bounds{MinLength: new(5), Pattern: "^INV-"}},
	{Field: "total", Bounds: Bounds{Min: "0", Max: "1000000.00"}},
	{Field: "currency", Bounds: Bounds{Values: []json.RawMessage{json.RawMessage(`"EUR"`), json.RawMessage(`"USD"`)}}},
	{Field: "lines", Bounds: Bounds{MinItems: new(1), MaxItems: new(5000)}},
	{Field: "lines[0].price", Bounds: Bounds{Min: "0"}},
	{
		If:   []Clause{{Field: "currency", Bounds: Bounds{Equals: json.RawMessage(`"EUR"`)}}},
		Then: []Clause{{Field: "total", Bounds: Bounds{Max: "500000"}}},
	},
	{CEL: `currency != "USD" || total <= 100.0`},
	{CEL: `total >= 0.0 && total < 99999.99`},
	{CEL: `number.startsWith("INV-") && date > "2020"`},
	{CEL: `size(lines) > 0 && lines[0].count == 3`},
}

// BenchmarkRules judges 1 KiB without rules, with ten of them, and with one expression over every line.
func BenchmarkRules(b *testing.B) {
	text := invoice(1 << 10)
	loop := []Rule{{CEL: "lines.all(l, l.price * l.count >= 0 && l.count <= 10)"}}
	for _, c := range []struct {
		name  string
		rules []Rule
	}{{"none", nil}, {"ten", tenRules}, {"loop", loop}} {
		b.Run(c.name, func(b *testing.B) {
			contract := ruled(b, invoiceSchema, c.rules...)
			b.ReportAllocs()
			for b.Loop() {
				if v := contract.Judge(text); !v.Valid() || v.Rules.Held != len(c.rules) {
					b.Fatal(v)
				}
			}
		})
	}
}

// BenchmarkMend judges 1 KiB that unwrap, or syntax, has to mend.
func BenchmarkMend(b *testing.B) {
	text := string(invoice(1 << 10))
	for name, wrapped := range map[string]string{"unwrap": "```json\n" + text + "\n```", "syntax": text[:len(text)-1] + ",}"} {
		b.Run(name, func(b *testing.B) {
			c := mustCompile(b, Spec{Mode: "json_schema", Schema: json.RawMessage(invoiceSchema), Local: name})
			b.ReportAllocs()
			for b.Loop() {
				if v := c.Judge([]byte(wrapped)); !v.Valid() || v.Mended != name {
					b.Fatal(v)
				}
			}
		})
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
