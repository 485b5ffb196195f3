package scripted

import (
	"fmt"

	"emend/engine/provider"
)

var ollamaWire = wire{name: "ollama", path: "/api/chat", serves: ends("/api/chat"), read: chatRequest, answer: ollamaAnswer, fault: ollamaFault}

// ollamaAnswer: the wire has no refusal and no filter, so that a model that refuses says so in its answer.
func ollamaAnswer(e *provider.Encoder, a *answer) {
	if a.refusal != "" {
		a.text = a.refusal
	}
	e.Open('{')
	member(e, "model", a.model)
	member(e, "created_at", "2026-01-01T00:00:00Z")
	object(e, "message", func() {
		member(e, "role", "assistant")
		textOrNull(e, "content", a)
	})
	e.Key("done")
	e.Bool(true)
	member(e, "done_reason", a.finish)
	if !a.usage.None {
		e.IntMember("prompt_eval_count", a.usage.Input)
		e.IntMember("eval_count", a.usage.Output)
	}
	e.Close('}')
}

// ollamaFault has no code, only a text.
func ollamaFault(e *provider.Encoder, f fault) {
	text := f.message
	switch {
	case f.code != "":
		text = f.code + ": " + f.message
	case f.status == 404:
		text = fmt.Sprintf("model %q not found, try pulling it first", f.model)
	case f.status == 503:
		text = "server busy, please try again.  maximum pending requests exceeded"
	}
	e.Open('{')
	member(e, "error", text)
	e.Close('}')
}
