package schemas

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestMessageForms(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Message
	}{
		{`{"role":"user","content":"a <b> & \u00e9"}`, Message{Role: RoleUser, Content: "a <b> & é"}},
		{`{"role":"user","content":""}`, Message{Role: RoleUser}},
		{`{"role":"system","content":"x","cache":"5m"}`, Message{Role: RoleSystem, Content: "x", Cache: "5m"}},
		{`{"role":"user","content":[{"type":"image","n":1.50}]}`, Message{Role: RoleUser, Parts: json.RawMessage(`[{"type":"image","n":1.50}]`)}},
	} {
		var m Message
		if err := json.Unmarshal([]byte(c.in), &m); err != nil || !reflect.DeepEqual(m, c.want) {
			t.Errorf("%s: %+v, %v", c.in, m, err)
		}
		b, err := Marshal(m)
		if want := strings.ReplaceAll(c.in, `\u00e9`, "é"); err != nil || string(b) != want {
			t.Errorf("written as %s, want %s, %v", b, want, err)
		}
	}
}

func TestMessageRefusals(t *testing.T) {
	for in, want := range map[string]string{
		`{"role":"user"}`:                                "content is missing",
		`{"role":"user","content":null}`:                 "content is missing",
		`{"role":"user","content":5}`:                    "must be a string or an array of parts",
		`{"role":"user","content":{}}`:                   "must be a string or an array of parts",
		`{"role":"user","content":[]}`:                   "the array of parts is empty",
		`{"role":"user","content":[{"type":"a"},{}]}`:    "content[1].type is missing",
		`{"role":"user","content":["a"]}`:                `must hold objects with a string "type"`,
		`{"role":"user","content":[{"type":{"a":"b"}}]}`: `must hold objects with a string "type"`,
	} {
		var m Message
		if err := json.Unmarshal([]byte(in), &m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestMarshalKeepsItsText(t *testing.T) {
	if b, err := Marshal(map[string]string{"a": "<&>"}); err != nil || string(b) != `{"a":"<&>"}` {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function has a JSON form")
	}
}

// TestOver: every field of o replaces that of s, and neither is changed.
func TestOver(t *testing.T) {
	s := Settings{Temperature: new(1.0), Seed: new(int64(1)), Stop: []string{"a"}}
	if got := s.Over(nil); !reflect.DeepEqual(got, s) {
		t.Errorf("%+v", got)
	}
	o := Settings{Temperature: new(0.0), TopP: new(0.5), MaxOutputTokens: new(int64(0)), Seed: new(int64(2)), Stop: []string{},
		FrequencyPenalty: new(0.1), PresencePenalty: new(0.2), ReasoningEffort: new("low")}
	if got := s.Over(&o); !reflect.DeepEqual(got, o) {
		t.Errorf("%+v", got)
	}
	for i := range reflect.TypeFor[Settings]().NumField() {
		if reflect.ValueOf(o).Field(i).IsNil() {
			t.Errorf("%s is not covered", reflect.TypeFor[Settings]().Field(i).Name)
		}
	}
	if got := s.Over(&Settings{}); !reflect.DeepEqual(got, s) || *s.Temperature != 1 {
		t.Errorf("%+v", got)
	}
}

func TestUsageSum(t *testing.T) {
	var u UsageSum
	if got := u.Usage(); got.Complete || got.Calls != 0 {
		t.Errorf("of no call: %+v", got)
	}
	u.Add(&Tokens{Input: new(int64(10)), Output: new(int64(0)), Cached: new(int64(4)), Other: map[string]float64{"audio": 1.5}})
	before := u
	u.Add(&Tokens{Input: new(int64(5)), Output: new(int64(7)), Other: map[string]float64{"audio": 1}})
	got := u.Usage()
	if *got.Input != 15 || *got.Output != 7 || *got.Cached != 4 || got.Reasoning != nil || got.Other["audio"] != 2.5 ||
		!got.Complete || fmt.Sprint(got.Partial) != "[cached_tokens]" || got.Calls != 2 {
		t.Errorf("%+v", got)
	}
	if *before.Sum.Input != 10 || before.Reported["input_tokens"] != 1 || before.Sum.Other["audio"] != 1.5 {
		t.Error("a copy of the sum was changed")
	}
	u.Add(nil)
	u.Add(&Tokens{})
	if got = u.Usage(); got.Complete || got.CallsWithoutUsage != 2 || fmt.Sprint(got.Partial) != "[audio cached_tokens input_tokens output_tokens]" {
		t.Errorf("%+v", got)
	}
}
