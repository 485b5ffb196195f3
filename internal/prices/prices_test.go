package prices

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"emend/schemas"
)

func table(t *testing.T) *Table {
	t.Helper()
	b, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func tokens(in, out, cached, written int64) *schemas.Tokens {
	return &schemas.Tokens{Input: &in, Output: &out, Cached: &cached, CacheWritten: &written}
}

// The table is of a day, says where it is from, and knows the models that the documentation names.
func TestTheBuiltinTable(t *testing.T) {
	b := table(t)
	if b.Date < "2026-11-30" || !strings.Contains(b.Source, "genai-prices") || !strings.HasPrefix(b.Licence, "MIT") {
		t.Errorf("%s %s %s", b.Date, b.Source, b.Licence)
	}
	for url, want := range map[string]string{"https://api.openai.com/v1": "openai", "https://api.anthropic.com": "anthropic", "https://generativelanguage.googleapis.com/v1beta": "google",
		"https://x.openai.azure.com/openai/v1": "azure", "https://api.groq.com/openai/v1": "groq", "http://localhost:11434": "", "https://evil.example/?https://api.openai.com": ""} {
		if got := b.Provider(url); got != want {
			t.Errorf("%s is %q", url, got)
		}
	}
	whole, err := Parse(builtin)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole.Providers { // each is read when it is asked for, and is what the whole says
		want := &whole.Providers[i]
		got := b.provider(want.ID)
		if got == nil || got.ID != want.ID || got.URL != want.URL || !slices.Equal(got.Also, want.Also) || len(got.Models) == 0 || !reflect.DeepEqual(got.Models, want.Models) {
			t.Errorf("%s, with %d models, is not what it is read as alone", want.ID, len(want.Models))
		}
	}
	if len(b.Providers) != len(whole.Providers) {
		t.Errorf("%d providers, want %d", len(b.Providers), len(whole.Providers))
	}
	for _, c := range [][2]string{{"openai", "gpt-4o-mini"}, {"openai", "GPT-4o-mini-2024-07-18"}, {"anthropic", "claude-sonnet-4-6"}, {"google", "gemini-2.5-pro"}, {"azure", "gpt-4o-mini"}} {
		if b.Find(c[0], c[1]) == nil {
			t.Errorf("%v has no price", c)
		}
	}
	for _, c := range [][2]string{{"openai", "my-own"}, {"nobody", "gpt-4o-mini"}, {"anthropic", "gpt-4o-mini"}, {"openai", ""}} {
		if p := b.Find(c[0], c[1]); p != nil {
			t.Errorf("%v has the price of %s", c, p.Model())
		}
	}
}

// Many may ask at once, of a table that nobody has read yet.
func TestTheBuiltinTableIsReadByManyAtOnce(t *testing.T) {
	Forget()
	b := table(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, id := range []string{"openai", "google", "anthropic", "openai"} {
				if b.Provider("https://api.openai.com/v1") != "openai" || !b.Has(id) || b.Find(id, "gpt-4o-mini") == nil != (id != "openai") {
					t.Errorf("%s: not as read alone", id)
				}
			}
		})
	}
	all.Wait()
}

