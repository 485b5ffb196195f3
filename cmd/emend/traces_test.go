package main

import (
	"strings"
	"testing"
)

func TestWhereTracesGo(t *testing.T) {
	for _, c := range []struct{ endpoint, env, traces, want string }{
		{"", "", "", ""}, {"http://a:4318", "", "", "http://a:4318/v1/traces"}, {"http://a:4318/", "http://b", "http://c/x", "http://a:4318/v1/traces"},
		{"", "https://b/otlp", "", "https://b/otlp/v1/traces"}, {"", "https://b", "http://c/x", "http://c/x"},
	} {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.env)
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.traces)
		if got, err := tracesURL(c.endpoint); err != nil || got != c.want {
			t.Errorf("%+v: %q %v", c, got, err)
		}
	}
	for _, bad := range []string{"collector:4318", "ftp://x", "http://", "http://%zz"} {
		if _, err := tracesURL(bad); err == nil || !strings.Contains(err.Error(), "such as http://collector:4318") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestHeadersOfTraces(t *testing.T) {
	h, err := otlpHeaders("api-key=a%20b, X-Other=c=d ,")
	if err != nil || h.Get("Api-Key") != "a b" || h.Get("X-Other") != "c=d" {
		t.Errorf("%v %v", h, err)
	}
	for _, bad := range []string{"SECRET", "=SECRET", "a=SECRET%zz"} {
		if _, err := otlpHeaders(bad); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
