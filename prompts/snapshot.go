package prompts

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"emend/engine/provider"
	"emend/engine/provider/dialects"
	"emend/internal/prices"
)

// Definitions are what a program may give instead of files. Zero values take the defaults of the files, except Permits
// and Admitted, where 0 is no bound.
type Definitions struct {
	Config  Config
	Prompts []Prompt
	// Pipelines name prompts of Prompts.
	Pipelines []Pipeline
}

// Snapshot is a checked, compiled set of definitions.
type Snapshot struct {
	config  Config
	prompts map[string][]*compiled // by id, ascending versions
	// pipelines by name, ascending versions.
	pipelines map[string][]*compiledPipeline
	// profilesOf lists the profiles of a backend, sorted.
	profilesOf map[string][]string
	warnings   []Problem
	// priceOf has the price of each profile's model, where it is known.
	priceOf map[string]*prices.Price
	// own are the endpoints of profiles, by the name of their stand-in backend.
	own map[string]Backend
}

// Config returns the configuration, which must not be changed.
func (s *Snapshot) Config() Config { return s.config }

// Warnings are what Check reports beside errors.
func (s *Snapshot) Warnings() []Problem { return slices.Clone(s.warnings) }

// Backends lists the backends by name.
func (s *Snapshot) Backends() []Backend { return byName(s.config.Backends) }

// Endpoints lists the endpoints of profiles: the engine calls them, NATS does not reach them.
func (s *Snapshot) Endpoints() []Backend { return byName(s.own) }

func (s *Snapshot) backend(name string) (Backend, bool) {
	if b, ok := s.config.Backends[name]; ok {
		return b, true
	}
	b, ok := s.own[name]
	return b, ok
}

// Backend returns the backend of that name.
func (s *Snapshot) Backend(name string) (Backend, bool) {
	b, ok := s.config.Backends[name]
	return b, ok
}

// Queues returns the queues by name; the map is the caller's.
func (s *Snapshot) Queues() map[string]Queue { return maps.Clone(s.config.Queues) }

// Profiles returns the profiles by name; the map is the caller's.
func (s *Snapshot) Profiles() map[string]Profile { return maps.Clone(s.config.Profiles) }

// OnTrouble is the backend's word, wait for one that is unknown.
func (s *Snapshot) OnTrouble(backend string) string {
	if b, ok := s.config.Backends[backend]; ok {
		return b.OnTrouble
	}
	return OnTroubleWait
}

// CallTimeout is the time limit of one call under a profile: the profile's own, else its backend's; 0 is none.
func (s *Snapshot) CallTimeout(profile string) Duration {
	p := s.config.Profiles[profile]
	if p.CallTimeout != 0 {
		return p.CallTimeout
	}
	b, _ := s.backend(p.Backend)
	return b.CallTimeout
}

// Prompts lists the prompts by id and version.
func (s *Snapshot) Prompts() []Prompt {
	var out []Prompt
	for _, id := range slices.Sorted(maps.Keys(s.prompts)) {
		for _, c := range s.prompts[id] {
			out = append(out, c.def)
		}
	}
	return out
}

// Prompt returns the definition of "id" (its newest version) or "id@version".
func (s *Snapshot) Prompt(ref string) (Prompt, bool) {
	c, p := s.find(ref)
	if p != nil {
		return Prompt{}, false
	}
	return c.def, true
}

func byName(m map[string]Backend) []Backend {
	out := make([]Backend, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[name])
	}
	return out
}

// Endpoint makes what the provider client needs. The key is resolved at each execution; headers from secrets are
// resolved now, and an error names their variable or file.
func (b Backend) Endpoint() (*provider.Endpoint, error) {
	entry, err := dialects.Lookup(b.Dialect)
	if err != nil {
		return nil, err
	}
	e := &provider.Endpoint{Backend: b.Name, Dialect: entry.New(), URL: strings.TrimRight(b.URL, "/"), KeyHeader: b.KeyHeader,
		Header: http.Header{}, Timeout: b.CallTimeout.Std(), MaxBody: int64(b.MaxBody), Options: b.Options}
	if e.URL == "" {
		e.URL = entry.URL
	}
	if len(b.Query) > 0 {
		query := url.Values{}
		for name, value := range b.Query {
			query.Set(name, value)
		}
		e.URL += "?" + query.Encode()
	}
	if !b.Key.IsZero() {
		e.Key = b.Key.Resolve
	}
	for name, v := range b.Headers {
		text, err := v.Resolve(context.Background())
		if err != nil {
			return nil, fmt.Errorf("headers.%s: %w", name, err)
		}
		e.Header.Set(name, text)
		if !v.Secret.IsZero() {
			e.Secrets = append(e.Secrets, text)
		}
	}
	if entry.Transport != nil {
		e.Transport, err = entry.Transport(b.Options)
	} else {
		e.Transport, err = b.transport()
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}
