package openai

import "emend/engine/provider"

// readStatus reads a status other than 2xx. It keeps what a failed call reported of its usage.
func readStatus(ep *provider.Endpoint, r *provider.Reply) *provider.Error {
	bad := provider.StatusError(r)
	bad.Backend = ep.Backend
	body, ok := provider.Parse(r.Body)
	if !ok {
		return bad
	}
	bad.Tokens = provider.Usage(body.Get("usage"), usageNames)
	if filtered(r.Status, bad.Code, body.Get("error")) {
		bad.Kind, bad.Reason = provider.KindFiltered, "the provider's filter blocked the conversation or its answer"
		bad.Permanent, bad.Account, bad.Schema, bad.Keyword = true, false, false, ""
	}
	return bad
}

// filtered tells of a status that a filter answered with: 400 of Azure's and OpenAI's, 403 of OpenRouter's moderation, which
// lists its reasons. It is the content's fault, so it must not close the gate as a 403 of a key does.
func filtered(status int, code string, fault provider.Value) bool {
	switch {
	case status != 400 && status != 403:
		return false
	case code == "content_filter" || code == "content_policy_violation":
		return true
	}
	metadata := fault.Get("metadata")
	return metadata.Get("reasons").Filled() || metadata.Get("flagged_input").Filled() ||
		fault.Get("innererror").Get("code").Is("ResponsibleAIPolicyViolation")
}
