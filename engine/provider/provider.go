// Package provider talks to language models: one HTTP client that owns timeout, body limit and redaction, and per wire
// format a Dialect, a pure pair of functions that builds a request and reads a reply. A dialect does no I/O and never
// retries; retries live in engine/run alone (seed 003).
package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"emend/schemas"
)

// Request is one generation asked of a model. It is never changed by a client: callers may reuse it for a retry.
type Request struct {
	Model    string
	Messages []schemas.Message
	Settings schemas.Settings
	// Schema asks for the provider's native constraint; nil asks for none. Modes other than json_schema never set it.
	Schema *Schema
	// Session is carried where the dialect knows sessions.
	Session string
	// Fallback asks for the schema in the dialect's second native form, after an Error with Fallback set.
	Fallback bool
}

// Schema is a JSON Schema that goes to the provider byte for byte.
type Schema struct {
	// Name has at most 64 characters of [A-Za-z0-9_-].
	Name  string
	Bytes json.RawMessage
}

// Finish reasons in one vocabulary.
const (
	FinishStop   = "stop"
	FinishLength = "length" // cut at the token limit
	FinishTool   = "tool"
	FinishOther  = "other"
)

// Response is a completed generation: Text is the candidate, which may be empty.
type Response struct {
	Text string
	// Finish is one of the Finish constants, ProviderFinish the provider's own word; both may be "".
	Finish, ProviderFinish string
	// Arguments says that Text is the arguments of a forced tool, byte for byte: findings in it are named
	// "arguments.location" (issue 3, item 2).
	Arguments bool
	// Model as the provider reports it, at most 256 bytes of it.
	Model string
	// Tokens is nil when nothing was reported.
	Tokens *schemas.Tokens
	// Hold is how long the provider says that nothing is left of its rate limit; 0 when something is, or it does not say.
	Hold time.Duration
}

// Dialect is one wire format. Both methods are pure and safe for concurrent use.
type Dialect interface {
	// Build returns the request body and the path below the endpoint's URL. Its error is an invalid request.
	Build(*Endpoint, *Request) (*Wire, error)
	// Read turns a complete reply of any status into a response, or into a *Error of kind provider_status,
	// provider_response, refused or content_filtered. It never panics, whatever the body.
	Read(*Endpoint, *Reply) (*Response, error)
}

// Wire is a request on its way out, without credentials. The client does not change it.
type Wire struct {
	// Path goes below the endpoint's URL, before that URL's query; it is escaped and may bring a query of its own.
	Path   string
	Header http.Header
	Body   []byte
	// KeyHeader carries the key if the endpoint names no header; "" means "Authorization: Bearer KEY".
	KeyHeader string
	Asked
}

// Asked is what Read must know of the request that a reply answers: the client copies it from the Wire to the Reply.
type Asked struct {
	// Tool is the name of the tool that the request forces; only its arguments are a candidate. "" forces none.
	Tool string
	// Native says that a schema went out, so that a refusal may be about it.
	Native bool
	// Fallback says that the endpoint allows a second native form, and that this request is not in it yet.
	Fallback bool
}

// Reply is what came back, whole and bounded.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
	Asked
}

// Endpoint is a backend as the client needs it. It is not changed after it is made.
type Endpoint struct {
	// Backend is the operator's name for it, for messages.
	Backend string
	Dialect Dialect
	// URL is the base URL without a trailing slash.
	URL string
	// Key resolves the credential at execution; nil sends none. Its error never holds the value.
	Key func(context.Context) (string, error)
	// KeyHeader is the header that carries it; "" means the dialect's own, which is Authorization unless its Wire says
	// otherwise. Authorization carries "Bearer KEY", or the key alone if it names a scheme of its own ("Basic ...").
	KeyHeader string
	// Header is sent with every request, after the dialect's own.
	Header http.Header
	// Secrets are values in Header that no error may show if a reply echoes them, as it must not show the key.
	Secrets []string
	// Timeout bounds one call from dial to the last byte of the body; 0 means none.
	Timeout time.Duration
	// MaxBody bounds a reply; 0 means 16 MiB.
	MaxBody int64
	// Options are the dialect's own (strict, content_parts, ...), checked when definitions are loaded.
	Options map[string]any
	// Transport replaces the client's own (the scripted provider, tests); nil means the client's. It must end a round
	// trip with the request's context; bodies that do not are closed by the client.
	Transport http.RoundTripper
}

