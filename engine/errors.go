package engine

import (
	"errors"
	"fmt"
	"time"

	"emend/capacity"
	"emend/engine/provider"
	"emend/engine/run"
	"emend/schemas"
)

// Errors of Run, Prepare and RunPrepared; use errors.Is. A cancelled or expired run also matches context.Canceled or
// context.DeadlineExceeded. No operation returns a partial result with an error.
var (
	// ErrInvalidRequest: the request, or the model request made from it, is wrong. Repeating it unchanged is no use.
	ErrInvalidRequest = errors.New("invalid request")
	// ErrLLMGenerate: a provider call failed; errors.As gives the *GenerationError.
	ErrLLMGenerate = errors.New("generation failed")
	// ErrValidation: a candidate could not be judged. An invalid candidate is a result, not this error.
	ErrValidation = errors.New("output validation could not run")
	// ErrCapacity: the backend's admission is full. Nothing was called.
	ErrCapacity = errors.New("capacity exhausted")
	// ErrOutputInvalid: the final candidate is invalid and the contract says on_exhausted: fail.
	ErrOutputInvalid = errors.New("output invalid")
	// ErrRejected: validators rejected the candidate and the policy says fail_run.
	ErrRejected = errors.New("rejected by a validator")
	// ErrValidator: a validator came to no decision and the policy says fail_run.
	ErrValidator = errors.New("a validator came to no decision")
	// ErrPreparedUsed: a prepared execution was run before. It is an ErrInvalidRequest.
	ErrPreparedUsed = fmt.Errorf("%w: a prepared execution runs once; prepare again", ErrInvalidRequest)
)

// GenerationError says which kind of provider call failed, after how many attempts. Its text holds nothing that a
// provider wrote; errors.As with *provider.Error gives access to the provider's own text.
type GenerationError struct {
	// Kind is a category: provider_status, provider_response, refused, content_filtered, transport, timeout.
	Kind    string
	Backend string
	// Status is the HTTP status, 0 if none came. Code is the provider's own error code.
	Status int
	Code   string
	// RetryAfter is the provider's minimum wait, 0 if none was given.
	RetryAfter time.Duration
	// Attempts of the failed generation. Exhausted: transient retries were allowed and used up.
	Attempts  int
	Exhausted bool
	// MayHaveBeenBilled: the provider may charge for the call.
	MayHaveBeenBilled bool
	message           string
	cause             error
}

// Error tells kind, attempts and Emend's own description.
func (e *GenerationError) Error() string {
	s := "generation failed: " + e.message
	if e.Attempts > 1 || e.Exhausted {
		s += fmt.Sprintf(" (%d attempts", e.Attempts)
		if e.Exhausted {
			s += ", retries exhausted"
		}
		s += ")"
	}
	return s
}

// Is matches ErrLLMGenerate.
func (e *GenerationError) Is(target error) bool { return target == ErrLLMGenerate }

// Unwrap returns the final underlying cause.
func (e *GenerationError) Unwrap() error { return e.cause }

// asError turns the end of a run into the error of the library face; nil for one with a result.
func asError(backend string, res run.Result) error {
	f := res.Failure
	if f == nil {
		return nil
	}
	switch f.Category {
	case schemas.StatusCancelled, schemas.StatusExpired:
		return stopped(f)
	case schemas.CategoryInvalidRequest:
		return wrap(ErrInvalidRequest, f)
	case schemas.CategoryCapacity:
		return wrap(ErrCapacity, f)
	case schemas.CategoryValidation:
		return wrap(ErrValidation, f)
	case schemas.CategoryOutputInvalid:
		return wrap(ErrOutputInvalid, f)
	case schemas.CategoryRejected:
		return wrap(ErrRejected, f)
	case schemas.CategoryValidator:
		return wrap(ErrValidator, f)
	case schemas.CategoryInternal:
		return errors.New("internal: " + f.Message)
	}
	return &GenerationError{Kind: f.Category, Backend: backend, Status: f.Status, Code: f.Code, RetryAfter: f.RetryAfter,
		Attempts: f.Attempts, Exhausted: f.Exhausted, MayHaveBeenBilled: f.Billed, message: f.Message, cause: f.Cause}
}

func wrap(kind error, f *run.Failure) error {
	if f.Cause == nil {
		return fmt.Errorf("%w: %s", kind, f.Message)
	}
	return &categorised{kind: kind, message: f.Message, cause: f.Cause}
}

func stopped(f *run.Failure) error {
	return &categorised{message: f.Message, cause: f.Cause}
}

// categorised joins a category and a cause without printing the cause: a collaborator's text is not ours to show.
type categorised struct {
	kind    error
	message string
	cause   error
}

func (e *categorised) Error() string {
	if e.kind == nil {
		return e.message
	}
	return e.kind.Error() + ": " + e.message
}

func (e *categorised) Unwrap() []error {
	if e.kind == nil {
		return []error{e.cause}
	}
	return []error{e.kind, e.cause}
}

// failure classifies the error of a client.
func failure(backend string, injected bool, err error) run.Failure {
	if pe, ok := provider.AsError(err); ok {
		return run.Failure{Category: string(pe.Kind), Message: pe.Message(), Status: pe.Status, Code: pe.Code, RetryAfter: pe.RetryAfter,
			Permanent: pe.Permanent || injected, Account: pe.Account, NotSent: pe.NotSent, Fallback: pe.Fallback, Billed: pe.Billed(), Cause: err}
	}
	f := run.Failure{Category: schemas.CategoryTransport, Message: fmt.Sprintf("backend %q: the injected client failed", backend), Billed: true, Cause: err}
	switch {
	case errors.Is(err, ErrInvalidRequest):
		f.Category, f.Billed = schemas.CategoryInvalidRequest, false
		f.Message = fmt.Sprintf("backend %q: the client refused the request", backend)
	case !injected:
		f.Category, f.Billed = schemas.CategoryInternal, false
		f.Message = fmt.Sprintf("backend %q: %v", backend, err)
	}
	return f
}

// gateFailure classifies a refused permit or admission.
func gateFailure(backend string, err error) run.Failure {
	f := run.Failure{Category: schemas.CategoryCapacity, Message: fmt.Sprintf("backend %q: %v", backend, err), Cause: err}
	if closed, ok := errors.AsType[*capacity.ClosedError](err); ok {
		f.Message = fmt.Sprintf("backend %q is closed: %s", backend, closed.Cause)
	}
	return f
}
