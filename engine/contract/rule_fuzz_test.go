package contract

import (
	"errors"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// FuzzExpression: no expression and no text ends the process, and a rule that cannot be used says so.
func FuzzExpression(f *testing.F) {
	for _, seed := range [][2]string{
		{`n <= 0.5 || s == "x"`, `{"n":0.5,"s":"y"}`}, {`l.all(x, x.p / 2.0 > n) ? b : i % 2 == 1`, `{"l":[{"p":1e3}],"n":1,"i":3}`},
		{`output["o"].x in [1, 2.5, "a"] && !has(o.x)`, `{"o":{"x":2.5}}`}, {`l.map(x, [x.k, x.m]) == [["a", [1]]]`, `{"l":[{"k":"a","m":[1]}]}`},
		{`string(n) + s < "1" && double(s) > 1e3 && int(n) == 1`, `{"n":1,"s":"2"}`}, {`s.matches("^a+$") && {s: n}[s] == -n`, `{"s":"a","n":0}`},
		{`output == {"n": n} && type(n) == double && size(l) > dyn(i)`, `{"n":12345678901234567890.5,"i":1,"l":[]}`},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	schema := []byte(ruleSchema)
	f.Fuzz(func(t *testing.T, expr string, text []byte) {
		c, err := build(Spec{Mode: "json_schema", Schema: schema, Rules: []Rule{{CEL: expr}}})
		if err != nil {
			if e, ok := errors.AsType[*CompileError](err); expr != "" && (!ok || e.Rule != 1 || e.Reason == "") {
				t.Fatalf("%q: %v", expr, err)
			}
			return
		}
		v := checkVerdict(t, c, text)
		if n := v.Rules.Held + v.Rules.Failed + v.Rules.Skipped; v.Value != nil && v.Err == nil && n != 1 {
			t.Fatalf("%q on %q: %+v", expr, text, v.Rules)
		}
	})
}

// TestArithmeticIsExact compares expressions with calculations in quotients.
func TestArithmeticIsExact(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?(e-?[1-9])?`)
	all := map[string]*Contract{}
	for name, cel := range map[string]string{
		"sum": "output.a + output.b == output.c", "difference": "output.a - output.b == output.c", "product": "output.a * output.b == output.c",
		"quotient": "output.b == 0 || output.a / output.b * output.b == output.a", "less": "output.a < output.b", "equal": "output.a == output.b",
	} {
		all[name] = mustCompile(t, Spec{Mode: "json", Rules: []Rule{{CEL: cel}}})
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, y := ratOf(a), ratOf(b)
		if rapid.Bool().Draw(t, "near") {
			b = a + "1"
			if y = ratOf(b); y == nil {
				return
			}
		}
		for name, c := range map[string]struct {
			c    *big.Rat
			want bool
		}{
			"sum": {new(big.Rat).Add(x, y), true}, "difference": {new(big.Rat).Sub(x, y), true}, "product": {new(big.Rat).Mul(x, y), true},
			"quotient": {x, true}, "less": {x, x.Cmp(y) < 0}, "equal": {x, x.Cmp(y) == 0},
		} {
			places, _ := c.c.FloatPrec()
			text := fmt.Sprintf(`{"a":%s,"b":%s,"c":%s}`, a, b, c.c.FloatString(places))
			v := all[name].Judge([]byte(text))
			if v.Err != nil || v.Valid() != c.want {
				t.Fatalf("%s of %s: valid %t, error %v, class %s", name, text, v.Valid(), v.Err, v.Class)
			}
		}
	})
}

// ratOf reads a JSON number as a quotient; nil if the text is none.
func ratOf(text string) *big.Rat {
	if scan([]byte(text), false, false).fault != nil {
		return nil
	}
	r, _ := new(big.Rat).SetString(text)
	return r
}
