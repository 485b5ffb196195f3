package prompts

import (
	"encoding/json"
	"errors"
	"fmt"

	"emend/engine/provider"
	"emend/engine/provider/dialects"
)

// Carriage says how one dialect carries a schema as its provider's native constraint.
type Carriage struct {
	Dialect string
	// Backend is the backend whose options were taken; "" for the dialect's defaults.
	Backend string
	provider.Carried
}

// Portability says for every dialect, in the order of the docs, how it carries a schema. The dialect of own, if it names
// one, answers with that backend's options, all others with their defaults. The schema is judged here whatever is carried.
func Portability(schema []byte, own Backend) []Carriage {
	var out []Carriage
	for _, name := range dialects.Names() {
		entry, err := dialects.Lookup(name)
		if err != nil {
			continue
		}
		c := Carriage{Dialect: name}
		var options map[string]any
		if own.Dialect == name {
			c.Backend, options = own.Name, own.Options
		}
		c.Carried = entry.Carry(options, schema)
		out = append(out, c)
	}
	return out
}

// Schema returns the schema of a prompt's contract and the backend of its profile, which is the zero Backend if the prompt
// leaves the profile to its requests. ref is "id" (its newest version) or "id@version".
func (s *Snapshot) Schema(ref string) (json.RawMessage, Backend, error) {
	c, p := s.find(ref)
	if p != nil {
		return nil, Backend{}, errors.New(p.Message)
	}
	if c.output.Schema == nil {
		return nil, Backend{}, fmt.Errorf("prompt %s has no schema: its output mode is %s", c.ref(), c.output.Mode)
	}
	b, _ := s.backend(s.config.Profiles[c.def.Profile].Backend)
	return c.output.Schema, b, nil
}
