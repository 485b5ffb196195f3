package consumer

import (
	"strings"

	"emend/internal/telemetry"
	"emend/subjects"
)

// traced opens the span of the delivery; nil where nobody wants one.
func (h *handler) traced() *telemetry.RunTrace {
	if h.w.opts.Traces == nil {
		return nil
	}
	header := h.d.msg.Header
	return h.w.opts.Traces.Begin(telemetry.Delivered{Traceparent: header.Get(subjects.HeaderTraceparent), Tracestate: header.Get(subjects.HeaderTracestate),
		Run: h.key.ID, Queue: h.key.Queue, Backend: h.backend, Destination: strings.TrimSuffix(h.d.msg.Subject, "."+h.key.ID), Count: h.d.count, Published: h.d.published, Taken: h.taken})
}

// traceID is the id of the run's trace for log lines: the one that is made, or the requester's; "" without either.
func (h *handler) traceID() string {
	if h.events != nil {
		if id := h.events.trace.ID(); id != "" {
			return id
		}
	}
	return telemetry.TraceID(h.d.msg.Header.Get(subjects.HeaderTraceparent))
}
