package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"emend/engine/contract"
	"emend/schemas"
)

// StateVersion is written into every State; a State of another version is not resumed.
const StateVersion = 2

// Phase says what a run is waiting for.
type Phase string

// Phases. A run starts in New and ends in Done; one in Reviewing is put down until a person decides.
const (
	New        Phase = "new"
	Calling    Phase = "calling"
	Waiting    Phase = "waiting"
	Judging    Phase = "judging"
	Validating Phase = "validating"
	Escalating Phase = "escalating"
	Reviewing  Phase = "reviewing"
	Done       Phase = "done"
)

// Phases lists every phase in the order of a run's way.
var Phases = []Phase{New, Calling, Waiting, Judging, Validating, Escalating, Reviewing, Done}

// Styles of a corrective generation.
const (
	StyleConversation = "conversation"
	StyleTargeted     = "targeted"
	StyleRegenerate   = "regenerate"
)

// Budgets are what a run has left.
type Budgets struct {
	// Transient is for the current generation.
	Transient int `json:"transient"`
	// Repair is for the current stage attempt.
	Repair int `json:"repair"`
	// Stage are further stage attempts.
	Stage int `json:"stage,omitempty"`
}

// Candidate is the text that a completed generation returned.
type Candidate struct {
	Text string `json:"text"`
	// Finish is the provider's stop reason in Emend's words; "length" is evidence of truncation. ProviderFinish is its own.
	Finish         string `json:"finish,omitempty"`
	ProviderFinish string `json:"provider_finish,omitempty"`
	Model          string `json:"model,omitempty"`
	// Arguments says that the text is a forced tool's arguments.
	Arguments bool `json:"arguments,omitempty"`
}

// Judged is a verdict as a State keeps it.
type Judged struct {
	Class    contract.Class     `json:"class"`
	Findings []contract.Finding `json:"findings,omitempty"`
	Omitted  int                `json:"omitted,omitempty"`
	CutOff   bool               `json:"cut_off,omitempty"`
	// Mended is how the text became a value without a call; Derived is then the text that was judged.
	Mended  string              `json:"mended,omitempty"`
	Derived string              `json:"derived,omitempty"`
	Rules   contract.RuleCounts `json:"rules,omitzero"`
	// Failed numbers the rules that failed.
	Failed []int           `json:"failed,omitempty"`
	Value  json.RawMessage `json:"-"`
}

// Text is what was judged of a candidate: its own text, or the one that local mending derived.
func (s State) Text() string {
	if s.Judged != nil && s.Judged.Mended != "" {
		return s.Judged.Derived
	}
	return s.Candidate.Text
}

// Valid reports whether the candidate satisfies its contract.
func (j *Judged) Valid() bool { return j != nil && j.Class == contract.OK }

// Verdict returns the form that package repair reads.
func (j *Judged) Verdict() contract.Verdict {
	v := contract.Verdict{Class: j.Class, Findings: j.Findings, Omitted: j.Omitted, CutOff: j.CutOff, Value: j.Value, Mended: j.Mended, Rules: j.Rules, Failed: j.Failed}
	if j.Mended != "" {
		v.Derived = []byte(j.Derived)
	}
	return v
}

func judged(v contract.Verdict) *Judged {
	return &Judged{Class: v.Class, Findings: v.Findings, Omitted: v.Omitted, CutOff: v.CutOff, Value: v.Value, Mended: v.Mended,
		Derived: string(v.Derived), Rules: v.Rules, Failed: v.Failed}
}

// Failure is why a call or a run failed. Its texts are Emend's own words.
type Failure struct {
	// Category is one of the schemas.Category words.
	Category string `json:"category"`
	Message  string `json:"message"`
	Status   int    `json:"status,omitempty"`
	Code     string `json:"code,omitempty"`
	// RetryAfter is the provider's minimum wait.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// Permanent: waiting cannot help this request. Account: the fault is the backend's or the account's. NotSent: the
	// request provably never left. Billed: the provider may charge for the call.
	Permanent bool `json:"permanent,omitempty"`
	Account   bool `json:"account,omitempty"`
	NotSent   bool `json:"not_sent,omitempty"`
	// Fallback: the provider refused the native form, and the dialect has another for the same schema.
	Fallback bool `json:"fallback,omitempty"`
	Billed   bool `json:"billed,omitempty"`
	// Attempts of the generation that failed, and whether transient retries were used up.
	Attempts  int  `json:"attempts,omitempty"`
	Exhausted bool `json:"exhausted,omitempty"`
	// Cause is the Go error in a process that still has it.
	Cause error `json:"-"`
}

