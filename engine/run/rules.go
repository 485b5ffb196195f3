package run

import (
	"slices"

	"emend/engine/contract"
	"emend/schemas"
)

// ruleVote is a rule's vote on a candidate, from its verdict. A rule that does not apply to the candidate has nothing against
// it; where the schema refuses the candidate, it has not been able to tell.
func (j *Judged) ruleVote(v Validator) schemas.Validator {
	out := schemas.Validator{Name: v.Name, Outcome: schemas.VoteApproved}
	switch {
	case slices.Contains(j.Failed, v.Rule):
		out.Outcome = schemas.VoteRejected
		out.Reasons, out.Cause = contract.RuleReason(v.Name, v.Rule, j.Findings)
	case !j.Valid() && j.Class != contract.RuleFailed:
		out.Outcome, out.Cause = schemas.VoteSkipped, schemas.CategoryOutputInvalid
	}
	return out
}