func TestWhatACallCosts(t *testing.T) {
	b := table(t)
	mini, pro := b.Find("openai", "gpt-4o-mini"), b.Find("google", "gemini-2.5-pro")
	for _, c := range []struct {
		price *Price
		t     *schemas.Tokens
		want  string
	}{
		{mini, tokens(1_000_000, 0, 0, 0), "0.15"},
		{mini, tokens(1_000_000, 1_000_000, 400_000, 0), "0.72"}, // 0.6 of 0.15, 0.4 of 0.075, 0.6
		{mini, tokens(1830, 212, 0, 0), "0.0004017"},
		{pro, tokens(200_000, 1000, 0, 0), "0.26"},
		{pro, tokens(200_001, 1000, 0, 0), "0.5150025"}, // the dearer tier, for all of its tokens
	} {
		if got, ok := c.price.Of(c.t); !ok || got.String() != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if _, ok := mini.Of(&schemas.Tokens{Output: new(int64(1))}); ok {
		t.Error("a call that does not tell its input has a cost")
	}
	if _, ok := (*Price)(nil).Of(tokens(1, 1, 0, 0)); ok {
		t.Error("no price is a price")
	}
}

// No call costs more than AtMost said before it.
func TestAtMostIsABound(t *testing.T) {
	b := table(t)
	all := []*Price{b.Find("openai", "gpt-4o-mini"), b.Find("google", "gemini-2.5-pro"), b.Find("anthropic", "claude-sonnet-4-6"), b.Find("anthropic", "claude-3-5-haiku-latest")}
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom(all).Draw(rt, "model")
		in, out := rapid.Int64Range(0, 1_000_000).Draw(rt, "in"), rapid.Int64Range(0, 100_000).Draw(rt, "out")
		cached := rapid.Int64Range(0, in).Draw(rt, "cached")
		most := p.AtMost(in, out)
		used := rapid.Int64Range(cached, in).Draw(rt, "used")
		if got, ok := p.Of(tokens(used, rapid.Int64Range(0, out).Draw(rt, "told"), cached, used-cached)); !ok || got > most {
			rt.Errorf("%s of at most %s", got, most)
		}
	})
}

func TestBadTables(t *testing.T) {
	const head = `{"currency":"USD","providers":[{"id":"p","url":"x","models":[`
	for text, want := range map[string]string{
		`{}`:                 "currency must be USD",
		`{"currency":"EUR"}`: "currency must be USD",
		`{"curency":"USD"}`:  "unknown field",
		`nope`:               "near byte",
		head + `{"id":"m","match":{"equals":"m"},"input":-1,"output":1}]}]}`:                                                "a price must be a number of US dollars from 0",
		head + `{"id":"m","match":{"equals":"m"},"input":1,"output":"1"}]}]}`:                                               "a price must be",
		head + `{"id":"m","match":{},"input":1,"output":1}]}]}`:                                                             "model m: match: give exactly one",
		head + `{"id":"m","match":{"or":[{"regex":"("}]},"input":1,"output":1}]}]}`:                                         "model m: match: error parsing regexp",
		head + `{"id":"m","match":{"not":{"equals":"a","contains":"b"}},"input":1,"output":1}]}]}`:                          "give exactly one",
		head + `{"id":"m","match":{"equals":"m"},"input":1,"output":1,"above":[{"input_tokens":9},{"input_tokens":8}]}]}]}`: "above must ascend",
		`{"currency":"USD","providers":[{"url":"x","models":[]}]}`:                                                          "has no id",
		`{"currency":"USD","providers":[{"id":"p","url":"(","models":[]}]}`:                                                 "provider p: url",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		r    rule
		name string
		want bool
	}{
		{rule{Equals: "A"}, "a", true}, {rule{StartsWith: "a"}, "ab", true}, {rule{EndsWith: "a"}, "ab", false}, {rule{Contains: "b"}, "abc", true},
		{rule{Regex: "^A.c$"}, "abc", true}, {rule{Not: &rule{Contains: "b"}}, "abc", false}, {rule{And: []rule{{Contains: "a"}, {Contains: "z"}}}, "abc", false},
		{rule{And: []rule{{Contains: "a"}, {Contains: "c"}}}, "abc", true}, {rule{Or: []rule{{Equals: "x"}, {EndsWith: "c"}}}, "abc", true}, {rule{Or: []rule{{Equals: "x"}}}, "abc", false},
	} {
		if err := c.r.compile(); err != nil {
			t.Fatal(err)
		}
		if got := c.r.matches(c.name); got != c.want {
			t.Errorf("%+v of %s is %v", c.r, c.name, got)
		}
	}
}
