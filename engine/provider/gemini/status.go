package gemini

import (
	"net/http"
	"strings"
	"time"

	"emend/engine/provider"
)

// statusError reads a status other than 2xx. Google puts into error.details what its status word leaves open: which quota is
// used up, how long to wait, what is wrong with a key that it answers 400 to.
func statusError(r *provider.Reply) *provider.Error {
	e := provider.StatusError(r)
	body, _ := provider.Parse(r.Body)
	e.Tokens = usage(body.Get("usageMetadata"))
	fault := body.Get("error")
	message, _ := fault.Get("message").Text()
	switch {
	case strings.Contains(message, "input token count") && strings.Contains(message, "exceeds"):
		e.Schema, e.Keyword, e.Permanent, e.Reason = false, "", true, "the conversation is longer than the model's context"
	case e.Schema:
		if keyword := faultyField(message); keyword != "" {
			e.RefuseSchema("'" + keyword + "'")
		}
	case e.Code == "FAILED_PRECONDITION":
		e.Account, e.Reason = true, "the account may not use the API from here or without billing: see the project's billing and region"
	}
	for detail := range fault.Get("details").Elements() {
		readDetail(e, detail)
	}
	if e.Permanent {
		e.RetryAfter, e.HasRetryAfter = 0, false
	}
	return e
}

// faultyField is the keyword at the end of the path that a message begins with:
// "...response_schema.properties[url].format: only ...".
func faultyField(message string) string {
	path, _, found := strings.Cut(message, ": ")
	if i := strings.LastIndexByte(path, '.'); found && i >= 0 && !strings.Contains(path, " at ") {
		return provider.Code(path[i+1:])
	}
	return ""
}

func readDetail(e *provider.Error, detail provider.Value) {
	kind, _ := detail.Get("@type").Text()
	switch kind[strings.LastIndexByte(kind, '.')+1:] {
	case "ErrorInfo":
		readReason(e, provider.StopWord(detail.Get("reason")))
	case "QuotaFailure":
		for violation := range detail.Get("violations").Elements() {
			readQuota(e, violation)
		}
	case "RetryInfo":
		delay, _ := detail.Get("retryDelay").Text()
		seconds, isSeconds := strings.CutSuffix(delay, "s")
		if d, ok := provider.RetryAfter(http.Header{"Retry-After": {seconds}}, time.Time{}); ok && isSeconds {
			e.RetryAfter, e.HasRetryAfter = d, true
		}
	}
}

// readReason: a wrong key is a 400 here, and is the backend's fault, not the run's.
func readReason(e *provider.Error, reason string) {
	if strings.HasPrefix(reason, "API_KEY_") {
		e.Code, e.Permanent, e.Account = reason, false, true
		e.Reason = "the key was refused: check the backend's key"
	}
}

// readQuota: a limit by the minute passes, one by the day does not within any wait that is worth it, and a limit of zero
// never does.
func readQuota(e *provider.Error, violation provider.Value) {
	id, _ := violation.Get("quotaId").Text()
	limit, _ := violation.Get("quotaValue").Text()
	switch {
	case limit == "0":
		e.Permanent, e.Account, e.Reason = true, true, "the account has no quota for this model"
	case strings.Contains(id, "PerDay"):
		e.Permanent, e.Account, e.Reason = true, true, "the account's quota for the day is used up"
	}
}
