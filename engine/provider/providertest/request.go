package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"emend/engine/provider"
	"emend/schemas"
)

// quiet swallows what a server logs about handshakes that a test wants to fail.
var quiet = log.New(io.Discard, "", 0)

// Secrets that must never come back in an error's text.
const (
	plantedKey    = "sk-planted-key-0123456789"
	plantedHeader = "planted-header-value"
	plantedUser   = "planted-password"
)

// secrets plants credentials and provider text wherever a reply or a failure could echo them.
func (s Subject) secrets(t *testing.T) {
	echo := "planted: wrong key " + plantedKey
	replies := map[string]http.Handler{
		"401":       Fixture{Status: 401, Body: s.Fault(401, plantedKey, echo)},
		"429":       Fixture{Status: 429, Body: s.Fault(429, "rate_limit_exceeded", echo)},
		"500 text":  Fixture{Status: 500, Body: echo},
		"malformed": Fixture{Body: "{" + echo},
		"2xx error": Fixture{Body: s.Fault(200, plantedKey, echo)},
		"media":     Fixture{Header: map[string]string{"Content-Type": "text/" + plantedKey}, Body: "?"},
		"dropped":   drained(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	}
	for name, h := range replies {
		t.Run(name, func(t *testing.T) {
			client, ep := s.serve(t, h)
			ep.URL = strings.Replace(ep.URL, "http://", "http://user:"+plantedUser+"@", 1) + "?api-key=planted-query"
			ep.Key = func(context.Context) (string, error) { return plantedKey, nil }
			ep.Header = http.Header{"X-Gateway": {plantedHeader}}
			pe := fails(t, client, ep)
			for text := range strings.SplitSeq(pe.Error()+"\n"+causes(pe), "\n") {
				if strings.Contains(text, "planted") {
					t.Errorf("%q holds a secret", text)
				}
			}
			if strings.Contains(pe.Detail, plantedKey) {
				t.Errorf("detail %q holds the key", pe.Detail)
			}
		})
	}
}

// causes is the text of what an error wraps.
func causes(pe *provider.Error) string {
	if err := pe.Unwrap(); err != nil {
		return err.Error()
	}
	return ""
}

// request checks what goes out: well-formed, whole, the same each time, and given bytes untouched.
func (s Subject) request(t *testing.T) {
	schema := json.RawMessage("{\"type\": \"object\",\n \"properties\": {\"b\": {\"type\":\"string\", \"pattern\": \"^<a>&\"}, \"a\": {\"type\":\"integer\"}}}")
	texts := []string{Text, "", "\xff\xfe broken", "\x00\x1f\x7f", strings.Repeat("é", 3000), `\ud800 "quoted"`}
	for _, text := range texts {
		req := request()
		req.Messages = append(req.Messages, schemas.Message{Role: schemas.RoleAssistant, Content: text}, schemas.Message{Role: schemas.RoleUser, Content: "Again."})
		req.Schema = &provider.Schema{Name: "answer", Bytes: schema}
		req.Session = "s-9"
		s.checkRequest(t, req, text)
	}
	t.Run("invalid", func(t *testing.T) {
		client, ep := s.serve(t, s.Fixtures[Candidate])
		for name, req := range map[string]*provider.Request{
			"no messages": {Model: Model},
			"role":        {Model: Model, Messages: []schemas.Message{{Role: "robot", Content: "x"}}},
			"schema":      {Model: Model, Messages: request().Messages, Schema: &provider.Schema{Name: "x", Bytes: []byte(`{"a":`)}},
		} {
			if _, err := client.Do(t.Context(), ep, req); err == nil || kindOf(err) != provider.KindInvalid {
				t.Errorf("%s: got %v, want invalid_request", name, err)
			}
		}
	})
}

func kindOf(err error) provider.Kind {
	if pe, ok := provider.AsError(err); ok {
		return pe.Kind
	}
	return ""
}

func (s Subject) checkRequest(t *testing.T, req *provider.Request, text string) {
	t.Helper()
	var body []byte
	client, ep := s.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !carriesKey(r.Header) || strings.Contains(r.URL.String(), plantedKey) {
			t.Errorf("the key is in no header, or in the URL: %v, %s", r.Header, r.URL)
		}
		s.Fixtures[Candidate].ServeHTTP(w, r)
	}))
	ep.Key = func(context.Context) (string, error) { return plantedKey, nil }
	before := *req
	before.Messages = append([]schemas.Message(nil), req.Messages...)
	if _, err := client.Do(t.Context(), ep, req); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, *req) {
		t.Error("the call changed its request")
	}
	if !json.Valid(body) || !utf8.Valid(body) {
		t.Errorf("text %q makes a body that is not well-formed JSON: %q", text, body)
	}
	if carried := s.Carry(s.Options, req.Schema.Bytes); carried.Schema == nil || !bytes.Contains(body, carried.Schema) {
		t.Errorf("the schema that Carry says goes out is not in the body: %s", body)
	}
	again, err := ep.Dialect.Build(ep, req)
	if err != nil || !bytes.Equal(again.Body, body) {
		t.Errorf("a second build differs: %v", err)
	}
	if !bytes.Contains(decoded(body), decoded(quoted(text))) {
		t.Errorf("text %q is not in the body", text)
	}
}

func carriesKey(h http.Header) bool {
	for _, values := range h {
		if slices.ContainsFunc(values, func(v string) bool { return strings.HasSuffix(v, plantedKey) }) {
			return true
		}
	}
	return false
}

func quoted(s string) []byte {
	raw, err := schemas.Marshal(s)
	if err != nil {
		return nil
	}
	return raw
}

// decoded is JSON in the form that encoding/json gives it, so that two encoders can be compared.
func decoded(raw []byte) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return bytes.Trim(out, `"`)
}
