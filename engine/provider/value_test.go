package provider

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func parse(t testing.TB, s string) Value {
	t.Helper()
	v, ok := Parse([]byte(s))
	if !ok {
		t.Fatalf("%q is not JSON", s)
	}
	return v
}

func TestValueGet(t *testing.T) {
	v := parse(t, " {\"a\" : [1, {\"b\":\"}\\\"]\"} ,null],\n\"c\":{},\"c\":true , \"\":-1.5e3,\"d\\u0065\":\"x\"} ")
	for name, want := range map[string]string{"a": `[1, {"b":"}\"]"} ,null]`, "c": "true", "": "-1.5e3", "de": `"x"`, "A": "", "d": ""} {
		if got := string(v.Get(name).Raw()); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	var elements []string
	for e := range v.Get("a").Elements() {
		elements = append(elements, string(e.Raw()))
	}
	if want := []string{"1", `{"b":"}\"]"}`, "null"}; !reflect.DeepEqual(elements, want) {
		t.Errorf("elements %q, want %q", elements, want)
	}
	if got, _ := v.Get("a").First().Float(); got != 1 {
		t.Errorf("first is %v", got)
	}
}

func TestValueOfTheWrongKindIsAbsent(t *testing.T) {
	for _, s := range []string{`null`, `true`, `1`, `"x"`, `[]`, `{}`} {
		v := parse(t, s)
		if got := v.Get("a").First().Get("b").Kind(); got != Absent {
			t.Errorf("%s: %v", s, got)
		}
	}
	if _, ok := (Value{}).Text(); ok || (Value{}).Present() || (Value{}).Filled() || (Value{}).Is("") {
		t.Error("the zero value says something")
	}
	if _, ok := Parse([]byte(`{} x`)); ok {
		t.Error("two values were parsed as one")
	}
}

func TestValueFilled(t *testing.T) {
	for s, want := range map[string]bool{`null`: false, `false`: false, `true`: true, `0`: false, `7`: true, `""`: false, `" "`: false,
		`"x"`: true, `[ ]`: false, `[0]`: true, "{\n}": false, `{"a":0}`: true} {
		if got := parse(t, s).Filled(); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func TestValueText(t *testing.T) {
	for s, want := range map[string]string{
		`""`: "", `"a\"\\\/\b\f\n\r\t"`: "a\"\\/\b\f\n\r\t", `"\u00e9\ud83d\ude42"`: "é🙂", `"\ud83d"`: "\xed\xa0\xbd", `"\ud83dx"`: "\xed\xa0\xbdx",
		`"\ud83d\u0041"`: "\xed\xa0\xbdA", `"\ude42\ud83d"`: "\xed\xb9\x82\xed\xa0\xbd", "\"\xff\"": "\xff", "\"\xff\\n\"": "\xff\n", `"\\ud82c"`: `\ud82c`,
	} {
		if got, ok := parse(t, s).Text(); !ok || got != want {
			t.Errorf("%s is %q, want %q", s, got, want)
		}
	}
}

func TestValueKindNames(t *testing.T) {
	for s, want := range map[string]string{`null`: "null", `true`: "a boolean", `1`: "a number", `"x"`: "a string", `[]`: "an array", `{}`: "an object"} {
		if got := parse(t, s).Kind().String(); got != want {
			t.Errorf("%s is %q", s, got)
		}
	}
}

// FuzzValue: what is read in place is what encoding/json reads.
func FuzzValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,"x\"",{"b":null}],"a":true}`, `[[],{},"\ud83d\ude42"]`, ` 1 `, `"\\"`, `{"\\":"\\\""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, ok := Parse(body)
		if ok != json.Valid(body) {
			t.Fatalf("parsed %v", ok)
		}
		if !ok || !utf8.Valid(body) {
			return
		}
		var want any
		if json.Unmarshal(body, &want) == nil && !reflect.DeepEqual(rebuild(v), want) {
			t.Fatalf("got %#v, want %#v", rebuild(v), want)
		}
	})
}

