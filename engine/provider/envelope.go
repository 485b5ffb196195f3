package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"

	"emend/schemas"
)

// Malformed is how a dialect says that a 2xx is no completion: Reason names the field.
func Malformed(r *Reply, tokens *schemas.Tokens, reason string) *Error {
	return &Error{Kind: KindMalformed, Status: r.Status, Reason: reason, Tokens: tokens, Detail: faultText(Value{}, r.Body)}
}

// Faulty is a 2xx that carries an error in a field: the error's code is named, its text is detail.
func Faulty(r *Reply, tokens *schemas.Tokens, field string, fault Value) *Error {
	bad := Malformed(r, tokens, "a 2xx reply whose "+field+" is set")
	if bad.Code = FaultCode(fault); bad.Code != "" {
		bad.Reason += " (" + bad.Code + ")"
	}
	return bad
}

// StopWord returns the provider's own word for why it stopped, "" if it gave none; one that is no word is not repeated.
func StopWord(v Value) string {
	word, _ := v.Text()
	if word != "" && Code(word) == "" {
		return FinishOther
	}
	return word
}

// Envelope returns the JSON object of a 2xx, or a *Error that says what came instead: nothing, an event stream, HTML,
// broken JSON, another JSON value.
func Envelope(r *Reply) (Value, *Error) {
	v, ok := Parse(r.Body)
	switch {
	case !ok:
		return v, Malformed(r, nil, notJSON(r))
	case v.Kind() != Object:
		return v, Malformed(r, nil, fmt.Sprintf("the body is %s, not an object", v.Kind()))
	}
	return v, nil
}

func notJSON(r *Reply) string {
	body, media := bytes.TrimSpace(r.Body), mediaType(r)
	if len(body) == 0 {
		return "the body is empty"
	}
	switch {
	case media == "text/event-stream" || bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:")):
		return "the body is an event stream (content type " + named(media) + ") though none was asked for: turn streaming off in the gateway"
	case media == "text/html" || body[0] == '<':
		return "the body is HTML or XML (content type " + named(media) + "), not JSON: is the backend's url that of the API?"
	}
	at := len(r.Body)
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(r.Body, new(json.RawMessage))); ok {
		at = int(syntax.Offset)
	}
	return fmt.Sprintf("the body is not JSON at byte %d of %d (content type %s)", at, len(r.Body), named(media))
}

func mediaType(r *Reply) string {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || Code(strings.NewReplacer("/", "-", "+", "-").Replace(media)) == "" {
		return ""
	}
	return media
}

func named(media string) string {
	if media == "" {
		return "unnamed"
	}
	return media
}
