package engine_test

import (
	"strings"
	"testing"

	"emend/engine"
	"emend/schemas"
)

// order is seed 001's contract: a price is a number above 0 with at most two decimal places.
const order = `output:
  mode: json_schema
  repair_attempts: 1
  repair: {candidate: received_block, preserve: enforce}
  schema:
    type: object
    properties:
      order_id: {type: string}
      customer: {type: string}
      items:
        type: array
        items:
          type: object
          properties: {sku: {type: string}, qty: {type: integer}, price: {type: number, exclusiveMinimum: 0, multipleOf: 0.01, examples: [4.25]}}
          required: [price]
      total: {type: number}
    required: [items]
`

const (
	orderHead = `{"order_id":"A-1043","customer":"Dana Ruiz","items":[
  {"sku":"SKU-11","qty":2,"price":19.5},
  {"sku":"SKU-42","qty":1,"price":7},
  {"sku":"SKU-7","qty":3,"price":`
	orderTail = "}\n],\"total\":56.75}"
)

// Seed 001's harness: three bad forms, each named part of the message, the exact bytes, and what may change.
func TestSeed001_TheFailingFieldIsNamed(t *testing.T) {
	for _, bad := range []string{
		orderHead + `"4.25 USD"` + orderTail,
		`{"items": [{"price": 1}, {"price": 2}, {"price": "4.25 USD"}]}`,
		`{"items": [{"price": 1}, {"price": 2}, {"price": "4,25"}]}`,
		`{"items": [{"price": 1}, {"price": 2}, {"price": null}]}`,
	} {
		at := strings.LastIndex(bad, `"price":`) + len(`"price":`)
		good := bad[:at] + "4.25" + bad[at+strings.IndexByte(bad[at:], '}'):]
		m := &models{answers: map[string][]string{"worker": {bad, good}}}
		r, err := governed(t, m, "", order).Run(t.Context(), engine.RunRequest{Prompt: "x"})
		if err != nil || r.Status != schemas.StatusSucceeded || r.RawOutput != good || len(r.Validation.Changed) != 0 {
			t.Fatalf("%s: %v, %+v", bad, err, r)
		}
		sent := m.sent["worker"][1].Messages
		text := sent[len(sent)-1].Content
		for _, part := range []string{"RECEIVED\n", bad, "FAILING PATH\nitems[2].price\n", "EXPECTED SHAPE\nType: number", "greater than 0", "at most 2 decimal places",
			"Example of a valid value for this path: 4.25\n", "RULE\nChange only the value at items[2].price.", "byte-identical to RECEIVED"} {
			if !strings.Contains(text, part) {
				t.Errorf("the message lacks %q:\n%s", part, text)
			}
		}
		if len(sent) != 2 || sent[1].Role != schemas.RoleUser {
			t.Errorf("%d messages: the block stands in place of the assistant's turn", len(sent))
		}
	}
}

// The near misses of the seed pass a type check and fail the preservation check.
func TestSeed001_NearMisses(t *testing.T) {
	bad := orderHead + `"4.25 USD"` + orderTail
	for name, near := range map[string]string{
		"order_id as a nested object": strings.Replace(orderHead, `"A-1043"`, `{"id":"A-1043"}`, 1) + "4.25" + orderTail,
		"a trailing key dropped":      orderHead + "4.25" + "}\n]}",
		"the total recomputed":        orderHead + "4.25" + strings.Replace(orderTail, "56.75", "58.75", 1),
		"another item mended":         strings.Replace(orderHead, "19.5", "19.50", 1) + "4.25" + orderTail,
	} {
		m := &models{answers: map[string][]string{"worker": {bad, near}}}
		r, err := governed(t, m, "", order).Run(t.Context(), engine.RunRequest{Prompt: "x"})
		if err != nil || r.Status != schemas.StatusInvalid || r.Validation.Valid || len(r.Validation.Changed) == 0 && r.Validation.Class != "schema_invalid" {
			t.Errorf("%s: %v, %s, %+v", name, err, r.Status, r.Validation)
		}
	}
	moved := `{"total":56.75,"items":[{"price":19.5,"sku":"SKU-11","qty":2},{"sku":"SKU-42","qty":1,"price":7},{"sku":"SKU-7","qty":3,"price":4.25}],"customer":"Dana Ruiz","order_id":"A-1043"}`
	m := &models{answers: map[string][]string{"worker": {bad, moved}}}
	if r, err := governed(t, m, "", order).Run(t.Context(), engine.RunRequest{Prompt: "x"}); err != nil || r.Status != schemas.StatusSucceeded {
		t.Errorf("key order and white space are free: %v, %+v", err, r)
	}
}

// A path that is not there cannot be edited: the answer is asked for anew where the contract says so.
func TestSeed001_AMissingPathIsRegenerated(t *testing.T) {
	for how, want := range map[string]int{"parent": 3, "regenerate": 2} {
		m := &models{answers: map[string][]string{"worker": {`{"items":[{"sku":"a"}]}`, `{"items":[{"sku":"a","price":1}]}`}}}
		prompt := strings.Replace(order, "candidate: received_block", "missing_path: "+how, 1)
		r, err := governed(t, m, "", prompt).Run(t.Context(), engine.RunRequest{Prompt: "x"})
		if err != nil || r.Status != schemas.StatusSucceeded || len(m.sent["worker"][1].Messages) != want {
			t.Errorf("%s: %v, %+v, %d messages", how, err, r, len(m.sent["worker"][1].Messages))
		}
	}
}
