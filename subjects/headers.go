package subjects

import "strings"

// AckPrefix begins the reply subject of every message that a durable delivers (JetStream).
const AckPrefix = "$JS.ACK."

// Headers of Emend's messages.
const (
	// HeaderReplyTo of a request: where a core copy of the stored result goes. It must match the allowed inboxes.
	HeaderReplyTo = "Emend-Reply-To"
	// HeaderStatus, HeaderRun, HeaderPrompt and HeaderBackend of a result, for consumers that filter; a pipeline run's has HeaderPipeline.
	HeaderStatus   = "Emend-Status"
	HeaderRun      = "Emend-Run"
	HeaderPrompt   = "Emend-Prompt"
	HeaderBackend  = "Emend-Backend"
	HeaderPipeline = "Emend-Pipeline"
	// Headers of a dead letter: category, message, the subject it came on, who wrote it, when it was published.
	HeaderReason    = "Emend-Reason"
	HeaderError     = "Emend-Error"
	HeaderSubject   = "Emend-Subject"
	HeaderWorker    = "Emend-Worker"
	HeaderPublished = "Emend-Published"
	// HeaderRequest of a dead letter: the stream sequence of the request, by which a letter is known to be stored already.
	HeaderRequest = "Emend-Request"
	// HeaderDeliveries of a dead letter: how often the request was delivered. HeaderReplied: that its requester was told.
	HeaderDeliveries = "Emend-Deliveries"
	HeaderReplied    = "Emend-Replied"
	// HeaderTraceparent is W3C trace context, in and out.
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
	// HeaderExpectedStream makes the server refuse a message for any other stream.
	HeaderExpectedStream = "Nats-Expected-Stream"
	// HeaderExpectedLastSubjectSequence is the server's compare-and-set.
	HeaderExpectedLastSubjectSequence = "Nats-Expected-Last-Subject-Sequence"
	// HeaderExpectedLastSubjectSequenceSubject names the subject that is meant, where it is not the message's own.
	HeaderExpectedLastSubjectSequenceSubject = "Nats-Expected-Last-Subject-Sequence-Subject"
	// HeaderExpectedLastSequence makes the server refuse a message unless the stream's last one has this sequence.
	HeaderExpectedLastSequence = "Nats-Expected-Last-Sequence"
	// HeaderMsgID is the server's dedupe id.
	HeaderMsgID = "Nats-Msg-Id"
	// HeaderNumPending of an answer to a question for many messages: how many of them are not sent yet.
	HeaderNumPending = "Nats-Num-Pending"
	// HeaderKVOperation of a bucket's entry: what removed it. One that holds a value has none.
	HeaderKVOperation = "KV-Operation"
	// HeaderServiceError and HeaderServiceErrorCode of a service's reply say that the request was refused, and why.
	HeaderServiceError     = "Nats-Service-Error"
	HeaderServiceErrorCode = "Nats-Service-Error-Code"
)

// Steering reports whether a header of a requester is the server's or Emend's own, so that a copy of the request must
// not carry it.
func Steering(name string) bool {
	n := strings.ToLower(name)
	if n == "status" || n == "description" {
		return true // clients take an empty message with these for the server's word
	}
	return strings.HasPrefix(n, "nats-") || (strings.HasPrefix(n, "emend-") && n != strings.ToLower(HeaderReplyTo))
}
