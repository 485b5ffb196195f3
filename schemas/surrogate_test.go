package schemas

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Half of a surrogate pair is refused wherever it stands, with its place: it would become another character without a word.
func TestHalvesOfSurrogatePairsAreRefused(t *testing.T) {
	for body, path := range map[string]string{
		`{"messages":[{"role":"user","content":"a \ud800 b"}]}`:                                           "messages[0].content",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"\udc00"}]}]}`:                      "messages[0].content[0].text",
		`{"prompt":"p","inputs":{"document":"\uD83D"}}`:                                                   "inputs.document",
		`{"prompt":"p","inputs":{"deep":{"x":[1,{"y":"\ud83d\ud83d\ude00"}]}}}`:                           "inputs.deep.x[1].y",
		`{"prompt":"p","output":{"mode":"json_schema","schema":{"enum":["\ud83d\u0041"]}}}`:               "output.schema.enum[0]",
		`{"prompt":"p","metadata":{"tenant":"\\\ud800"}}`:                                                 "metadata.tenant",
		`{"prompt":"p","session_id":"\ud800"}`:                                                            "session_id",
		"{\"prompt\":\"p\",\"inputs\":{ \"a\" : [ \"x\" , \"\\udfff\" ] , \"b\" : \"\\ud83d\\ude00\" } }": "inputs.a[1]",
	} {
		_, err := DecodeRequest([]byte(body))
		e, ok := errors.AsType[*DecodeError](err)
		if !ok || len(e.Problems) != 1 || e.Problems[0].Path != path || !strings.Contains(e.Problems[0].Message, "half of a surrogate pair") {
			t.Errorf("%s: %v", body, err)
		}
	}
	_, err := DecodeRequest([]byte(`{"prompt":"p","inputs":{"\ud800":1,"a":"\ud800"}}`))
	if e, ok := errors.AsType[*DecodeError](err); !ok || len(e.Problems) != 2 || !strings.HasPrefix(e.Problems[0].Message, "the name holds") {
		t.Errorf("a name: %v", err)
	}
	for _, body := range []string{`{"id":"x","inputs":{"a":"\ud800"}}`, `{"custom_id":"x","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"\ud800"}]}}`} {
		if _, err := DecodeBatchLine([]byte(body)); err == nil || !strings.Contains(err.Error(), "surrogate") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// What only looks like one is taken as it is.
func TestWholeCharactersAreTaken(t *testing.T) {
	for _, text := range []string{`\ud83d\ude00`, `\uD83D\uDE00x`, `\\ud800`, `\\\\udfff`, `\u0041\ud7ff\ue000`, `ud800`, `\"\ud83d\ude00\"`, `\ufffd`, "\ufffd", "😀"} {
		if _, err := DecodeRequest([]byte(`{"prompt":"p","inputs":{"a":"` + text + `","` + text + `":1}}`)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzSurrogates: a string is refused exactly if decoding it brings in a replacement character that it does not have.
func FuzzSurrogates(f *testing.F) {
	for _, seed := range []string{`"\ud800"`, `"\ud83d\ude00"`, `"\ufffd\udc00"`, `"\\ud800"`, `"\ud800\\udc00"`, `"\uDBFF\uDFFF\uDBFF"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s string
		if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &s) != nil || !strings.HasPrefix(text, `"`) || !strings.HasSuffix(text, `"`) {
			return
		}
		written := strings.Count(text, "\ufffd") + strings.Count(strings.ToLower(strings.ReplaceAll(text, `\\`, "")), `\ufffd`)
		if got, want := CheckSurrogates([]byte(text)) != nil, strings.Count(s, "\ufffd") != written; got != want {
			t.Errorf("%q: refused %v, decodes to %q", text, got, s)
		}
	})
}
