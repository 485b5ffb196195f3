package schemas

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// What is appended is what Marshal writes: every field alone, and any of them together. A field that AppendJSON leaves out
// fails here.
func TestAppendedIsMarshalled(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[Event](), reflect.TypeFor[Result](), reflect.TypeFor[Message](), reflect.TypeFor[Request]()} {
		t.Run(typ.Name(), func(t *testing.T) {
			for i := range typ.NumField() {
				rapid.Check(t, func(rt *rapid.T) {
					v := reflect.New(typ)
					filled(rt, v.Elem().Field(i), false)
					appended(rt, v)
				})
			}
			rapid.Check(t, func(rt *rapid.T) {
				v := reflect.New(typ)
				filled(rt, v.Elem(), true)
				appended(rt, v)
			})
		})
	}
}

func appended(rt *rapid.T, v reflect.Value) {
	want, err := Marshal(v.Interface())
	if err != nil {
		rt.Fatal(err)
	}
	got, err := v.Interface().(interface {
		AppendJSON([]byte) ([]byte, error)
	}).AppendJSON([]byte("before"))
	if err != nil {
		rt.Fatal(err)
	}
	if string(got) != "before"+string(want) {
		rt.Fatalf("appended %s\nMarshal  %s", got, want)
	}
}

var (
	texts = rapid.OneOf(rapid.StringN(1, 12, -1), rapid.SampledFrom([]string{"a\nb\t\"c\"\\", "<&>\u2028\u2029", "\x00\x1f\x7f\b\f\r", "\xff\xc3(", "päck 🎁", "\ufffd"}))
	raws  = rapid.SampledFrom([]string{`{"a": [1, 2.50, "x y"] }`, ` "t" `, `"t\"\u2028\n<"`, `[]`, `null`, `1e-7`})
)

// filled fills a value; with some, about half of its fields stay empty.
func filled(rt *rapid.T, v reflect.Value, some bool) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(0, 1<<33).Draw(rt, "s"), rapid.Int64Range(0, 999_999_999).Draw(rt, "ns")).UTC()))
		return
	case json.RawMessage:
		v.SetBytes([]byte(raws.Draw(rt, "raw")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts.Draw(rt, "text"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(rt, "n"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(rt, "n"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-1e20, 1e20).Draw(rt, "f"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(rt, v.Elem(), some)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(rt, "len"), 3))
		for i := range v.Len() {
			filled(rt, v.Index(i), some)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		filled(rt, e, some)
		v.SetMapIndex(reflect.ValueOf(texts.Draw(rt, "key")), e)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if !some || rapid.Bool().Draw(rt, "set") {
				filled(rt, field, some)
			}
		}
	default:
		rt.Fatalf("a field of type %s: teach the test to fill it", v.Type())
	}
}

func TestAppendedErrors(t *testing.T) {
	bad := json.RawMessage(`{"a":`)
	for name, v := range map[string]interface {
		AppendJSON([]byte) ([]byte, error)
	}{
		"event":   &Event{Findings: []EventFinding{{Expected: bad}}},
		"year":    &Event{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"result":  &Result{Output: bad},
		"message": Message{Role: RoleUser, Parts: bad},
	} {
		if b, err := v.AppendJSON(nil); err == nil {
			t.Errorf("%s: %s", name, b)
		}
	}
}

// A string needs no other escape than Marshal's, and a long one is written in pieces.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\u2028<\xff\x00\"\\", strings.Repeat("ä\n", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendString(nil, s); !bytes.Equal(got, want) {
			t.Errorf("%s\nMarshal %s", got, want)
		}
	})
}

// What was written is read again: a short escape by hand, a long one by encoding/json.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`""`, `"plain"`, `"\n\t\"\\\/\b\f\r"`, `"a\u00e4\ud83c\udf81b"`, `"\ud800"`, `"ä\\"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var want string
		if len(b) == 0 || b[0] != '"' || !utf8.Valid(b) || json.Unmarshal(b, &want) != nil {
			return
		}
		b = bytes.TrimSpace(b)
		if got := Unquote(b); got != want {
			t.Errorf("%s: %q, want %q", b, got, want)
		}
	})
}
