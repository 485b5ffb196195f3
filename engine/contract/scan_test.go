package contract

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestScan judges the tricky texts that JSON parsers disagree about.
func TestScan(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	cases := []struct {
		name, text string
		want       Class
		cut        bool
		pointer    string
	}{
		{"null", `null`, OK, false, ""},
		{"space around", " \t\r\n1 \n", OK, false, ""},
		{"empty key", `{"":0}`, OK, false, ""},
		{"empty containers", `[{},[],""]`, OK, false, ""},
		{"every escape", `"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00"`, OK, false, ""},
		{"escaped nul", `"\u0000"`, OK, false, ""},
		{"del unescaped", "\"\x7f\"", OK, false, ""},
		{"line separator", "\"\u2028\"", OK, false, ""},
		{"noncharacter", "\"\uffff\"", OK, false, ""},
		{"replacement character", "\"\ufffd\"", OK, false, ""},
		{"minus zero", `-0`, OK, false, ""},
		{"number", `-12.50e+03`, OK, false, ""},
		{"exponent with zeros", `1e0000000000000004`, OK, false, ""},
		{"depth 200", deep(200), OK, false, ""},
		{"same key in two objects", `{"a":{"b":1},"b":2}`, OK, false, ""},

		{"blank", " \n\u00a0", EmptyOutput, false, ""},
		{"byte order mark", "\ufeff{}", NotJSON, false, ""},
		{"leading zero", `012`, NotJSON, false, ""},
		{"plus", `+1`, NotJSON, false, ""},
		{"no digits before the point", `.5`, NotJSON, false, ""},
		{"no digits after the point", `[1.]`, NotJSON, false, "/0"},
		{"hexadecimal", `0x1F`, NotJSON, false, ""},
		{"nan", `[NaN]`, NotJSON, false, "/0"},
		{"infinity", `-Infinity`, NotJSON, false, ""},
		{"capital literal", `True`, NotJSON, false, ""},
		{"single quotes", `{'a':1}`, NotJSON, false, ""},
		{"bare key", `{a:1}`, NotJSON, false, ""},
		{"trailing comma in list", `[1,]`, NotJSON, false, "/1"},
		{"trailing comma in object", `{"a":1,}`, NotJSON, false, ""},
		{"missing comma", `{"a":1 "b":2}`, NotJSON, false, "/a"},
		{"missing colon", `{"a" 1}`, NotJSON, false, "/a"},
		{"double comma", `[1,,2]`, NotJSON, false, "/1"},
		{"comment", `[1] // one`, NotJSON, false, ""},
		{"raw newline in string", "[\"a\nb\"]", NotJSON, false, "/0"},
		{"raw tab in string", "\"\t\"", NotJSON, false, ""},
		{"bad escape", `"\x41"`, NotJSON, false, ""},
		{"bad unicode escape", `"\u00G0"`, NotJSON, false, ""},
		{"no-break space", "[1\u00a0]", NotJSON, false, "/0"},
		{"form feed", "[\f]", NotJSON, false, "/0"},
		{"closing only", `]`, NotJSON, false, ""},
		{"wrong closing", `[1}`, NotJSON, false, "/0"},
		{"closing twice", `{"a":1}}`, NotJSON, false, ""},
		{"date", `2024-01-01`, NotJSON, false, ""},
		{"prose after a number", `12 apples`, NotJSON, false, ""},
		{"junk", `{"key":"value"}` + strings.Repeat("a", 2972), NotJSON, false, ""},
		{"fence", "```json\n{}\n```", NotJSON, false, ""},

		{"open string", `{"a":"b`, NotJSON, true, "/a"},
		{"open key", `{"a`, NotJSON, true, ""},
		{"open object", `{"a":1`, NotJSON, true, "/a"},
		{"open list", `[`, NotJSON, true, "/0"},
		{"after comma", `[1,`, NotJSON, true, "/1"},
		{"after colon", `{"a":`, NotJSON, true, "/a"},
		{"half literal", `[tru`, NotJSON, true, "/0"},
		{"half escape", `"\`, NotJSON, true, ""},
		{"half unicode escape", `"\u12`, NotJSON, true, ""},
		{"half number", `{"a":-`, NotJSON, true, "/a"},
		{"cut after a duplicate", `{"a":1,"a":2,"b":`, NotJSON, true, "/b"},
		{"second value cut", `{"a":1}{"b":`, NotJSON, true, ""},
		{"cut inside a character", "{\"a\":\"\xc3", InvalidUTF8, true, "/a"},

		{"two objects", `{} {}`, MultipleJSON, false, ""},
		{"two lines", "1\n2\n", MultipleJSON, false, ""},
		{"object and list", `{}[]`, MultipleJSON, false, ""},
		{"three objects", `{}{}{}`, MultipleJSON, false, ""},

		{"duplicate", `{"o":{"a":1,"a":2}}`, DuplicateKey, false, "/o"},
		{"duplicate after unescaping", `[{"a":1,"\u0061":2}]`, DuplicateKey, false, "/0"},
		{"duplicate empty key", `{"":1,"":1}`, DuplicateKey, false, ""},
		{"high surrogate", `["\ud800"]`, LoneSurrogate, false, "/0"},
		{"low surrogate", `"\udc00x"`, LoneSurrogate, false, ""},
		{"swapped surrogates", `"\ude00\ud83d"`, LoneSurrogate, false, ""},
		{"two high surrogates", `"\ud83d\ud83d\ude00"`, LoneSurrogate, false, ""},
		{"surrogate in a key", `{"\ud800":1}`, LoneSurrogate, false, ""},
		{"exponent", `{"a":1e1000001}`, NumberOutRange, false, "/a"},
		{"huge exponent", `1E-99999999999999999999`, NumberOutRange, false, ""},
		{"many digits", strings.Repeat("9", 4097), NumberOutRange, false, ""},
		{"first of two", `{"n":1e9999,"n":"\ud800"}`, NumberOutRange, false, "/n"},
		{"depth 201", deep(201), TooDeep, false, "" + strings.Repeat("/0", 200)},
		{"a million deep", strings.Repeat("[", 1_000_000), TooDeep, true, strings.Repeat("/0", 200)},
		{"deep with brackets in strings", strings.Repeat("[", 201) + `"]\"]"` + strings.Repeat("]", 201), TooDeep, false,
			strings.Repeat("/0", 200)},
		{"overlong encoding", "[\"\xc0\xaf\"]", InvalidUTF8, false, ""},
		{"encoded surrogate", "\"\xed\xa0\x80\"", InvalidUTF8, false, ""},
		{"invalid UTF-8 wins", "{\"a\":1,\"a\":2} \xff", InvalidUTF8, false, ""},
	}
	c := mustCompile(t, Spec{Mode: "json"})
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			v := c.Judge([]byte(tc.text))
			if v.Class != tc.want || v.CutOff != tc.cut || v.Err != nil {
				t.Fatalf("class %q, cut %t, error %v, findings %+v", v.Class, v.CutOff, v.Err, v.Findings)
			}
			checkScanFindings(t, v, tc.text, tc.pointer)
		})
	}
}

