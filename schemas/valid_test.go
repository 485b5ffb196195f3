package schemas

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// jsonTexts are JSON values, and what is none, close to each other.
var jsonTexts = []string{
	``, ` `, `{}`, `[]`, ` { } `, `[ ]`, `{"a":1}`, ` {"a" : [ 1 , 2.5e-3,-0, 0.1E+2 ] , "b":{"c":null}} `, "\t\r\n[true,\nfalse ,null]\n", `"a b"`, `"\"\\\/\b\f\n\r\t\u00aF"`,
	`"\u00g0"`, `"\u00"`, `"\u`, `"\`, `"\x"`, "\"a\x01\"", "\"\x7f\xff\"", `"`, `"a`, `01`, `-`, `-a`, `1.`, `1.e1`, `.5`, `1e`, `1e+`, `+1`, `0x1`, `1 2`, `[1,]`, `[,1]`, `[1 2]`, `[`, `]`, `[}`,
	`{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{1:1}`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":1`, `nul`, `nulll`, `True`, `tru e`, `{"a":1}x`, `{}{}`, "\ufeff{}", "1\u00a0", `{"\u0061":"\ud800"}`,
	strings.Repeat("[", 150) + strings.Repeat("]", 150), strings.Repeat("[", 3000) + strings.Repeat("]", 3000), strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000), strings.Repeat("[", 300) + "}",
}

// walked checks that the walk and encoding/json say the same of b, and write the same.
func walked(t interface {
	Helper()
	Fatalf(string, ...any)
}, b []byte) {
	t.Helper()
	if got, want := Valid(b), json.Valid(b); got != want {
		t.Fatalf("%.200q: valid is %t, encoding/json says %t", b, got, want)
	}
	sure := walker{b: b}
	if sure.document() && !json.Valid(b) {
		t.Fatalf("%.200q: the walk is sure of what is no JSON", b)
	}
	want := bytes.NewBufferString("x")
	err := json.Compact(want, b)
	got, failed := appendCompact([]byte("x"), b)
	if (err == nil) != (failed == nil) || err == nil && !bytes.Equal(got, want.Bytes()) {
		t.Fatalf("%.200q is written as %.200q, %v; encoding/json has %.200q, %v", b, got, failed, want.Bytes(), err)
	}
}

func TestValid(t *testing.T) {
	for _, s := range jsonTexts {
		walked(t, []byte(s))
		walked(t, []byte(" "+s+"\n"))
		walked(t, []byte(`{"a": `+s+` }`))
		walked(t, []byte(`[`+s+`,`+s+`]`))
	}
}

// Texts of what JSON is made of: some of them are JSON.
func TestValidOfAnyText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		walked(rt, []byte(rapid.StringOf(rapid.SampledFrom([]rune(`"\u0n{}[],:1.-e`+" \ntrue\u00e9\u2028"))).Draw(rt, "text")))
		walked(rt, []byte(`"`+rapid.StringOf(rapid.SampledFrom([]rune("\"\\u0nx \n\u00e9\u2028"))).Draw(rt, "string")+`"`))
	})
	if _, err := (&Request{Inputs: map[string]json.RawMessage{"a": json.RawMessage(`"\x"`)}}).AppendJSON(nil); err == nil {
		t.Error("an input that is no JSON is written")
	}
}

// The walk decides by itself about what is usual: encoding/json is not asked.
func TestTheWalkIsSure(t *testing.T) {
	for _, s := range []string{`{"prompt":"a@1","inputs":{"x":"a\n\"b\" \u00e4","n":-1.5e3}}`, ` [ {"a" : [ ] } , true ] `, `"x"`, `0`} {
		if w := (walker{b: []byte(s)}); !w.document() {
			t.Errorf("the walk is not sure of %s", s)
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range jsonTexts[:40] {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { walked(t, b) })
}

func BenchmarkValid(b *testing.B) {
	body := []byte(`{"prompt":"extract","inputs":{"document":"` + strings.Repeat("a line of an invoice, ", 18) + `"}}`)
	b.Run("walk", func(b *testing.B) {
		for b.Loop() {
			Valid(body)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			json.Valid(body)
		}
	})
}
