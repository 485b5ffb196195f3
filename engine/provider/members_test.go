package provider

import (
	"strings"
	"testing"
)

func TestMembersSendWhatIsSet(t *testing.T) {
	var e Encoder
	e.Open('{')
	e.FloatMember("a", nil)
	e.FloatMember("b", new(0.0))
	e.IntMember("c", nil)
	e.IntMember("d", new(int64(0)))
	e.TextsMember("e", nil)
	e.TextsMember("f", []string{})
	e.TextsMember("g", []string{"x", "é\""})
	e.CacheControl("")
	e.CacheControl(CacheHour)
	e.Close('}')
	want := `{"b":0,"d":0,"f":[],"g":["x","é\""],"cache_control":{"type":"ephemeral","ttl":"1h"}}`
	if got := string(e.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCacheTTLHoldsTheLifetime(t *testing.T) {
	for lifetime, want := range map[string]string{"1s": "5m", "90s": "5m", "5m": "5m", "5m0s": "5m", "301s": "1h", "1h": "1h", "24h": "1h", "7d": "1h"} {
		if got := CacheTTL(lifetime); got != want {
			t.Errorf("%s goes out as %s, want %s", lifetime, got, want)
		}
	}
}

func TestWireName(t *testing.T) {
	for name, want := range map[string]string{"": "output", "a_B-9": "a_B-9", "a.b": "", "é": "", strings.Repeat("x", 65): ""} {
		got, err := (&Schema{Name: name}).WireName()
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
}
