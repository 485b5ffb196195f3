package provider

import (
	"strings"
	"unicode/utf8"
)

// DetailLimit bounds the provider's text that an Error keeps.
const DetailLimit = 4 << 10

// Detail returns the beginning of a provider's text, cut at a UTF-8 boundary.
func Detail(s string) string { return cut(s, DetailLimit) }

// cut returns at most limit bytes of s, at a UTF-8 boundary.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := limit
	for n > limit-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Code returns a provider's code if it is one: at most 64 characters of [A-Za-z0-9_.-]. Anything else is text, which is
// not repeated.
func Code(s string) string {
	if len(s) > 64 {
		return ""
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-", c) >= 0) {
			return ""
		}
	}
	return s
}

// verdict is what a status or a code says beyond itself.
type verdict struct {
	permanent, account bool
	reason             string
}

// byCode are the codes that say more than the status does; they win over it.
var byCode = map[string]verdict{
	"insufficient_quota":           {true, true, "the account's quota is used up"},
	"billing_hard_limit_reached":   {true, true, "the account's billing limit is reached"},
	"enforced_spend_limit_reached": {true, true, "the account's spend limit is reached"},
	"billing_not_active":           {true, true, "the account's billing is not active"},
	"model_not_found":              {false, true, "the provider does not know the model, or the account may not use it: check the profile's model"},
	"model_decommissioned":         {false, true, "the provider no longer has the model: check the profile's model"},
	"invalid_model":                {false, true, "the provider does not know the model: check the profile's model"},
	"json_validate_failed":         {true, false, "the provider judged the model's answer by the schema and withheld it: with native: none it comes here, and is mended"},
	"context_length_exceeded":      {true, false, "the conversation is longer than the model's context"},
}

var byStatus = map[int]verdict{
	400: {true, false, "the provider refused the request"},
	401: {false, true, "the key was refused: check the backend's key"},
	402: {true, true, "the account has no credit"},
	403: {false, true, "the account may not use this model or endpoint"},
	404: {false, true, "no such endpoint or model: check the backend's url and the profile's model"},
	408: {reason: "the provider gave up waiting for the request"},
	409: {reason: "the provider reports a conflict"},
	413: {true, false, "the request is larger than the provider accepts"},
	422: {true, false, "the provider could not process the request"},
	429: {reason: "too many requests"},
	529: {reason: "the provider is overloaded"},
}

// StatusError is how every dialect reads a reply of a status other than 2xx: the code, whose fault it is and whether
// waiting can help. It knows the four error bodies of providers.md: {error: {code, type, status, message, param,
// details: {error_code}}}, the same without the envelope, {error: "text"} and {detail}.
func StatusError(r *Reply) *Error {
	e := &Error{Kind: KindStatus, Status: r.Status}
	body, _ := Parse(r.Body)
	fault := body.Get("error")
	if !fault.Present() {
		fault = body
	}
	e.Code = FaultCode(fault)
	e.Detail = Detail(faultText(fault, r.Body))
	v, known := byCode[e.Code]
	switch {
	case !known && r.Status >= 300 && r.Status < 400:
		v = verdict{true, false, "redirects are not followed: set the backend's url to the address that answers"}
	case !known:
		v = byStatus[r.Status]
	}
	e.Permanent, e.Account = v.permanent || r.Status == 400, v.account
	e.Reason = v.reason
	param, _ := fault.Get("param").Text()
	switch refused := r.Status == 400 || r.Status == 422; {
	case refused && !known && r.Native && AboutSchema(e.Detail+" "+param):
		e.RefuseSchema(e.Detail)
	case r.Status == 400 && !known && param != "" && Code(param) != "":
		e.Reason = "the provider refused " + param
	}
	return e
}

// FaultCode returns the code of a provider's error object: one that is known to matter, else the most telling.
func FaultCode(fault Value) string {
	found := ""
	for _, v := range []Value{fault.Get("details").Get("error_code"), fault.Get("code"), fault.Get("type"), fault.Get("status")} {
		word, _ := v.Text()
		if word = Code(word); word == "" {
			continue
		}
		if _, known := byCode[word]; known {
			return word
		}
		if found == "" {
			found = word
		}
	}
	if found == "" && fault.Get("code").Kind() == Number {
		found = Code(string(fault.Get("code").Raw()))
	}
	return found
}

func faultText(fault Value, body []byte) string {
	if s, ok := fault.Text(); ok {
		return s
	}
	for _, name := range []string{"message", "detail"} {
		if s, ok := fault.Get(name).Text(); ok && s != "" {
			return s
		}
	}
	return strings.ToValidUTF8(string(body[:min(len(body), DetailLimit)]), "\uFFFD")
}

// OK reports a 2xx.
func (r *Reply) OK() bool { return r.Status >= 200 && r.Status <= 299 }
