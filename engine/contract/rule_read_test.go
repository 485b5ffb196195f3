package contract

import (
	"slices"
	"strings"
	"testing"
)

// TestReads: what an expression needs, what it asks for with has(), and what may be changed to mend it.
func TestReads(t *testing.T) {
	for _, c := range []struct{ cel, needs, tested, fields string }{
		{`s == "x" && n > 1.0`, "s n", "", "s n"},
		{`n > 1.0 || n < 0.0`, "n n", "", "n"},
		{`output.n > 1 && output["s"] == "x"`, "n s", "", "n s"},
		{`output["o"]["a.b"] == "x"`, `o["a.b"]`, "", `o["a.b"]`},
		{`output["a" + "b"] == 1`, "(root)", "", "(root)"},
		{`size(output) > 1 && n > 1.0`, "(root) n", "", "(root)"},
		{`l[2].p > 1`, "l[2].p", "", "l[2].p"},
		{`l[i].p > 1`, "l[*].p i", "", "l i"},
		{`l[l[0].m[1] > 1 ? 0 : 1].p > 1`, "l[*].p l[0].m[1]", "", "l"},
		{`l.all(x, x.p > n)`, "l l[*].p n", "", "l n"},
		{`l.all(x, x.m.exists(y, y > x.p))`, "l l[*].m l[*].m[*] l[*].p", "", "l"},
		{`l.map(x, x.k).exists(k, k == s)`, "l l[*].k s", "", "l s"},
		{`l.filter(x, x.p > 1)[0].k == s`, "l l[*].p l[*] s", "", "l s"},
		{`o.all(k, k != "x")`, "o", "", "o"},
		{`o.all(k, o[k] != "x")`, "o o", "", "o"},
		{`any.all(x, x.y == 1)`, "any", "", "any"},
		{`[n, 1.0].all(x, x > 0.0)`, "n", "", "n"},
		{`{"k": n}.k > 0.0`, "n", "", "n"},
		{`l.all(s, s.p > 1)`, "l l[*].p", "", "l"},
		{`l.all(output, output.p > 1)`, "l l[*].p", "", "l"},
		{`has(o.x)`, "o", "o.x", "o.x"},
		{`has(output.s) && s == "x"`, "(root)", "s", "s"},
		{`!has(o.x) || o.x > i`, "i o", "o.x", "o.x i"},
		{`has(output.o) && has(o.x) && o.x > 1`, "(root)", "o o.x", "o"},
		{`l.all(x, has(x.p) && x.p > 1)`, "l l[*]", "l[*].p", "l"},
		{`s.matches("a") && s.size() > 1 && s.contains("b")`, "s s s", "", "s"},
		{`b ? n > 1.0 : i > 1`, "b n i", "", "b n i"},
		{`type(any) == int`, "any", "", "any"},
	} {
		s := schemaContract(t, ruleSchema).schema
		env, err := s.environment()
		if err != nil {
			t.Fatal(err)
		}
		parsed, issues := env.env.Parse(c.cel)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		r := &reader{schema: s, known: env.known, functions: env.env.HasFunction, source: c.cel, info: parsed.NativeRep().SourceInfo()}
		r.walk(parsed.NativeRep().Expr(), scope{})
		var needs []fieldPath
		for _, f := range r.required() {
			needs = append(needs, f.path)
		}
		if n, a, f := pathsText(needs), pathsText(r.tested), pathsText(r.changeable()); n != c.needs || a != c.tested || f != c.fields || r.err != nil {
			t.Errorf("%s: needs %q, tested %q, fields %q, error %v; want %q, %q, %q", c.cel, n, a, f, r.err, c.needs, c.tested, c.fields)
		}
	}
}

func pathsText(list []fieldPath) string {
	var out []string
	for _, p := range list {
		out = append(out, p.String())
	}
	return strings.Join(out, " ")
}

// TestVariables: which members of the root are variables, and of which type.
func TestVariables(t *testing.T) {
	s := schemaContract(t, `{"properties":{"i":{"type":"integer"},"n":{"type":"number"},"half":{"enum":[0.5]},"s":{"const":"x"},"b":{"type":"boolean"},
		"l":{"type":"array"},"o":{"type":"object"},"two":{"type":["string","null"]},"null_only":{"type":"null"},"open":{},"never":false,
		"output":{},"in":{},"while":{},"a-b":{},"1x":{},"größe":{},"type":{"type":"string"},"size":{"type":"integer"}}}`).schema
	env, err := s.environment()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range env.env.Variables() {
		if env.known[v.Name()] {
			got = append(got, v.Name()+":"+v.Type().String())
		}
	}
	slices.Sort(got)
	want := "b:bool half:double i:int l:list(dyn) n:double null_only:dyn o:map(string, dyn) open:dyn s:string size:int two:dyn type:string"
	if strings.Join(got, " ") != want {
		t.Errorf("%s", strings.Join(got, " "))
	}
}

// TestOddNames: members that cannot be variables are reached through output, and a message says so.
func TestOddNames(t *testing.T) {
	const schema = `{"properties":{"while":{"type":"integer"},"a-b":{"type":"integer"},"output":{"type":"integer"},"type":{"type":"string"}}}`
	for expr, text := range map[string]string{
		`output["while"] > 1`: `{"while":1}`, `output["a-b"] > 1`: `{"a-b":1}`, `output.output > 1`: `{"output":1}`, `type == "x"`: `{"type":"y"}`,
		`output.type == "x"`: `{"type":"y"}`,
	} {
		if v := ruled(t, schema, Rule{CEL: expr, Message: "m"}).Judge([]byte(text)); v.Class != RuleFailed || len(v.Findings) != 1 {
			t.Errorf("%s: %+v", expr, v)
		}
	}
	_, err := build(Spec{Mode: "json_schema", Schema: []byte(`{"properties":{"größe":{}}}`), Rules: []Rule{{CEL: `grosse > 1`}}})
	if err == nil || !strings.Contains(err.Error(), "field grosse: the schema does not know this field; known there are größe") {
		t.Errorf("%v", err)
	}
}
