package schemas

// Words of attempts: how much a result tells of what came before its output.
const (
	// AttemptsSummary tells of a run each call by kind and outcome, of a pipeline run counts by stage and lane. AttemptsNone tells
	// neither. AttemptsFull tells all, with content.
	AttemptsSummary = "summary"
	AttemptsNone    = "none"
	AttemptsFull    = "full"
)

// AttemptsWords lists them, the default first.
var AttemptsWords = []string{AttemptsSummary, AttemptsNone, AttemptsFull}

// AttemptContent is what a call was sent beyond the ordinary prompt, and what came of it. It holds content: it stands in
// results, and nowhere else.
type AttemptContent struct {
	// Appended are the messages behind the ordinary prompt: the correction of a stage attempt, then that of a repair. They are
	// absent where the call before sent the same.
	Appended []Turn `json:"appended,omitempty"`
	// Answer is the text that a completed call returned, byte for byte.
	Answer *string `json:"answer,omitempty"`
	// Usage is what the call reported.
	Usage *Tokens `json:"usage,omitempty"`
	// Verdict is absent for an answer that was not judged.
	Verdict *AttemptVerdict `json:"verdict,omitempty"`
	// Votes are the validators' on the answer, in configured order.
	Votes []Validator `json:"votes,omitempty"`
	// Omitted are the bytes of text that are left out for being too many: of appended, answer, findings or votes. Nothing is cut.
	Omitted map[string]int `json:"omitted,omitempty"`
}

// Turn is a message of text.
type Turn struct {
	// Role is assistant or user.
	Role    string `json:"role"`
	Content string `json:"content"`
}

// AttemptVerdict is the verdict on one answer.
type AttemptVerdict struct {
	// Class is that of Validation.
	Class string `json:"class"`
	// Complete says that every finding is listed, but for what Omitted counts.
	Complete bool      `json:"complete"`
	Findings []Finding `json:"findings,omitempty"`
	// Mended and Changed are those of Validation, of this answer alone.
	Mended  string   `json:"mended,omitempty"`
	Changed []string `json:"changed,omitempty"`
}

// Parts of an AttemptContent that can be left out: all messages, the answer, all findings, or the guidance of all votes.
const (
	PartAppended = "appended"
	PartAnswer   = "answer"
	PartFindings = "findings"
	PartVotes    = "votes"
)

// Sizes are the bytes of text in each part.
func (c *AttemptContent) Sizes() map[string]int {
	out := map[string]int{}
	if c == nil {
		return out
	}
	for _, m := range c.Appended {
		out[PartAppended] += len(m.Content)
	}
	if c.Answer != nil {
		out[PartAnswer] = len(*c.Answer)
	}
	if c.Verdict != nil {
		for _, f := range c.Verdict.Findings {
			out[PartFindings] += len(f.Pointer) + len(f.Message) + len(f.Expected)
		}
		for _, p := range c.Verdict.Changed {
			out[PartFindings] += len(p)
		}
	}
	for _, v := range c.Votes {
		for _, said := range [][]Reason{v.Reasons, v.Warnings} {
			for _, r := range said {
				out[PartVotes] += len(r.Guidance)
			}
		}
	}
	return out
}

// Bytes is the text in all parts.
func (c *AttemptContent) Bytes() (n int) {
	for _, size := range c.Sizes() {
		n += size
	}
	return n
}

// Without returns a copy that lacks the text of a part, and counts it as omitted.
func (c *AttemptContent) Without(part string) *AttemptContent {
	out, size := *c, c.Sizes()[part]
	out.Omitted = map[string]int{part: c.Omitted[part] + size}
	for name, n := range c.Omitted {
		if name != part {
			out.Omitted[name] = n
		}
	}
	switch part {
	case PartAppended:
		out.Appended = nil
	case PartAnswer:
		out.Answer = nil
	case PartFindings:
		if out.Verdict != nil {
			v := *out.Verdict
			v.Findings, v.Changed, out.Verdict = nil, nil, &v
		}
	case PartVotes:
		out.Votes = make([]Validator, len(c.Votes))
		for i, v := range c.Votes {
			v.Reasons, v.Warnings = withoutGuidance(v.Reasons), withoutGuidance(v.Warnings)
			out.Votes[i] = v
		}
	}
	return &out
}

func withoutGuidance(reasons []Reason) []Reason {
	out := make([]Reason, len(reasons))
	for i, r := range reasons {
		out[i] = Reason{Code: r.Code}
	}
	return out
}

// Lean returns attempts without their text, which is counted as omitted, and whether there was any.
func Lean(all []Attempt) (lean []Attempt, had bool) {
	lean = make([]Attempt, len(all))
	for i, t := range all {
		for part, n := range t.Content.Sizes() {
			if n > 0 {
				t.Content, had = t.Content.Without(part), true
			}
		}
		lean[i] = t
	}
	return lean, had
}
