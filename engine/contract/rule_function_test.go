package contract

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestUnknownFunctions are told as functions, not as fields of the schema.
func TestUnknownFunctions(t *testing.T) {
	for _, c := range []struct{ cel, want string }{
		{"math.abs(n) > 1.0", "there is no function math.abs in rules; docs/output.md, section Rules"},
		{"a.b.abs(n) > 1.0", "there is no function a.b.abs in rules; "},
		{"abs(n) > 1.0", "there is no function abs in rules; "},
		{"o.x.abs() > 1", "there is no function abs in rules; "},
		{"output.n.abs() > 1", "there is no function abs in rules; "},
		{"l.all(x, x.lower() == math.floor(x.p))", "there is no function lower in rules; "},
		{"l.all(x, math.abs(x.p) > 0.0)", "there is no function math.abs in rules; "},
		{"l.existsOne(x, x.p > 1.0)", "there is no function existsOne in rules (did you mean exists_one?); "},
		{"l.sums() > 1.0", "(did you mean sum?)"},
		{"s.startswith('a')", "(did you mean startsWith?)"},
		{"nn.size() > 1", "field nn: the schema does not know this field; did you mean n?"},
		{"has(n)", "invalid argument to has() macro; ask for a member, as in has(output.total) (line 1"},
	} {
		_, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(ruleSchema), Rules: []Rule{{CEL: c.cel}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.cel, err, c.want)
		}
	}
	_, err := Compile(Spec{Mode: "json", Rules: []Rule{{CEL: "math.abs(output.n) > 1"}}})
	if err == nil || !strings.Contains(err.Error(), "no function math.abs") {
		t.Errorf("without a schema: %v", err)
	}
}

// TestOfferedFunctions: every row of the table in docs/output.md, section Rules, is offered and does what it says.
func TestOfferedFunctions(t *testing.T) {
	const text = `{"n":0.1,"i":7,"s":"2026-03-15T08:00:00Z","b":true,"any":"90m","o":{"x":3,"a.b":"c"},"l":[{"k":"a","p":0.1,"q":2},{"k":"b","p":0.2,"q":3}]}`
	for _, cel := range []string{
		"n == 0.1 && n != 0.2 && n < 0.2 && n <= 0.1 && !(n > 0.1) && n >= 0.1", "i > 7 || b", "b ? i == 7 : i == 8", "i in [7, 8]", "'x' in o", `output.o["a.b"] == "c"`,
		"n + 0.2 == 0.3", "i - 1 == 6 && i * 2 == 14", "i / 2 == 3 && i % 2 == 1 && -i == -7", "output.i / 2.0 == 3.5",
		"l.all(x, x.p > 0)", "l.exists(x, x.k == 'b')", "l.exists_one(x, x.k == 'b')", "l.filter(x, x.p > 0.1).size() == 1", "l.map(x, x.p) == [0.1, 0.2]",
		"l.map(x, x.k == 'b', x.p) == [0.2]", "has(output.n) && has(output.o.x)", "size(l) == 2 && size(s) == 20 && size(o) == 2",
		"s.contains('03') && s.startsWith('2026') && s.endsWith('Z') && s.matches('^[0-9T:Z-]+$')", "s + 'x' > s",
		"sum(l.map(x, x.p * x.q)) == 0.8", "l.map(x, x.p).sum() == 0.3", "int('7') == i && double('0.1') == n && string(i) == '7' && bool('true') == b",
		"timestamp(s) > timestamp('2026-01-01T00:00:00Z')", "timestamp(s).getFullYear() == 2026 && timestamp(s).getMonth() == 2 && timestamp(s).getHours() == 8",
		"timestamp(s) + duration('24h') > timestamp(s) && duration('90m') == duration(string(output.any))", "type(output.i) == double && type(output.s) == string",
		"output.any != null",
	} {
		if v := ruled(t, ruleSchema, Rule{CEL: cel}).Judge([]byte(text)); v.Err != nil || v.Rules.Held != 1 {
			t.Errorf("%s: %v, %+v, %s", cel, v.Err, v.Rules, shown(v.Findings))
		}
	}
	for _, name := range offered {
		env, err := (*schema)(nil).environment()
		if err != nil {
			t.Fatal(err)
		}
		macro := strings.Contains(" all exists exists_one filter map has ", " "+name+" ")
		if !macro && !env.env.HasFunction(name) {
			t.Errorf("%s is not offered", name)
		}
	}
}
