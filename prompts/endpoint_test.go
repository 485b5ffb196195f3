package prompts

import (
	"strings"
	"testing"

	"emend/schemas"
)

// Seed 003: endpoint-only profiles stay supported, and unlimited.
func TestAProfileMayBringItsOwnEndpoint(t *testing.T) {
	s, err := NewSnapshot(Definitions{Config: Config{
		Backends: map[string]Backend{"shared": {Dialect: "openai", URL: "http://shared.test/v1"}},
		Profiles: map[string]Profile{"Own.1": {Model: "m", Endpoint: &Backend{Dialect: "openai", URL: "http://own.test/v1"}}, "s": {Backend: "shared", Model: "m"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if names := s.Config().BackendNames(); len(names) != 1 || names[0] != "shared" {
		t.Errorf("NATS would reach %v", names)
	}
	own := s.Endpoints()
	if len(own) != 1 || own[0].URL != "http://own.test/v1" || own[0].Permits != 0 || own[0].CallTimeout == 0 {
		t.Errorf("endpoints %+v", own)
	}
	p, err := s.Plan(schemas.Request{Profile: "Own.1", Messages: []schemas.Message{{Role: schemas.RoleUser, Content: "x"}}}, Origin{Library: true})
	if err != nil || p.Backend != own[0].Name || s.CallTimeout("Own.1") != own[0].CallTimeout {
		t.Errorf("%v, %+v", err, p)
	}
	if _, err := s.Plan(schemas.Request{Profile: "Own.1", Messages: []schemas.Message{{Role: schemas.RoleUser, Content: "x"}}},
		Origin{ID: "i", Queue: "default", Backend: "shared"}); err == nil || !strings.Contains(err.Error(), "belongs to backend") {
		t.Errorf("over NATS: %v", err)
	}
}

func TestAnEndpointIsCheckedLikeABackend(t *testing.T) {
	for want, p := range map[string]Profile{
		"url":        {Model: "m", Endpoint: &Backend{Dialect: "openai"}},
		"dialect":    {Model: "m", Endpoint: &Backend{Dialect: "odd", URL: "http://x.test"}},
		"not both":   {Model: "m", Backend: "b", Endpoint: &Backend{Dialect: "openai", URL: "http://x.test"}},
		"is missing": {Model: "m"},
	} {
		_, err := NewSnapshot(Definitions{Config: Config{Backends: map[string]Backend{"b": {Dialect: "openai", URL: "http://b.test"}}, Profiles: map[string]Profile{"p": p}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
