package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// interrupted returns why the call had to stop: the caller's own end first, then the endpoint's Timeout; nil if neither.
func (k *call) interrupted() error {
	if err := ended(k.caller); err != nil {
		return fmt.Errorf("backend %q: the caller ended the call: %w", k.ep.Backend, err)
	}
	if ended(k.limit) != nil {
		return &Error{Kind: KindTimeout, Backend: k.ep.Backend, NotSent: k.neverSent(nil),
			Reason: fmt.Sprintf("no complete reply within the backend's time limit of %s", k.ep.Timeout)}
	}
	return nil
}

// ended also looks at the clock: a socket's deadline may fire a moment before its context's timer.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return nil
}

// neverSent reports whether the request provably never left. Net/http's own transport tells of every connection; any
// other proves it only by an error that cannot come later than the dial.
func (k *call) neverSent(err error) bool {
	return !k.trace.got.Load() && (k.trace.plain || dialed(err))
}

func dialed(err error) bool {
	op, isOp := errors.AsType[*net.OpError](err)
	_, dns := errors.AsType[*net.DNSError](err)
	return dns || isOp && op.Op == "dial" || untrusted(err)
}

// untrusted tells a TLS handshake that this side ended. An alert is no proof: with TLS 1.3 it may come after the request.
func untrusted(err error) bool {
	_, cert := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	return cert || record
}

// sendFailure classifies a round trip that gave no response. It never repeats the transport's text, which may hold the
// URL with its credentials.
func (k *call) sendFailure(host string, err error) error {
	if stop := k.interrupted(); stop != nil {
		return stop
	}
	if pe, ok := AsError(err); ok {
		copied := *pe
		copied.Backend = k.ep.Backend
		return &copied
	}
	e := &Error{Kind: KindTransport, Backend: k.ep.Backend, NotSent: k.neverSent(err), cause: harmless(err)}
	e.Reason = sendReason(host, err, e.NotSent)
	return e
}

func sendReason(host string, err error, notSent bool) string {
	_, dns := errors.AsType[*net.DNSError](err)
	switch {
	case dns:
		return "the host of " + host + " could not be resolved: check the backend's url"
	case errors.Is(err, syscall.ECONNREFUSED):
		return host + " refused the connection: is the server running, and is the backend's url right?"
	case untrusted(err):
		return "no secure connection to " + host + ": its certificate is not trusted, or it does not speak TLS"
	case notSent:
		return "no connection to " + host + " could be made: check the backend's url, headers and network"
	}
	return "the connection to " + host + " ended before a reply: the provider may have worked on the request"
}

// harmless returns an error that is safe to unwrap: without the URL, and without a likeness to the caller's own end.
func harmless(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// annotate completes a dialect's error with what only the client knows.
func (k *call) annotate(err error, r *Reply, now time.Time) *Error {
	pe, ok := AsError(err)
	if !ok {
		pe = &Error{Kind: KindMalformed, Reason: "the dialect could not read the reply", cause: err}
	}
	pe.Backend, pe.Status = k.ep.Backend, r.Status
	if pe.Kind != KindStatus {
		return pe
	}
	if d, ok := RetryAfter(r.Header, now); ok {
		pe.RetryAfter, pe.HasRetryAfter = d, true
	}
	if strings.EqualFold(strings.TrimSpace(r.Header.Get("X-Should-Retry")), "false") {
		pe.Permanent = true
	}
	return pe
}

// scrub takes the key and the secrets of headers out of what a provider may have echoed.
func (k *call) scrub(err error) error {
	pe, ok := err.(*Error)
	if !ok {
		return err
	}
	if k.clean(pe.Code) != pe.Code {
		pe.Code = ""
	}
	pe.Reason, pe.Detail = k.clean(pe.Reason), k.clean(pe.Detail)
	return pe
}

// placeholder is the length up to which a key is a placeholder such as x or EMPTY, for a server that wants none: it is no
// secret, and may be a part of any word.
const placeholder = 7

func (k *call) clean(text string) string {
	text = without(text, k.key)
	for _, secret := range k.ep.Secrets {
		text = without(text, secret)
		if _, token, ok := strings.Cut(secret, " "); ok { // a scheme and its credential, which may be echoed alone
			text = without(text, token)
		}
	}
	return text
}

func without(text, secret string) string {
	if len(secret) <= placeholder {
		return text
	}
	return strings.ReplaceAll(text, secret, "[key]")
}
