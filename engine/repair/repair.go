// Package repair writes corrective conversations (seed 000, "Repair Request Behavior"; design section 5): messages,
// candidate and verdict in, messages out. It is pure and safe for concurrent use.
package repair

import (
	"bytes"
	"fmt"
	"strings"

	"emend/engine/contract"
	"emend/schemas"
)

// Style says which correction is asked for.
type Style struct {
	// Mode is the effective output mode.
	Mode string
	// N of M: which corrective call this is, and how many the budget allows. M is 0 when none is left.
	N, M int
	// Style is StyleConversation, which "" means too, StyleTargeted or StyleRegenerate: a Choice's.
	Style string
	// Cut says of StyleRegenerate that the candidate was cut off; without it, its shape was wrong.
	Cut bool
	// Received sets the candidate into the message in place of the assistant's turn (candidate: received_block).
	Received bool
	// MaxTargets bounds the places that StyleTargeted names; 0 means DefaultMaxTargets.
	MaxTargets int
	// Arguments says that the candidate is the arguments of a tool call; paths are shown below it.
	Arguments bool
}

// Correct returns the conversation of one corrective call: base, then the candidate as the assistant's turn unless it
// is blank, stands in the message (Received) or is not to be shown (StyleRegenerate), then one user message. Nothing
// accumulates: every call starts from base again. Neither base nor candidate is changed, and the result shares no
// backing array with base.
func Correct(base []schemas.Message, candidate []byte, v contract.Verdict, s Style) []schemas.Message {
	out := make([]schemas.Message, len(base), len(base)+2)
	copy(out, base)
	if s.Style != StyleRegenerate && !s.Received && !blank(candidate) {
		out = append(out, schemas.Message{Role: schemas.RoleAssistant, Content: echo(candidate)})
	}
	return append(out, schemas.Message{Role: schemas.RoleUser, Content: Message(candidate, v, s)})
}

// Message is the text of the corrective user message: valid UTF-8, whatever the candidate is.
func Message(candidate []byte, v contract.Verdict, s Style) string {
	if s.Style == StyleTargeted && len(v.Findings) > 0 && !blank(candidate) {
		return targetedMessage(candidate, v, s)
	}
	var b strings.Builder
	b.WriteString(opening(candidate, s) + s.count() + "\n\n")
	writeReceived(&b, candidate, s)
	writeFindings(&b, feedback(v, s))
	writeHints(&b, candidate, v, s)
	b.WriteString(rule(s))
	return b.String()
}

// count says the mode and which correction it is.
func (s Style) count() string {
	if s.M == 0 {
		return fmt.Sprintf(" Output mode: %s.", s.Mode)
	}
	return fmt.Sprintf(" Output mode: %s. Correction %d of %d.", s.Mode, s.N, s.M)
}

func blank(candidate []byte) bool { return len(bytes.TrimSpace(candidate)) == 0 }

func opening(candidate []byte, s Style) string {
	switch {
	case s.Style == StyleRegenerate && s.Cut:
		return "The previous answer was cut off before it was complete. It is not shown here."
	case s.Style == StyleRegenerate:
		return "The previous answer does not have the shape that the output contract asks for. It is not shown here."
	case blank(candidate):
		return "The previous answer was empty."
	}
	return "The previous answer does not satisfy the output contract."
}

func rule(s Style) string {
	switch {
	case s.Mode == schemas.ModeBasic:
		return "Answer the original request with a response that is not empty."
	case s.Style == StyleRegenerate:
		return "Answer the original request again from the beginning, completely" +
			either(s.Cut, " and as briefly as it allows. ", ", in the shape that the output contract asks for. ") +
			"Answer with JSON only, without Markdown fences or explanation."
	}
	return "Keep every valid value as it is and change only what is necessary to satisfy the output contract. " +
		"Answer with the complete corrected JSON only, without Markdown fences or explanation."
}
