// Package run is the step machine of a run: pure transitions from (state, event) to (state, action), a Drive that
// performs the actions, and the Plan that fixes everything a run will need before its first call. A run can be put
// down at any step and taken up again from its State.
package run

import (
	"encoding/json"
	"slices"
	"time"

	"emend/engine/contract"
	"emend/internal/prices"
	"emend/schemas"
)

// Plan is everything that is decided before the first call. It is immutable once made and safe to share.
type Plan struct {
	// ID and Queue are empty for a library run without one.
	ID, Queue string
	// Prompt is "id@version", or "" for inline messages; PromptSHA256 covers rendered messages, contract and target.
	Prompt, PromptSHA256 string
	Catalog              int
	Profile, Backend     string
	Model                string
	// Messages is the rendered prompt followed by the appended messages.
	Messages []schemas.Message
	Settings schemas.Settings
	Session  string
	// Output is the effective contract, Contract its compiled form.
	Output   schemas.Output
	Contract *contract.Contract
	// NativeSchema goes to the provider as its native constraint; nil sends none.
	NativeSchema json.RawMessage
	NativeName   string
	// TransientRetries are extra attempts per generation.
	TransientRetries int
	// Retries are further stage attempts, for corrections of what validators reject, for answers that stay invalid and for
	// errors (seed 004).
	Retries int
	// HandsBack says that the caller owns a queue and hands the run back for its backend's trouble.
	HandsBack bool
	// ExtraStatuses are retried besides 429, 500, 502, 503 and 504.
	ExtraStatuses []int
	// Deadline bounds the whole run; zero means none.
	Deadline time.Time
	Metadata map[string]string
	Warnings []string
	// Notes are what is true of every run of the prompt, such as how its schema goes out; results do not repeat it.
	Notes []string
	// Validators judge a candidate that its schema accepts, in order. The contract's rules are among them in a stage; in a run
	// without any other validator and without retries they are findings alone.
	Validators []Validator
	Policy     Policy
	// Sink is where an exhausted run can go under on_exhausted: escalate, besides its validators: SinkReview or SinkNone.
	Sink string
	// Price is what the model's tokens cost; nil where that is not known. MaxCost bounds what all calls may cost, 0 does not.
	Price   *prices.Price
	MaxCost schemas.USD
	// Audit says that events may show what candidates hold.
	Audit bool
	// Attempts is schemas.AttemptsNone, AttemptsFull, or "" for a summary.
	Attempts string
}

// Sinks of an escalation.
const (
	SinkNone   = "none"
	SinkJudge  = "judge"
	SinkReview = "review"
)

// Validator is a judge, which is a prompt with a profile of its own, a function, or a rule of the contract (design sections 6
// and 7).
type Validator struct {
	// Name is a judge's prompt as id@version, Backend where it calls; of a rule its code.
	Name, Backend string
	// Rule is the number of the contract's rule whose verdict is the vote, from 1; 0 for all others.
	Rule int
	// Go says that a function of the program decides, which its engine knows by Name.
	Go bool
	// Retries are further tries after one that came to no decision, with the same candidate.
	Retries int
	// MaxCalls of one try.
	MaxCalls int
	// Plan renders the judge's own run on a candidate. It is pure.
	Plan func(Question) (*Plan, error)
}

// rulesVote reports whether rules are validators of the run: in a stage (seed 004). In other runs they are findings alone.
func (p *Plan) rulesVote() bool {
	return slices.ContainsFunc(p.Validators, func(v Validator) bool { return v.Rule > 0 })
}

// judged reports whether anything but rules judges.
func (p *Plan) judged() bool {
	return slices.ContainsFunc(p.Validators, func(v Validator) bool { return v.Rule == 0 })
}

// Question is what a judge is asked about.
type Question struct {
	// Candidate is the judged text, Value its JSON value, for functions alone; Messages the conversation that it answers.
	Candidate string
	Value     json.RawMessage
	Messages  []schemas.Message
	// Findings of a candidate that its contract refuses; none for a valid one.
	Findings []contract.Finding
}

// Words of a policy (seed 004).
const (
	PolicyFailRun      = "fail_run"
	PolicyRejectOutput = "reject_output"
	PolicyWarnContinue = "warn_continue"
)

// Policy says what follows from validators that do not approve.
type Policy struct {
	// SemanticRejection is fail_run or reject_output, ValidatorFailure warn_continue or fail_run.
	SemanticRejection, ValidatorFailure string
}

// MaxCalls is the most provider calls that the plan allows: (R+1)(P+1), seed 003, in each stage attempt.
func (p *Plan) MaxCalls() int {
	return (p.TransientRetries + 1) * (p.Output.RepairAttempts + 1) * (p.Retries + 1)
}

// MaxValidatorCalls is the most calls that validators can add; they are counted apart. They are asked once a stage attempt.
func (p *Plan) MaxValidatorCalls() int {
	n := 0
	for _, v := range p.Validators {
		n += (v.Retries + 1) * v.MaxCalls
	}
	return n * (p.Retries + 1)
}