func checkScanFindings(t *testing.T, v Verdict, text, pointer string) {
	t.Helper()
	if v.Class == OK {
		if len(v.Findings) > 0 || string(v.Value) != strings.Trim(text, " \t\r\n") || !json.Valid(v.Value) {
			t.Errorf("findings %v, value %s", v.Findings, v.Value)
		}
		return
	}
	if len(v.Findings) != 1 || v.Value != nil || v.Findings[0].Keyword != string(v.Class) || v.Findings[0].Message == "" {
		t.Fatalf("verdict %+v", v)
	}
	if got := v.Findings[0].Pointer; v.Class != InvalidUTF8 && got != pointer {
		t.Errorf("pointer %q, want %q", got, pointer)
	}
}

func TestScanPlace(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json"})
	f := c.Judge([]byte("{\n \"é\": x}")).Findings[0]
	if f.Message != `'x' stands where a value should begin, at byte 9 (line 2, column 7)` || f.Pointer != "/é" || f.Masked != "/*" {
		t.Errorf("finding %+v", f)
	}
	f = c.Judge([]byte(`{"a":{"k":1,"k":2}}`)).Findings[0]
	if f.Key != "k" || f.Pointer != "/a" || !strings.Contains(f.Message, "at byte 12 ") {
		t.Errorf("finding %+v", f)
	}
}

