package provider

import (
	"encoding/json"
	"strings"
	"testing"
)

var jsonTexts = []string{``, ` `, `{}`, `[]`, `{"a":1}`, `{"a" : [ 1 , -0.5e+7 , "x\"\\\u00e9" , true,false , null ] , "b":{}}`, `"\ud800"`, "\"\xff\"", `"a` + "\n" + `"`,
	`01`, `-`, `-0`, `1.`, `.5`, `1e`, `1e+`, `1E-2`, `1e5x`, `tru`, `trueX`, `nul`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1 "b":2}`, `{a:1}`,
	`{} {}`, `{}x`, `"\x"`, `"\u12g4"`, `"\u12"`, `"abc`, `"\`, `[`, `{`, `{"a"`, `{"a":`, `]`, `[}`, `{]`, "\ufeff{}", `+1`, `NaN`, "\t\r\n[\n]\n", `1 `, `{"a":"b"}}`,
	strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting), strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1),
	strings.Repeat(`{"a":`, maxNesting) + "1" + strings.Repeat("}", maxNesting), strings.Repeat(`[{"a":`, maxNesting/2) + "[]" + strings.Repeat("}]", maxNesting/2)}

func TestValidIsWhatEncodingJSONSays(t *testing.T) {
	for _, text := range jsonTexts {
		if got, want := valid([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Errorf("%.60q is valid: %v, encoding/json says %v", text, got, want)
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := valid(b), json.Valid(b); got != want {
			t.Errorf("%q is valid: %v, encoding/json says %v", b, got, want)
		}
	})
}
