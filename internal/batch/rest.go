package batch

import (
	"context"

	"emend/schemas"
)

// Rest asks for the runs that were published and have no result in the output, in the order of the file, and hands them to do,
// which may be nil, with their state; "" is one that has ended. It stops where nobody has published yet.
func Rest(ctx context.Context, in *Input, out *Output, c Carrier, do func(id, state string) error) (map[string]int, error) {
	states, misses := map[string]int{}, 0
	for line, err := range in.Lines() {
		if err != nil {
			return states, err
		}
		if out.done.has(line.ID) {
			continue
		}
		_, state, err := c.Look(ctx, line.ID)
		if err != nil {
			return states, err
		}
		if state == schemas.StateNotFound {
			if misses++; misses >= frontier {
				return states, nil
			}
			continue
		}
		misses = 0
		states[state]++
		if do != nil {
			if err := do(line.ID, state); err != nil {
				return states, err
			}
		}
	}
	return states, nil
}
