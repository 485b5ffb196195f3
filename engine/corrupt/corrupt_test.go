package corrupt_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"emend/engine/contract"
	"emend/engine/corrupt"
	"emend/schemas"
)

const (
	orderSchema = `{"type":"object","required":["id","items","state","paid"],"additionalProperties":false,"properties":{
		"id":{"type":"string","minLength":2},"state":{"enum":["open","closed"]},"paid":{"type":"boolean"},"note":{"type":["string","null"]},
		"items":{"type":"array","minItems":1,"items":{"type":"object","required":["price"],"properties":{"price":{"type":"number","exclusiveMinimum":0}}}}}}`
	order = `{"id": "A-1", "items": [{"price": 4.25}, {"price": 7}], "state": "open", "paid": true, "note": null}`
)

func compile(t testing.TB, spec contract.Spec) *contract.Contract {
	t.Helper()
	c, err := contract.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func of(t testing.TB, schema string) *contract.Contract {
	t.Helper()
	return compile(t, contract.Spec{Mode: schemas.ModeJSONSchema, Schema: json.RawMessage(schema)})
}

// Every corruption is refused by the contract, and the order is well covered: each way applies to it.
func TestEveryWayApplies(t *testing.T) {
	c := of(t, orderSchema)
	made, err := corrupt.All(c, json.RawMessage(orderSchema), []byte(order))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range made {
		if v := c.Judge(m.Text); v.Valid() || v.Err != nil {
			t.Errorf("%s at %q is accepted: %s", m.Name, m.Pointer, m.Text)
		}
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	if !slices.Equal(names, corrupt.Names()) {
		t.Errorf("ways\n%v, expected\n%v", names, corrupt.Names())
	}
}

// The texts are those that models are known for.
func TestCorruptionsAreTheNamedOnes(t *testing.T) {
	made, err := corrupt.All(of(t, orderSchema), json.RawMessage(orderSchema), []byte(order))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, pointer, has string }{
		{"wrong type", "/id", `"id": 0`}, {"number with a currency", "/items/0/price", `"4.25 USD"`}, {"number with a decimal comma", "/items/0/price", `"4,25"`},
		{"number with a decimal comma", "/items/1/price", `"7,00"`}, {"null", "/id", `"id": null`}, {"missing key", "/items", `{"id":"A-1","state"`},
		{"extra key", "/additional_notes", `"note":null,"additional_notes":"none"}`}, {"out of bound", "/id", `"id": ""`}, {"out of bound", "/items", `"items": []`},
		{"not in the enum", "/state", `"open or so"`}, {"container as text", "/items", `"items": "[{\"price\": 4.25}`}, {"fence", "", "```json\n{"},
		{"think block", "", "</think>\n{"}, {"prose around", "", "Here is the answer:\n\n{"}, {"trailing comma", "", `null,}`}, {"single quotes", "", `'id': 'A-1'`},
		{"duplicate key", "/id", `"id":"A-1"}`}, {"two values", "", "}\n{"}, {"NaN", "/items/0/price", `"price": NaN`}, {"wrapped in a key", "", `{"answer":{`},
		{"schema echoed", "", orderSchema},
	} {
		if !slices.ContainsFunc(made, func(m corrupt.Corruption) bool {
			return m.Name == c.name && m.Pointer == c.pointer && strings.Contains(string(m.Text), c.has)
		}) {
			t.Errorf("no %q at %q with %q", c.name, c.pointer, c.has)
		}
	}
	for _, m := range made {
		if m.Cut != (m.Name == "cut") || m.Cut && !strings.HasPrefix(order, string(m.Text)) {
			t.Errorf("%+v", m)
		}
	}
}

// What a contract accepts, or mends without a call, is no corruption.
func TestWhatIsAcceptedIsLeftOut(t *testing.T) {
	made, err := corrupt.All(compile(t, contract.Spec{Mode: schemas.ModeJSON, LastWins: true}), nil, []byte(order))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range made {
		if slices.Contains([]string{"null", "extra key", "duplicate key", "wrapped in a key", "schema echoed", "wrong type"}, m.Name) {
			t.Errorf("mode json refuses %s: %s", m.Name, m.Text)
		}
	}
	if !slices.ContainsFunc(made, func(m corrupt.Corruption) bool { return m.Name == "fence" }) {
		t.Error("mode json accepts a fence")
	}
}

func TestAtMostThreePlaces(t *testing.T) {
	schema := `{"type":"array","items":{"type":"integer"}}`
	made, err := corrupt.All(of(t, schema), json.RawMessage(schema), []byte(`[1,2,3,4,5]`))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, m := range made {
		count[m.Name]++
	}
	for name, n := range count {
		if n > corrupt.MaxPerName {
			t.Errorf("%d of %s", n, name)
		}
	}
	if count["number with a currency"] != corrupt.MaxPerName {
		t.Errorf("%v", count)
	}
}

// A large answer with places that its contract does not care for costs a bounded number of tries.
func TestLargeAnswersAreTriedWithinBounds(t *testing.T) {
	good := "[" + strings.TrimSuffix(strings.Repeat(`{"a":1},`, 2_000), ",") + "]"
	made, err := corrupt.All(of(t, `{"type":"array"}`), nil, []byte(good))
	if err != nil || slices.ContainsFunc(made, func(m corrupt.Corruption) bool { return m.Name == "missing key" }) {
		t.Errorf("%d corruptions, %v", len(made), err)
	}
}

func TestOnlyGoodAnswersAreCorrupted(t *testing.T) {
	c := of(t, orderSchema)
	for _, text := range []string{"", "{}", "nonsense", strings.Repeat(" ", corrupt.MaxAnswer+1)} {
		if _, err := corrupt.All(c, nil, []byte(text)); !errors.Is(err, corrupt.ErrNotGood) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := corrupt.All(compile(t, contract.Spec{Mode: schemas.ModeBasic}), nil, []byte("text")); !errors.Is(err, corrupt.ErrNotGood) {
		t.Errorf("a text contract: %v", err)
	}
}

// FuzzAll: any good answer can be corrupted, and what comes out is valid UTF-8 and refused.
func FuzzAll(f *testing.F) {
	f.Add(`{"properties":{"é":{"type":"number"}}}`, []byte(` {"é" : 1, "b":"\"'", "c":[[],{"":null}]} `))
	f.Add(orderSchema, []byte(order))
	f.Add(`{"type":"string"}`, []byte(`"x"`))
	f.Fuzz(func(t *testing.T, schema string, good []byte) {
		c, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSONSchema, Schema: json.RawMessage(schema)})
		if err != nil {
			return
		}
		made, err := corrupt.All(c, json.RawMessage(schema), good)
		if err != nil {
			return
		}
		for _, m := range made {
			if m.Name != "schema echoed" && !utf8.Valid(m.Text) || c.Judge(m.Text).Valid() {
				t.Errorf("%s at %q: %q", m.Name, m.Pointer, m.Text)
			}
		}
	})
}
