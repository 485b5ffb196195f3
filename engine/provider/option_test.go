package provider

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
)

func TestCheckOptions(t *testing.T) {
	known := []Option{{Name: "mode", Words: []string{"a", "b"}}, {Name: "n", Check: func(v any) error {
		if _, ok := v.(int); !ok {
			return errors.New("must be a number")
		}
		return nil
	}}}
	if err := CheckOptions("x", known, map[string]any{"mode": "b", "n": 1}); err != nil {
		t.Error(err)
	}
	err := CheckOptions("x", known, map[string]any{"mode": 1, "n": "1", "nn": 1})
	want := "options.mode: must be one of a, b\noptions.n: must be a number\noptions.nn: dialect x has no such option; it has mode, n"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	ep := &Endpoint{Options: map[string]any{"mode": "b"}}
	if ep.Word(known[0]) != "b" || (&Endpoint{}).Word(known[0]) != "a" {
		t.Error("an option's word or default is lost")
	}
}

func TestDetailAndCode(t *testing.T) {
	long := strings.Repeat("é", DetailLimit)
	if got := Detail("x" + long); len(got) != DetailLimit-1 || !strings.HasSuffix(got, "é") {
		t.Errorf("detail has %d bytes", len(got))
	}
	for s, want := range map[string]string{"": "", "a_B-1.x": "a_B-1.x", "a b": "", "é": "", strings.Repeat("a", 65): "", "<": ""} {
		if got := Code(s); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
}

func TestStatusErrorOfOtherWires(t *testing.T) {
	cases := []struct{ body, code, detail string }{
		{`{"error":"model is busy"}`, "", "model is busy"},
		{`{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[]}}`, "RESOURCE_EXHAUSTED", "m"},
		{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "overloaded_error", "Overloaded"},
		{`{"detail":"Not Found"}`, "", "Not Found"},
		{`{"error":{"code":{"a":1},"type":7}}`, "", `{"error":{"code":{"a":1},"type":7}}`},
		{"\xff", "", "\uFFFD"},
	}
	for _, c := range cases {
		e := StatusError(&Reply{Status: 503, Body: []byte(c.body), Header: http.Header{}})
		if e.Code != c.code || e.Detail != c.detail || e.Permanent || e.Account {
			t.Errorf("%s: %+v", c.body, e)
		}
	}
}

func TestErrorText(t *testing.T) {
	e := &Error{Kind: KindStatus, Backend: "b", Status: 429, Code: "c", Reason: "r", Detail: "planted"}
	if got := e.Message(); got != `backend "b": 429 c: r` {
		t.Errorf("message %q", got)
	}
	if got := fmt.Sprint(e); got != `backend "b": provider_status 429 c: r` {
		t.Error(got)
	}
}

func TestMembers(t *testing.T) {
	o := Members("body", "more members", "model")
	for _, bad := range []any{"text", nil, map[string]any{"model": "x"}, map[string]any{"f": math.Inf(1)}} {
		if err := o.Check(bad); err == nil || strings.Contains(err.Error(), "json:") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	given := map[string]any{"z": 1, "a": map[string]any{"t": "<&>"}}
	if err := o.Check(given); err != nil {
		t.Error(err)
	}
	var e Encoder
	e.Open('{')
	e.Key("model")
	e.String("m")
	for _, options := range []map[string]any{nil, {"body": given}} {
		if err := (&Endpoint{Options: options}).WriteMembers(&e, o); err != nil {
			t.Error(err)
		}
	}
	e.Close('}')
	if got := string(e.Bytes()); got != `{"model":"m","a":{"t":"<&>"},"z":1}` {
		t.Errorf("got %s", got)
	}
	if err := (&Endpoint{Options: map[string]any{"body": map[string]any{"f": math.NaN()}}}).WriteMembers(&e, o); err == nil {
		t.Error("a number without a JSON form was written")
	}
}
