package contract

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSameTokens: whatever a library may make of a source, only what says the same is taken over.
func TestSameTokens(t *testing.T) {
	for _, c := range []struct {
		name, source, out string
		want              bool
	}{
		{"the same", `{"a":[1,"x",true,null]}`, `{"a":[1,"x",true,null]}`, true},
		{"other white space", `{ "a" : [ 1 ] }`, "{\"a\":\n[1]}", true},
		{"empty containers", `{"a":{},"b":[]}`, `{"a":{},"b":[]}`, true},
		{"comma at the end", `[[1,],]`, `[[1]]`, true},
		{"comma and colon missing", `{"a" 1 "b" 2}`, `{"a":1,"b":2}`, true},
		{"comment at the end", "[1] // done", `[1]`, true},
		{"comment that does not end", "[1] /* done", `[1]`, true},
		{"comment between", "{/* a */\"a\"/* b */:/* c */1/* d */,// e\n}", `{"a":1}`, true},
		{"comment in a string stays", `["a//b", "/*c*/"]`, `["a//b","/*c*/"]`, true},
		{"quotes", `['a', “b”, ‘c’, ` + "`d`]", `["a","b","c","d"]`, true},
		{"escape written out", `["A\n"]`, `["\u0041\u000a"]`, true},
		{"raw line break", "['a\r\nb']", `["a\r\nb"]`, true},
		{"pair", `["\ud83d\ude00"]`, "[\"\U0001F600\"]", true},
		{"inner quotes", `["a "b" c"]`, `["a \"b\" c"]`, true},
		{"inner quotes of another kind", `["it's"]`, `["it's"]`, true},
		{"plain keys", `{a_b: 1, $c: 2, d-e: 3}`, `{"a_b":1,"$c":2,"d-e":3}`, true},
		{"python", `[True, False, None]`, `[true,false,null]`, true},

		{"changed number", `[1.50]`, `[1.5]`, false},
		{"changed sign", `[-1]`, `[1]`, false},
		{"cut number", `[12]`, `[1]`, false},
		{"longer number", `[1]`, `[12]`, false},
		{"number as text", `[1]`, `["1"]`, false},
		{"text as number", `["1"]`, `[1]`, false},
		{"word as text", `[hello]`, `["hello"]`, false},
		{"literal as text", `[true]`, `["true"]`, false},
		{"other literal", `[True]`, `[false]`, false},
		{"part of a word", `[Truest]`, `[true]`, false},
		{"NaN", `[NaN]`, `[null]`, false},
		{"changed text", `["ab"]`, `["ac"]`, false},
		{"shorter text", `["ab"]`, `["a"]`, false},
		{"longer text", `["ab"]`, `["abc"]`, false},
		{"changed key", `{"a":1}`, `{"b":1}`, false},
		{"renamed plain key", `{a:1}`, `{"ab":1}`, false},
		{"key that is a number", `{1:2}`, `{"1":2}`, false},
		{"plain key without an end", `{a`, `{"a":null}`, false},
		{"dropped member", `{"a":1,"b":2}`, `{"a":1}`, false},
		{"invented member", `{"a":1}`, `{"a":1,"b":2}`, false},
		{"invented null", `{"a":}`, `{"a":null}`, false},
		{"other order", `[1,2]`, `[2,1]`, false},
		{"other order of keys", `{"a":1,"b":2}`, `{"b":2,"a":1}`, false},
		{"added array", `{"a":1}`, `[{"a":1}]`, false},
		{"dropped array", `[[1]]`, `[1]`, false},
		{"object for array", `[1]`, `{"a":1}`, false},
		{"invented end", `[1`, `[1]`, false},
		{"end too many", `[1]]`, `[1]`, false},
		{"rest", `[1] and more`, `[1]`, false},
		{"two commas", `[1,,2]`, `[1,2]`, false},
		{"two colons", `{"a"::1}`, `{"a":1}`, false},
		{"ellipsis", `[1,...]`, `[1]`, false},
		{"string swallows a member", `["a","b"]`, `["a\",\"b"]`, false},
		{"string swallows an end", `["a"]`, `["a\"]"]`, false},
		{"string without an end", `["a]`, `["a"]`, false},
		{"other end", `["a']`, `["a"]`, false},
		{"joined", `["a" + "b"]`, `["ab"]`, false},
		{"dropped backslash", `["\d"]`, `["d"]`, false},
		{"kept backslash", `["\d"]`, `["\\d"]`, false},
		{"escape read literally", `["\n"]`, `["\\n"]`, false},
		{"escape without an end", `["\u00`, `["\u0000"]`, false},
		{"half of a pair", `["\ud83d"]`, "[\"\ufffd\"]", false},
		{"backslash at the end", `["a\`, `["a"]`, false},
		{"output that is none", `[1]`, `[1`, false},
		{"output with a lone surrogate", `["\ud800"]`, `["\ud800"]`, false},
		{"hidden by a comment", `[1 /*, 2*/]`, `[1,2]`, false},
		{"empty source", ``, `[]`, false},
	} {
		if got := sameTokens(c.source, c.out); got != c.want {
			t.Errorf("%s: %s and %s: %t", c.name, c.source, c.out, got)
		}
	}
}

// TestSameTokensProperties: sound JSON says the same as itself, and another value does not.
func TestSameTokensProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genValue(3).Draw(t, "a"), genValue(3).Draw(t, "b")
		if !sameTokens(a, a) || !sameTokens(strings.ReplaceAll(a, ",", " , // and\n"), a) {
			t.Fatalf("%s is not itself", a)
		}
		if sameTokens(a, b) && a != b {
			t.Fatalf("%s says the same as %s", a, b)
		}
	})
}