func rebuild(v Value) any {
	switch v.Kind() {
	case Object:
		m := map[string]any{}
		for key, member := range v.Members() {
			name, _ := key.Text()
			m[replaced(name)] = rebuild(member)
		}
		return m
	case Array:
		a := []any{}
		for e := range v.Elements() {
			a = append(a, rebuild(e))
		}
		return a
	case String:
		s, _ := v.Text()
		return replaced(s)
	case Number:
		n, _ := v.Float()
		return n
	case Bool:
		return v.Raw()[0] == 't'
	}
	return nil
}

// replaced says what encoding/json makes of lone surrogates, which Text keeps as bytes.
func replaced(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == 0xed && b[i+1] >= 0xa0 {
			copy(b[i:i+3], "\uFFFD")
		}
	}
	return string(b)
}

func TestEncoder(t *testing.T) {
	var e Encoder
	e.Grow(4)
	e.Open('{')
	e.Key("a")
	e.Open('[')
	e.Close(']')
	e.Key("b")
	e.Open('[')
	e.Int(-1)
	e.Float(1e21)
	e.Bool(true)
	e.Raw([]byte(" {} "))
	e.String("{[:")
	e.Open('{')
	e.RawKey([]byte(`"\u0063"`))
	e.Int(1)
	e.RawKey([]byte(`"d"`))
	e.Int(2)
	e.Close('}')
	e.Close(']')
	e.Close('}')
	if got, want := string(e.Bytes()), `{"a":[],"b":[-1,1e+21,true, {} ,"{[:",{"\u0063":1,"d":2}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzString: any text makes valid UTF-8 JSON that decodes to the text, with U+FFFD for what is not UTF-8.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "\x00\x1f\"\\/<>&\u2028\x7f", "\xff\xfeé\xf0\x9f\x99", "🙂\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var e Encoder
		e.String(s)
		var got string
		if err := json.Unmarshal(e.Bytes(), &got); err != nil || !utf8.Valid(e.Bytes()) {
			t.Fatalf("%q became %q: %v", s, e.Bytes(), err)
		}
		if want := string([]rune(s)); got != want {
			t.Fatalf("%q came back as %q", s, got)
		}
	})
}

func TestUsage(t *testing.T) {
	names := Names{"in": Input, "out": Output, "d.cached": Cached, "d.written": CacheWritten, "d.thought": Reasoning, "all": Skip}
	cases := map[string]string{
		`{"in":1,"out":0,"all":1,"d":{"cached":2,"written":3,"thought":4}}`: `{"input_tokens":1,"output_tokens":0,"cached_tokens":2,"cache_written_tokens":3,"reasoning_tokens":4}`,
		`{"in":1.5,"out":-1,"d":null}`:                                      `{"other":{"in":1.5}}`,
		`{"in":9007199254740993,"x":{"y":0}}`:                               `{"other":{"in":9007199254740992,"x.y":0}}`,
		`{"in":1e999,"all":3,"a b":1,"o":{"":1}}`:                           "null",
		`{"a":{"b":{"c":{"d":1,"e":{"f":1}}}}}`:                             `{"other":{"a.b.c.d":1}}`,
		`{"all":3}`:                                                         "null",
		`{}`:                                                                "null",
		`[1]`:                                                               "null",
		`null`:                                                              "null",
	}
	for s, want := range cases {
		got, err := json.Marshal(Usage(parse(t, s), names))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, want %s", s, got, want)
		}
	}
	var many strings.Builder
	for i := range 500 {
		many.WriteString(`,"x` + strings.Repeat("y", i%60) + string(rune('a'+i%26)) + `":1`)
	}
	if n := len(Usage(parse(t, "{"+many.String()[1:]+"}"), names).Other); n != usageOther {
		t.Errorf("%d unnamed fields were kept", n)
	}
}
