package contract

import "testing"

func TestExpressions(t *testing.T) {
	for _, c := range []struct{ cel, text, want string }{
		{`s == "x" || n <= 0.5`, `{"s":"y","n":0.8}`, `the rule does not hold: "s == \"x\" || n <= 0.5" /s,/n`},
		{`s == "x" || n <= 0.5`, `{"s":"x","n":0.8}`, "held"},
		{`output.s == "x"`, `{"s":"x"}`, "held"},
		{`output["o"]["a.b"] == "x"`, `{"o":{"a.b":"y"}}`, `the rule does not hold: "output[\"o\"][\"a.b\"] == \"x\"" /o/a.b`},
		{`l.all(x, x.p > 0)`, `{"l":[{"p":1},{"p":0}]}`, `the rule does not hold: "l.all(x, x.p > 0)" /l`},
		{`l.all(x, x.p > 0)`, `{"l":[]}`, "held"},
		{`l[0].p > 0`, `{"l":[{"p":0}]}`, `the rule does not hold: "l[0].p > 0" /l/0/p`},
		{`l[i].p > 0`, `{"l":[{"p":0},{"p":1}],"i":1}`, "held"},
		{`l[i].p > 0`, `{"l":[{"p":0},{"p":1}],"i":0}`, `the rule does not hold: "l[i].p > 0" /l,/i`},
		{`l.exists_one(x, x.k == "a")`, `{"l":[{"k":"a"},{"k":"b"}]}`, "held"},
		{`l.map(x, x.p).exists(p, p == 2.50)`, `{"l":[{"p":2.5}]}`, "held"},
		{`l.filter(x, x.p > 1).size() == 1`, `{"l":[{"p":1},{"p":2}]}`, "held"},
		{`l.all(x, x.m.all(y, y < n))`, `{"l":[{"m":[1,2]}],"n":2}`, `the rule does not hold: "l.all(x, x.m.all(y, y < n))" /l,/n`},
		{`!has(output.s) || output.s.size() > 2`, `{}`, "held"},
		{`!has(output.s) || output.s.size() > 2`, `{"s":"ab"}`, `the rule does not hold: "!has(output.s) || output.s.size() > 2" /s`},
		{`l.all(x, !has(x.p) || x.p > 0)`, `{"l":[{},{"p":1}]}`, "held"},
		{`has(o.x)`, `{"o":{}}`, `the rule does not hold: "has(o.x)" /o/x`},
		{`has(o.x)`, `{}`, "skipped"},
		{`s.matches("^[a-z]+$")`, `{"s":"A"}`, `the rule does not hold: "s.matches(\"^[a-z]+$\")" /s`},
		{`s.size() == 3`, `{"s":"äöü"}`, "held"},
		{`b ? n > 1 : n < 1`, `{"b":true,"n":0}`, `the rule does not hold: "b ? n > 1 : n < 1" /b,/n`},
		{`output == {"n": 1}`, `{"n":1.0}`, "held"},
		{`type(output.any) == string`, `{"any":1}`, `the rule does not hold: "type(output.any) == string" /any`},

		{`sum(l.map(x, x.p)) == n`, `{"l":[{"p":0.1},{"p":0.2}],"n":0.3}`, "held"},
		{`l.map(x, x.p).sum() == n`, `{"l":[{"p":0.1},{"p":0.2}],"n":0.30000000000000004}`, `the rule does not hold: "l.map(x, x.p).sum() == n" /l,/n`},
		{`sum(l.map(x, x.p * x.q)) == n`, `{"l":[{"p":19.5,"q":2},{"p":4.25,"q":3}],"n":51.75}`, "held"},
		{`sum(l.map(x, x.p)) == 0.0`, `{"l":[]}`, "held"},
		{`sum(l.map(x, x.p)) > n`, `{"l":[{"p":9007199254740993},{"p":1}],"n":9007199254740993}`, "held"},
		{`sum(l.map(x, x.p)) == n`, `{"l":[{"p":"x"}],"n":1}`, "skipped"},

		{`n > 0`, `{}`, "skipped"},
		{`n > 0`, `{"n":"x"}`, "skipped"},
		{`n > 0`, `{"n":null}`, "skipped"},
		{`s.size() > 0 || n > 0`, `{"s":"x"}`, "skipped"},
		{`l.all(x, x.p > 0)`, `{"l":[{"p":"x"}]}`, "skipped"},
		{`l.all(x, x.p > 0)`, `{"l":[{"p":1},{}]}`, "skipped"},
		{`l.exists(x, x.p > 0)`, `{"l":[{"p":1},{}]}`, "held"},
		{`l.all(x, x.p > 0)`, `{"l":[{"p":0},{}]}`, `the rule does not hold: "l.all(x, x.p > 0)" /l`},
		{`o.x / i > 1`, `{"o":{"x":1},"i":0,"n":"fault of the schema"}`, "skipped"},
	} {
		if got := ruleText(ruled(t, ruleSchema, Rule{CEL: c.cel}).Judge([]byte(c.text))); got != c.want {
			t.Errorf("%s on %s: %s, want %s", c.cel, c.text, got, c.want)
		}
	}
}

