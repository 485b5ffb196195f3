package contract

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestConversionsThatAlwaysFail are refused when a rule is compiled, and no others.
func TestConversionsThatAlwaysFail(t *testing.T) {
	const schema = `{"properties":{"day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},"hour":{"type":["string","null"],"format":"time"},
		"took":{"$ref":"#/$defs/took"},"any":{"format":"date"},"text":{"type":"string"},"own":{"type":"string","format":"our-date"},
		"maybe":{"anyOf":[{"type":"string","format":"date"},{"type":"string","format":"date-time"}]},
		"lines":{"type":"array","items":{"type":"object","properties":{"due":{"type":"string","format":"date"}}}}},
		"$defs":{"took":{"type":"string","format":"duration"}}}`
	for _, c := range []struct{ cel, want string }{
		{`timestamp(day) > timestamp("2026-01-01T00:00:00Z")`, `field day: timestamp() never takes a text of format date: it needs a time of day too; write timestamp(day + "T00:00:00Z")`},
		{`!has(output.day) || timestamp(output.day) > timestamp("2026-01-01T00:00:00Z")`, `write timestamp(output.day + "T00:00:00Z")`},
		{`lines.all(l, timestamp(l.due) > timestamp(at))`, `field lines[*].due: timestamp() never takes a text of format date: it needs a time of day too; write timestamp(l.due + `},
		{`timestamp(lines[0].due) > timestamp(at)`, `field lines[0].due: `},
		{`timestamp(hour) > timestamp(at)`, `it needs a date too; write timestamp("2000-01-01T" + hour)`},
		{`duration(took) > duration("1h")`, `field took: duration() never takes a text of format duration: it reads texts such as "36h"`},
		{`timestamp(day + "T00:00:00Z") > timestamp(at)`, ""},
		{`timestamp(at) > timestamp("2026-01-01T00:00:00Z")`, ""},
		{`timestamp(text) > timestamp("2026-01-01T00:00:00Z") || timestamp(own) > timestamp(at)`, ""},
		{`timestamp(any) > timestamp("2026-01-01T00:00:00Z") || timestamp(maybe) > timestamp(at)`, ""},
		{`day > "2026-01-01"`, ""},
	} {
		_, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(schema), Rules: []Rule{{CEL: c.cel}}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.cel, err, c.want)
		}
	}
	rule := Rule{CEL: `timestamp(day + "T00:00:00Z") < timestamp(at)`}
	if v := ruled(t, schema, rule).Judge([]byte(`{"day":"2026-03-15","at":"2026-03-15T08:00:00Z"}`)); v.Rules.Held != 1 {
		t.Errorf("the way out does not hold: %+v", v)
	}
}
