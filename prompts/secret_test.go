package prompts

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSecret(t *testing.T) {
	t.Setenv("EMEND_TEST_KEY", "s3cret")
	t.Setenv("EMEND_TEST_LINES", "s3cret\nmore")
	dir := folder{
		"key":   "s3cret\r\n",
		"empty": "\n",
		"lines": "s3cret\nmore",
		"big":   strings.Repeat("s3cret", 20000),
	}.write(t)
	file := func(name string) Secret { return Secret{File: filepath.Join(dir, name)} }
	for _, s := range []Secret{{Env: "EMEND_TEST_KEY"}, file("key")} {
		if v, err := s.Resolve(t.Context()); v != "s3cret" || err != nil {
			t.Errorf("%+v: %q, %v", s, v, err)
		}
	}
	for _, s := range []Secret{
		{},
		{Env: "EMEND_TEST_NOT_SET"},
		{Env: "EMEND_TEST_LINES"},
		file("empty"),
		file("lines"),
		file("big"),
		file("nothere"),
		{File: dir},
	} {
		v, err := s.Resolve(t.Context())
		if err == nil || v != "" || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), s.Env+s.File) {
			t.Errorf("%+v: %q, %v", s, v, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := file("key").Resolve(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestEndpoint(t *testing.T) {
	s, err := LoadDir("testdata/good")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TENANT", "a")
	b, _ := s.Backend("router")
	e, err := b.Endpoint()
	if err != nil || e.URL != "https://openrouter.ai/api/v1" || e.Header.Get("X-Tenant") != "a" || e.Header.Get("HTTP-Referer") != "https://example.com" ||
		e.Key == nil || e.KeyHeader != "X-Api-Key" || !slices.Equal(e.Secrets, []string{"a"}) || e.MaxBody != 32<<20 || e.Timeout.Seconds() != 120 || e.Dialect == nil || e.Backend != "router" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := e.Key(t.Context()); err == nil || !strings.Contains(err.Error(), "/run/secrets/openrouter") {
		t.Errorf("the key is read at execution: %v", err)
	}
	t.Setenv("TENANT", "")
	if _, err := b.Endpoint(); err == nil || !strings.Contains(err.Error(), "headers.X-Tenant: environment variable TENANT") {
		t.Errorf("%v", err)
	}
	demo, _ := s.Backend("demo")
	if e, err := demo.Endpoint(); err != nil || e.Transport == nil || e.Key != nil || e.URL == "" {
		t.Errorf("scripted: %+v, %v", e, err)
	}
	azure := Backend{Dialect: "openai", URL: "https://h/openai/deployments/d/", Query: map[string]string{"api-version": "2024-10-21", "a": "b c"}}
	if e, err := azure.Endpoint(); err != nil || e.URL != "https://h/openai/deployments/d?a=b+c&api-version=2024-10-21" {
		t.Errorf("%+v, %v", e, err)
	}
	for _, bad := range []Backend{
		{Dialect: "?"},
		{Dialect: "scripted", Options: map[string]any{"script": "{"}},
	} {
		if _, err := bad.Endpoint(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
