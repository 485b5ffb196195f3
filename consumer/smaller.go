package consumer

import (
	"context"
	"fmt"
	"slices"

	"emend/schemas"
)

// unlisted is a result without the jobs of its pipeline. They were asked for, and their own results have their outputs.
func (h *handler) unlisted(_ context.Context, r schemas.Result) schemas.Result {
	if r.Pipeline == nil || len(r.Pipeline.Jobs) == 0 {
		return r
	}
	shorter := *r.Pipeline
	shorter.Jobs = nil
	r.Warnings = append(slices.Clone(r.Warnings), fmt.Sprintf("pipeline.jobs, %d jobs of %d bytes, is left out: the result is larger than the server's max_payload (%d); each job's own result has its output",
		len(r.Pipeline.Jobs), sizeOf(r.Pipeline.Jobs), h.w.nc.MaxPayload()))
	r.Pipeline = &shorter
	return r
}

// unfilledEnough is a result without its output, where it fits into a message without it.
func (h *handler) unfilledEnough(work context.Context, r schemas.Result) schemas.Result {
	rest := r
	rest.Output, rest.OutputText, rest.OutputBlob = nil, nil, &schemas.Blob{}
	if int64(sizeOf(rest))+headerRoom > h.w.nc.MaxPayload() {
		return r
	}
	return h.unfilled(work, r)
}

// unguided is a result without what its votes say beside the codes of their reasons and warnings.
func (h *handler) unguided(_ context.Context, r schemas.Result) schemas.Result {
	if r.Validation == nil {
		return r
	}
	votes, n, size := bareVotes(r.Validation.Validators)
	if n == 0 {
		return r
	}
	shorter := *r.Validation
	shorter.Validators = votes
	r.Validation = &shorter
	r.Warnings = append(slices.Clone(r.Warnings), unguidedText("the result", n, size, h.w.nc.MaxPayload()))
	return r
}

func unguidedText(what string, n, size int, limit int64) string {
	return fmt.Sprintf("the guidance of %d reasons and warnings of the votes, %d bytes, is left out: %s is larger than the server's max_payload (%d); their codes are kept", n, size, what, limit)
}

// bareVotes are votes without guidance; n is how much there was of it, size how many bytes.
func bareVotes(votes []schemas.Validator) (bare []schemas.Validator, n, size int) {
	bare = slices.Clone(votes)
	for i := range bare {
		for _, list := range []*[]schemas.Reason{&bare[i].Reasons, &bare[i].Warnings} {
			*list = slices.Clone(*list)
			for j := range *list {
				if g := &(*list)[j].Guidance; *g != "" {
					n, size, *g = n+1, size+len(*g), ""
				}
			}
		}
	}
	return bare, n, size
}

// sizeOf is how large a value is in JSON.
func sizeOf(v any) int {
	b, err := schemas.Marshal(v)
	if err != nil {
		return 0
	}
	return len(b)
}
