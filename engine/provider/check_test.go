package provider

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"emend/schemas"
)

func TestRequestCheck(t *testing.T) {
	user := []schemas.Message{{Role: "user", Content: "q"}}
	cases := map[string]*Request{
		"model is empty":                 {Messages: user},
		"messages is empty":              {Model: "m"},
		`messages[1].role is "tool"`:     {Model: "m", Messages: append(user[:1:1], schemas.Message{Role: "tool"})},
		"messages[0].content is not":     {Model: "m", Messages: []schemas.Message{{Role: "user", Parts: json.RawMessage(`[{]`)}}},
		"an array of parts":              {Model: "m", Messages: []schemas.Message{{Role: "user", Parts: json.RawMessage(`{}`)}}},
		"well-formed":                    {Model: "m", Messages: []schemas.Message{{Role: "user", Parts: json.RawMessage("[\"\xff\"]")}}},
		"settings.temperature":           {Model: "m", Messages: user, Settings: schemas.Settings{Temperature: new(math.Inf(1))}},
		"settings.top_p is not a finite": {Model: "m", Messages: user, Settings: schemas.Settings{TopP: new(math.NaN())}},
	}
	for want, r := range cases {
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	fine := &Request{Model: "m", Messages: []schemas.Message{{Role: "developer"}, {Role: "system"}, {Role: "user", Parts: json.RawMessage(`[]`)}, {Role: "assistant"}},
		Settings: schemas.Settings{Temperature: new(0.0)}}
	if err := fine.Check(); err != nil {
		t.Error(err)
	}
}
