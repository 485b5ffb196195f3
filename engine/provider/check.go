package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"emend/schemas"
)

var roles = []string{schemas.RoleDeveloper, schemas.RoleSystem, schemas.RoleUser, schemas.RoleAssistant}

// Check refuses what no dialect can build: no model, no messages, a role or content out of form, a setting that is no
// finite number. Its error names the field. Every Build begins with it.
func (r *Request) Check() error {
	if r.Model == "" {
		return errors.New("model is empty: the profile must name one")
	}
	if len(r.Messages) == 0 {
		return errors.New("messages is empty")
	}
	for i, m := range r.Messages {
		if !slices.Contains(roles, m.Role) {
			return fmt.Errorf("messages[%d].role is %q, not developer, system, user or assistant", i, m.Role)
		}
		if m.Parts != nil && !WellFormed(m.Parts, Array) {
			return fmt.Errorf("messages[%d].content is not an array of parts in well-formed JSON", i)
		}
	}
	s := r.Settings
	for i, f := range []*float64{s.Temperature, s.TopP, s.FrequencyPenalty, s.PresencePenalty} {
		if f != nil && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
			return fmt.Errorf("settings.%s is not a finite number", [...]string{"temperature", "top_p", "frequency_penalty", "presence_penalty"}[i])
		}
	}
	return nil
}

// WellFormed says whether given bytes are one JSON value of a kind, in UTF-8, so that they can go into a body untouched.
func WellFormed(raw json.RawMessage, kind ValueKind) bool {
	v, ok := Parse(raw)
	return ok && v.Kind() == kind && utf8.Valid(raw)
}

// BodySize guesses the size of a request's body, with room for escapes, for Encoder.Grow.
func (r *Request) BodySize() int {
	n := 256
	for _, m := range r.Messages {
		n += len(m.Content) + len(m.Content)/8 + len(m.Parts) + 64
	}
	if r.Schema != nil {
		n += len(r.Schema.Bytes)
	}
	return n
}