// Kind says what went wrong with a call; the words are the error categories of the wire.
type Kind string

// Kinds of an Error.
const (
	KindStatus    Kind = schemas.CategoryProviderStatus   // a status other than 2xx
	KindMalformed Kind = schemas.CategoryProviderResponse // a 2xx that is no completion
	KindRefused   Kind = schemas.CategoryRefused
	KindFiltered  Kind = schemas.CategoryContentFiltered
	KindTransport Kind = schemas.CategoryTransport
	KindTimeout   Kind = schemas.CategoryTimeout // the call's own time limit, not the caller's
	KindInvalid   Kind = schemas.CategoryInvalidRequest
)

// Error is a failed call. Error() never holds the provider's text, a credential or content; Detail does hold the
// provider's untrusted text, for an application that decides to disclose it.
type Error struct {
	Kind    Kind
	Backend string
	Status  int
	// Code is the provider's error code or type, at most 64 characters of [A-Za-z0-9_.-]; "" if it gave none or an odd one.
	Code string
	// Reason is Emend's own words: what was wrong and where ("choices[0].message.content is null").
	Reason string
	// RetryAfter is the provider's minimum wait, rounded up; HasRetryAfter tells zero from absent.
	RetryAfter    time.Duration
	HasRetryAfter bool
	// Permanent says that waiting cannot help whatever the status (x-should-retry: false, quota, spend limit, bad
	// schema): the engine does not retry.
	Permanent bool
	// Account says that the fault is the backend's or the account's, not this request's: bad key, forbidden, unknown
	// model, exhausted quota. The gate closes on it.
	Account bool
	// Schema says that the provider refused the request's schema. Keyword is the keyword that it named, "" if it named
	// none that JSON Schema knows.
	Schema  bool
	Keyword string
	// Fallback says that the schema is refused in the form in which it went out, and that the request is worth one more
	// attempt with Request.Fallback (design section 9, native_fallback). The error is permanent for the request as it was.
	Fallback bool
	// NotSent says that the request provably never left: refused, unresolved, no TLS.
	NotSent bool
	// Tokens reported although the call failed.
	Tokens *schemas.Tokens
	// Detail is the provider's text, bounded to 4 KiB. Untrusted.
	Detail string
	cause  error
}

// Error tells backend, kind, status, code and reason.
func (e *Error) Error() string { return e.words(string(e.Kind)) }

// Message is Error for where the kind is told beside it: a kind is left out where something else says what happened.
func (e *Error) Message() string {
	if e.Status == 0 && e.Code == "" && e.Reason == "" {
		return e.Error()
	}
	return e.words("")
}

func (e *Error) words(kind string) string {
	var what []string
	if kind != "" {
		what = append(what, kind)
	}
	if e.Status != 0 {
		what = append(what, fmt.Sprint(e.Status))
	}
	if e.Code != "" {
		what = append(what, e.Code)
	}
	s := fmt.Sprintf("backend %q", e.Backend)
	if len(what) > 0 {
		s += ": " + strings.Join(what, " ")
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Unwrap returns the underlying error of a transport failure.
func (e *Error) Unwrap() error { return e.cause }

// Billed reports whether the provider may charge for the failed call.
func (e *Error) Billed() bool {
	return !e.NotSent && e.Kind != KindStatus && e.Kind != KindInvalid
}

// AsError returns the *Error in err's chain.
func AsError(err error) (*Error, bool) { return errors.AsType[*Error](err) }