func TestLastWins(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"a":{"type":"string"}}}`)
	c := mustCompile(t, Spec{Mode: "json_schema", Schema: schema, LastWins: true})
	if v := c.Judge([]byte(`{"a":1,"a":"x"}`)); !v.Valid() {
		t.Errorf("refused: %+v", v)
	}
	v := c.Judge([]byte(`{"a":"x","a":17}`))
	if len(v.Findings) != 1 || string(v.Findings[0].Value) != "17" {
		t.Errorf("verdict %+v", v)
	}
}

func TestModes(t *testing.T) {
	for _, tc := range []struct {
		mode, text string
		want       Class
	}{
		{"none", "", OK}, {"none", "\xff", OK}, {"basic", "x", OK}, {"basic", " \n", EmptyOutput}, {"json", "", EmptyOutput},
		{"json", "x", NotJSON},
	} {
		c := mustCompile(t, Spec{Mode: tc.mode})
		if v := c.Judge([]byte(tc.text)); v.Class != tc.want || v.Err != nil || c.Mode() != tc.mode {
			t.Errorf("%s %q: %+v", tc.mode, tc.text, v)
		}
	}
}

func TestVerdictHoldsCopies(t *testing.T) {
	text := []byte(`{"a":1}`)
	v := schemaContract(t, `{"properties":{"a":{"type":"string"}}}`).Judge(text)
	copy(text, bytes.Repeat([]byte("x"), len(text)))
	if string(v.Value) != `{"a":1}` || string(v.Findings[0].Value) != "1" {
		t.Errorf("verdict changed with its text: %+v", v)
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9"],"b":null}`, `{"a":1,"a":2}`, `"\ud800"`, `[1`, `{} {}`, "\xff", `1e99999`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o := scan(text, true, false)
		valid := json.Valid(text)
		if o.fault == nil && !valid {
			t.Fatalf("the scan accepts what encoding/json refuses: %q", text)
		}
		if valid && o.fault != nil && (o.fault.class == NotJSON || o.fault.class == MultipleJSON) {
			t.Fatalf("the scan calls %q %s, encoding/json accepts it", text, o.fault.class)
		}
		if valid && o.cut {
			t.Fatalf("the scan calls %q cut", text)
		}
		if o.fault == nil {
			sameValue(t, text, o)
			return
		}
		o.fault.finding(text, nil)
	})
}

// sameValue compares the scan's value with that of encoding/json, and the places of its parts with its bytes.
func sameValue(t *testing.T, text []byte, o scanned) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if string(appendCanon(nil, want)) != string(appendCanon(nil, o.value)) {
		t.Fatalf("%q reads as %v, want %v", text, o.value, want)
	}
	raw := o.raw(string(text))
	samePlaces(t, raw, o.value, spans(string(raw)))
}

func samePlaces(t *testing.T, raw []byte, v any, s *span) {
	t.Helper()
	if !json.Valid(s.raw(raw)) {
		t.Fatalf("%q is no value", s.raw(raw))
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			samePlaces(t, raw, item, s.items[i])
		}
	case map[string]any:
		for key, member := range v {
			samePlaces(t, raw, member, s.child(key))
		}
	}
}
