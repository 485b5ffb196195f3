package provider

import (
	"errors"
	"strings"
	"time"
)

// FloatMember writes a member, or nothing if f is nil: what is not set is not sent.
func (e *Encoder) FloatMember(name string, f *float64) {
	if f != nil {
		e.Key(name)
		e.Float(*f)
	}
}

// IntMember writes a member, or nothing if n is nil.
func (e *Encoder) IntMember(name string, n *int64) {
	if n != nil {
		e.Key(name)
		e.Int(*n)
	}
}

// TextsMember writes an array of texts, or nothing if texts is nil.
func (e *Encoder) TextsMember(name string, texts []string) {
	if texts == nil {
		return
	}
	e.Key(name)
	e.Open('[')
	for _, text := range texts {
		e.String(text)
	}
	e.Close(']')
}

// The two cache lifetimes of cache_control, which Anthropic made and OpenRouter took over.
const (
	CacheMinutes = "5m"
	CacheHour    = "1h"
)

// CacheTTL is the lifetime of cache_control that holds a message's, which is a duration such as 90s: an hour for whatever
// is longer than five minutes.
func CacheTTL(lifetime string) string {
	if d, err := time.ParseDuration(lifetime); err == nil && d <= 5*time.Minute {
		return CacheMinutes
	}
	return CacheHour
}

// CacheControl writes the member cache_control, or nothing if ttl is "".
func (e *Encoder) CacheControl(ttl string) {
	if ttl == "" {
		return
	}
	e.Key("cache_control")
	e.Open('{')
	e.Key("type")
	e.String("ephemeral")
	e.Key("ttl")
	e.String(ttl)
	e.Close('}')
}

// WireName is the schema's name, "output" if it has none; an error if no provider would take it.
func (s *Schema) WireName() (string, error) {
	if s.Name == "" {
		return "output", nil
	}
	if Code(s.Name) == "" || strings.Contains(s.Name, ".") {
		return "", errors.New("the schema's name must have at most 64 characters of [A-Za-z0-9_-]")
	}
	return s.Name, nil
}