// TestExactNumbers: an expression computes with the numbers that stand in the text.
func TestExactNumbers(t *testing.T) {
	c := map[string]*Contract{}
	for _, k := range []struct {
		cel, text string
		want      bool
	}{
		{`n <= 0.5`, `{"n":0.50000000000000000000001}`, false},
		{`n < 0.5`, `{"n":0.49999999999999999999999}`, true},
		{`n == 0.1`, `{"n":0.10}`, true},
		{`n != 0.1`, `{"n":0.1000000000000000000001}`, true},
		{`n < 9007199254740993`, `{"n":9007199254740992}`, true},
		{`i < 9007199254740993`, `{"i":9007199254740992}`, true},
		{`i == 9007199254740993`, `{"i":9007199254740992.0}`, false},
		{`i > 9223372036854775807`, `{"i":9223372036854775808}`, true},
		{`i + 1 > 9223372036854775807 && i + 1 - 1 == i`, `{"i":9223372036854775807}`, true},
		{`n + 0.2 == 0.3`, `{"n":0.1}`, true},
		{`n + 0.1 < 0.8`, `{"n":0.7}`, false},
		{`n * 3.0 == 0.3`, `{"n":0.1}`, true},
		{`n / 3.0 * 3.0 == 1.0`, `{"n":1}`, true},
		{`1.0 / n < 0.3333333333333334`, `{"n":3}`, true},
		{`1.0 / n == 0.3333333333333333`, `{"n":3}`, false},
		{`i / 2 == 2`, `{"i":5}`, true},
		{`i / 2 == -2`, `{"i":-5}`, true},
		{`i % 3 == -2`, `{"i":-5}`, true},
		{`i % 2 == 1`, `{"i":123456789012345678901}`, true},
		{`output.i / 2 == 2`, `{"i":5}`, false},
		{`output.i / 2.0 == 2.5`, `{"i":5}`, true},
		{`string(i / 2) == "61728394506172839450"`, `{"i":123456789012345678901}`, true},
		{`output.i % 2 == 1`, `{"i":5}`, true},
		{`-n == 0.1`, `{"n":-0.1}`, true},
		{`-i == 5`, `{"i":-5}`, true},
		{`n - 0.3 == -0.2`, `{"n":0.1}`, true},
		{`n == double(i)`, `{"n":5.0,"i":5}`, true},
		{`n in [0.1, 0.2]`, `{"n":0.20}`, true},
		{`n in [0.1, 0.2]`, `{"n":0.20000000000000000001}`, false},
		{`!(output.n in {9007199254740993: true})`, `{"n":9007199254740993}`, false},
		{`[n] == [0.1]`, `{"n":0.10}`, true},
		{`[n] != [0.1]`, `{"n":0.1000000000000000000001}`, true},
		{`{"a": [n]} == {"a": [1e-1]}`, `{"n":0.1}`, true},
		{`l.map(x, x.p) == [0.1, 0.3]`, `{"l":[{"p":0.1},{"p":0.3000000000000000000001}]}`, false},
		{`int(n) == 2`, `{"n":2.99999999999999999999}`, true},
		{`int(n) == -2`, `{"n":-2.9}`, true},
		{`double(s) == 0.1`, `{"s":"0.10"}`, true},
		{`double(s) == 0.1`, `{"s":"0.1000000000000000000001"}`, false},
		{`double(i) / 2.0 == 2.5`, `{"i":5}`, true},
		{`string(n) == "0.1"`, `{"n":0.10}`, true},
		{`string(i) == "5"`, `{"i":5}`, true},
		{`n > 1e300`, `{"n":1e4000}`, true},
		{`s + "b" == "ab"`, `{"s":"a"}`, true},
		{`s < "b"`, `{"s":"a"}`, true},
		{`s in ["a", "b"]`, `{"s":"c"}`, false},
		{`"x" in o`, `{"o":{"x":1}}`, true},
		{`l + [1] == [1]`, `{"l":[]}`, true},
		{`output.any != "1"`, `{"any":1}`, true},
		{`output.any == null`, `{"any":null}`, true},
		{`timestamp(s) - timestamp("2024-01-01T00:00:00Z") < duration("48h")`, `{"s":"2024-01-02T00:00:00Z"}`, true},
	} {
		if c[k.cel] == nil {
			c[k.cel] = ruled(t, ruleSchema, Rule{CEL: k.cel})
		}
		v := c[k.cel].Judge([]byte(k.text))
		if got := v.Rules.Held == 1; got != k.want || v.Err != nil || v.Rules.Skipped > 0 {
			t.Errorf("%s on %s: %t, want %t (%v, %+v)", k.cel, k.text, got, k.want, v.Err, v.Rules)
		}
	}
}
