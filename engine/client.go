package engine

import (
	"context"

	"emend/engine/provider"
)

// GenerateRequest is one generation asked of a model. Clients must not change it.
type GenerateRequest = provider.Request

// GenerateResponse is a completed generation. Text may be empty: that is a candidate too.
type GenerateResponse = provider.Response

// LLMClient makes generations. An injected client replaces the built-in providers, bounds its own response sizes and
// owns its own transient retries: the engine calls it once per generation, and attempts hidden inside it cannot be
// counted. It is called concurrently. An error that matches ErrInvalidRequest or is a *provider.Error keeps its meaning;
// any other is a transport failure. Its text never reaches events.
type LLMClient interface {
	Generate(context.Context, *GenerateRequest) (*GenerateResponse, error)
}

// builtin is the built-in HTTP client at one backend.
type builtin struct {
	http     *provider.Client
	endpoint *provider.Endpoint
}

// Generate makes one HTTP call.
func (b *builtin) Generate(ctx context.Context, r *GenerateRequest) (*GenerateResponse, error) {
	return b.http.Do(ctx, b.endpoint, r)
}
