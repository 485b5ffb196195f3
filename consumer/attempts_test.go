package consumer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"emend/engine/run"
	"emend/schemas"
)

func toldAttempts() []schemas.Attempt {
	text := "the answer"
	return []schemas.Attempt{{Outcome: schemas.OutcomeCompleted, Content: &schemas.AttemptContent{Answer: &text}}, {Outcome: schemas.CategoryTimeout}}
}

// What stands apart comes back as it was; what is gone, or is something else by now, leaves its lengths and no error.
func TestTextsOfAttemptsStandApart(t *testing.T) {
	p := newPlace(t)
	b := NewBlobs(p.js, p.names, time.Hour, 1)
	lean, blob, had, err := b.lean(p.Context(), "default", toldAttempts())
	if p.must(err); !had || blob.Field != schemas.BlobAttempts || lean[0].Content.Answer != nil || lean[0].Content.Omitted[schemas.PartAnswer] != 10 {
		t.Fatalf("%v %+v %+v", had, blob, lean)
	}
	whole := func() string {
		t.Helper()
		s, err := b.whole(p.Context(), "default", &saved{State: &run.State{Attempts: lean, Generation: 7}, Attempts: blob})
		p.must(err)
		if s.Generation != 7 || len(s.Attempts) != 2 {
			t.Errorf("%+v", s)
		}
		if s.Attempts[0].Content.Answer == nil {
			return ""
		}
		return *s.Attempts[0].Content.Answer
	}
	if got := whole(); got != "the answer" {
		t.Errorf("came back as %q", got)
	}
	bucket, err := p.js.ObjectStore(p.Context(), p.names.ObjectBucket("default"))
	p.must(err)
	_, err = bucket.PutBytes(p.Context(), blob.SHA256, []byte(`[]`))
	if p.must(err); whole() != "" {
		t.Error("what somebody else put there was taken")
	}
	r := &schemas.Result{ID: "r", Queue: "default", Attempts: lean, AttemptsBlob: blob}
	if p.must(b.Fill(p.Context(), r)); r.AttemptsBlob == nil || len(r.Attempts) != 2 {
		t.Errorf("a result was filled with it: %+v", r)
	}
	if p.must(p.js.DeleteObjectStore(p.Context(), p.names.ObjectBucket("default"))); whole() != "" {
		t.Error("what is gone came back")
	}
}

// Without texts nothing is stored; without a store there are no texts, so that what follows fits all the same.
func TestAttemptsWithoutTextsOrWithoutAStore(t *testing.T) {
	p := newPlace(t)
	b := NewBlobs(p.js, p.names, time.Hour, 1)
	if all, blob, had, err := b.lean(p.Context(), "default", toldAttempts()[1:]); had || blob != nil || err != nil || len(all) != 1 {
		t.Errorf("%+v %+v %v %v", all, blob, had, err)
	}
	if s, err := b.whole(p.Context(), "default", &saved{}); s != nil || err != nil {
		t.Errorf("of nothing: %+v, %v", s, err)
	}
	ctx, cancel := context.WithCancel(p.Context())
	cancel()
	lean, blob, had, err := b.lean(ctx, "default", toldAttempts())
	if !had || err == nil || blob != nil || lean[0].Content.Bytes() != 0 {
		t.Errorf("%+v %+v %v %v", lean, blob, had, err)
	}
	unreadable := &saved{State: &run.State{Attempts: lean}, Attempts: &schemas.Blob{SHA256: strings.Repeat("0", 64)}}
	if _, err := b.whole(ctx, "default", unreadable); err == nil || errors.Is(err, ErrNoBlob) {
		t.Errorf("a store that does not answer: %v", err)
	}
}
