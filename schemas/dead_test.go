package schemas_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"emend/schemas"
)

// TestDeadLetterRequestsAreDecodedStrictly: null equals absent, an unknown field is told with the nearest name, an empty
// query is a list; an empty purge is not taken for everything.
func TestDeadLetterRequestsAreDecodedStrictly(t *testing.T) {
	if q, err := schemas.DecodeDeadQuery(nil); err != nil || q != (schemas.DeadQuery{}) {
		t.Errorf("%+v, %v", q, err)
	}
	q, err := schemas.DecodeDeadQuery([]byte(`{"id": "a", "seq": 4, "reason": null, "after": 7, "limit": 2}`))
	if err != nil || q != (schemas.DeadQuery{ID: "a", Seq: 4, After: 7, Limit: 2}) {
		t.Errorf("%+v, %v", q, err)
	}
	r, err := schemas.DecodeReplay([]byte(`{"id": "a", "prompt": "p@2", "profile": "fast", "backend": "b", "seq": null}`))
	if err != nil || r != (schemas.Replay{ID: "a", Prompt: "p@2", Profile: "fast", Backend: "b"}) {
		t.Errorf("%+v, %v", r, err)
	}
	p, err := schemas.DecodePurge([]byte(`{"before": "2026-12-01T00:00:00Z", "all": false}`))
	if err != nil || p.All || p.Before == nil || !p.Before.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", p, err)
	}
	_, badReplay := schemas.DecodeReplay([]byte(`{"id": "a", "promt": "p@2"}`))
	_, badPurge := schemas.DecodePurge([]byte(`{"before": "yesterday"}`))
	_, noPurge := schemas.DecodePurge(nil)
	_, badQuery := schemas.DecodeDeadQuery([]byte(`[]`))
	for want, err := range map[string]error{"did you mean prompt": badReplay, "before: ": badPurge, "the message is empty": noPurge, "a JSON object is expected": badQuery} {
		if _, ok := errors.AsType[*schemas.DecodeError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