// State is a run between two steps. It is a value: Step never changes its argument. It serialises to JSON.
type State struct {
	V     int   `json:"v"`
	Phase Phase `json:"phase"`
	// PromptSHA256 binds a saved State to the plan that it was made under.
	PromptSHA256 string `json:"prompt_sha256"`
	// Stage counts stage attempts from 1; StageKind says why the current one began, Correction what it was told. Stages are
	// those before it.
	Stage      int             `json:"stage"`
	StageKind  string          `json:"stage_kind,omitempty"`
	Correction *Correction     `json:"correction,omitempty"`
	Stages     []schemas.Stage `json:"stages,omitempty"`
	// Fallback says that the schema goes out in the dialect's other native form from here on.
	Fallback bool `json:"fallback,omitempty"`
	// Impossible says why the producer could not be told what is wrong.
	Impossible string `json:"impossible,omitempty"`
	// Generation counts from 1 (the initial one); Attempt counts the calls started in it.
	Generation int `json:"generation"`
	Attempt    int `json:"attempt"`
	// Style of the current generation; "" for the initial one.
	Style       string  `json:"style,omitempty"`
	Left        Budgets `json:"left"`
	Regenerated bool    `json:"regenerated,omitempty"`
	// Candidate and Judged are the latest completed generation's.
	Candidate *Candidate `json:"candidate,omitempty"`
	Judged    *Judged    `json:"judged,omitempty"`
	// Targets are the pointers that a targeted correction lets change, Base is the value that it is about; both stand
	// until the correction is kept.
	Targets []string `json:"targets,omitempty"`
	Base    string   `json:"base,omitempty"`
	// Changed are the places that targeted corrections changed without being asked to, in the stage attempt.
	Changed []string `json:"changed,omitempty"`
	// Chain says that the validators are asked about a candidate that breaks rules alone: those votes are rejections.
	Chain bool `json:"chain,omitempty"`
	// Votes are the validators' on the latest candidate, in the order of the plan.
	Votes          []schemas.Validator `json:"votes,omitempty"`
	ValidatorUsage schemas.UsageSum    `json:"validator_usage,omitzero"`
	// Cost is what all calls cost, those of validators too.
	Cost schemas.CostSum `json:"cost,omitzero"`
	// Sink is where an exhausted run went last: SinkNone, SinkJudge or SinkReview.
	Sink string `json:"sink,omitempty"`
	// Review is the decision that ended a run in review.
	Review *schemas.Review `json:"review,omitempty"`
	// Failure is the latest failed attempt's; it decides the wait, and with Done the result.
	Failure  *Failure          `json:"failure,omitempty"`
	Usage    schemas.UsageSum  `json:"usage"`
	Counts   schemas.Counts    `json:"counts"`
	Attempts []schemas.Attempt `json:"attempts,omitempty"`
	// Model and Waited are the time in provider calls and in waits for permits and retries.
	Model  time.Duration `json:"model"`
	Waited time.Duration `json:"waited"`
	// PutDowns counts how often the run was handed back for its backend's trouble.
	PutDowns int `json:"put_downs,omitempty"`
	// Status is the result status, set with Done.
	Status string `json:"status,omitempty"`
}

// Start is the State of a run that has done nothing.
func (p *Plan) Start() State {
	return State{V: StateVersion, Phase: New, PromptSHA256: p.PromptSHA256,
		Stage: 1, StageKind: schemas.StageInitial,
		Left: Budgets{Transient: p.TransientRetries, Repair: p.Output.RepairAttempts, Stage: p.Retries}}
}

// PutDown returns the State that takes up the current generation from its beginning, with a full transient budget: what
// is stored when a run is handed back. Completed generations, their usage and all counts stay.
func (p *Plan) PutDown(s State) State {
	switch {
	case s.Generation == 0:
		s.Phase = New
	case (s.Phase == Done || s.Phase == Validating || s.Phase == Escalating) && s.asked() && len(s.Votes) < len(p.Validators):
		s = p.ruled(s) // of a run that was escalated and not asked yet, the rules have not voted
		s.Phase = Validating
	case (s.Phase == Done || s.Phase == Escalating) && s.Sink != "":
		s.Phase = Escalating
	case s.Phase == Done || s.Phase == Waiting:
		s.Phase = Calling
	}
	s.Attempt, s.Failure, s.Status = 0, nil, ""
	s.Left.Transient = p.TransientRetries
	return s
}

// asked reports whether the latest candidate is one that validators are asked about: it is valid, breaks rules alone, or was
// escalated to them. While another generation is called for, it is neither.
func (s State) asked() bool {
	return s.Candidate != nil && (s.Judged.Valid() || s.Chain || s.Sink == SinkJudge)
}

// Revive completes a State that was stored: the value of a judged candidate is not stored with its text.
func (p *Plan) Revive(s State) State {
	if p.Contract == nil || s.Candidate == nil || s.Judged == nil || s.Judged.Value != nil {
		return s
	}
	j := *s.Judged
	j.Value = p.Contract.JudgeText(s.Candidate.Text).Value
	s.Judged = &j
	return s
}

// Fits reports whether a saved State may be taken up under the plan; if not, the run starts anew.
func (p *Plan) Fits(s State) error {
	switch {
	case s.V != StateVersion:
		return fmt.Errorf("saved state has version %d, this worker knows %d", s.V, StateVersion)
	case s.PromptSHA256 != p.PromptSHA256:
		return errors.New("saved state belongs to another rendering of the prompt")
	case !slices.Contains(Phases, s.Phase):
		return fmt.Errorf("saved state has the unknown phase %q", s.Phase)
	}
	return nil
}

// MaxNow is the number of calls that the State can still start, without those of validators.
func (p *Plan) MaxNow(s State) int {
	switch s.Phase {
	case Validating:
		return s.Left.Stage * (p.TransientRetries + 1) * (p.Output.RepairAttempts + 1)
	case Escalating, Reviewing, Done:
		return 0
	}
	if s.Generation == 0 {
		return p.MaxCalls()
	}
	calls := s.Left.Stage*(p.TransientRetries+1)*(p.Output.RepairAttempts+1) + s.Left.Repair*(p.TransientRetries+1)
	if s.Phase != Judging {
		calls += s.Left.Transient
	}
	if s.Phase == Calling || s.Phase == Waiting {
		calls++
	}
	return calls
}
