package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// TestNumberOutOfRangeInAnAnswerIsInvalid: 1e1000001 is judged in time and never expanded.
func TestNumberOutOfRangeInAnAnswerIsInvalid(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("big", body("any-json", "BIG-NUMBER"))
	r := s.ends("big", schemas.StatusInvalid)
	if r.Validation.Class != "number_out_of_range" || r.OutputText == nil || *r.OutputText != "1e1000001" {
		t.Errorf("%+v", r)
	}
	s.works("after")
}

// TestMillionDeepArrayInAnAnswerIsInvalid, and stored apart where a message cannot hold it.
func TestMillionDeepArrayInAnAnswerIsInvalid(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000)
	for limit, apart := range map[int32]bool{8 << 20: false, 1 << 20: true} {
		s := newSite(t, devnats.Options{MaxPayload: limit})
		s.mock.answers["DEEP"] = deep
		s.worker()
		s.publish("deep", body("any-json", "DEEP"))
		r := s.ends("deep", schemas.StatusInvalid)
		if (r.OutputBlob != nil) != apart || (apart && r.OutputBlob.Field != schemas.BlobOutputText) {
			t.Errorf("stored apart: %+v, want %v", r.OutputBlob, apart)
		}
		ctx, cancel := s.within()
		s.must(s.client().Fill(ctx, r))
		cancel()
		if r.Validation.Class != "too_deep" || *r.OutputText != deep {
			t.Errorf("class %s, %d bytes kept", r.Validation.Class, len(*r.OutputText))
		}
		s.goneID("deep")
		s.works("after")
	}
}

// TestExponentialSchemaIsBounded: nested anyOf whose naive judgement doubles with every level.
func TestExponentialSchemaIsBounded(t *testing.T) {
	t.Parallel()
	s := start(t)
	var defs []string
	for i := range 40 {
		next := fmt.Sprintf(`{"$ref": "#/$defs/d%d"}`, i+1)
		defs = append(defs, fmt.Sprintf(`"d%d": {"anyOf": [%s, %s]}`, i, next, next))
	}
	schema := fmt.Sprintf(`{"$ref": "#/$defs/d0", "$defs": {%s, "d40": {"type": "string"}}}`, strings.Join(defs, ", "))
	s.publish("exp", output(schema))
	r := s.result("exp") // without a bound there would be none
	if r.Status == schemas.StatusSucceeded || r.Status == schemas.StatusInvalid && r.Validation.Valid {
		t.Errorf("accepted: %+v", r)
	}
	if r.Error != nil && (r.Error.Category != schemas.CategoryValidation || !r.Error.MayHaveBeenBilled) {
		t.Errorf("%+v: the answer that could not be judged was paid for", r.Error)
	}
	s.goneID("exp")
	s.works("after")
}

// TestDeadlinePastIsExpiredWithoutACall, stored under its id.
func TestDeadlinePastIsExpiredWithoutACall(t *testing.T) {
	t.Parallel()
	s := start(t)
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "past"), inline(`, "deadline": "2020-01-01T00:00:00Z", "metadata": {"k": "v"}`), inbox))
	r, _ := s.reply(sub)
	if r.Status != schemas.StatusExpired || r.Error != nil || r.Metadata["k"] != "v" || !strings.Contains(strings.Join(r.Warnings, ""), "deadline") {
		t.Errorf("%+v", r)
	}
	s.ends("past", schemas.StatusExpired)
	s.goneID("past")
	s.calls(0)
	s.works("after")
}

// TestDeadlineThatPassesDuringACallExpiresTheRun and aborts the call.
func TestDeadlineThatPassesDuringACallExpiresTheRun(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("late", `{"prompt": "say", "inputs": {"text": "`+holdMark+`"}, "timeout_s": 0.7}`)
	receive(s, "the call arrives", s.mock.arrived)
	receive(s, "the call is aborted", s.mock.left)
	if r := s.ends("late", schemas.StatusExpired); r.Counts.Calls != 1 {
		t.Errorf("%+v", r.Counts)
	}
	s.goneID("late")
}

// TestReplyHeaderThatIsNoInboxIsRefusedAndNothingIsPublishedThere.
func TestReplyHeaderThatIsNoInboxIsRefusedAndNothingIsPublishedThere(t *testing.T) {
	t.Parallel()
	s := start(t)
	others, err := s.nc.SubscribeSync("private.>")
	s.must(err)
	for i, to := range []string{"$JS.API.STREAM.PURGE." + s.names.RunsStream(), "$JS.API.>", s.names.Run("mock", "default", "smuggled"), s.names.Result("default", "forged"),
		s.names.Get(), "_INBOX.*", "_INBOX.>", "private.subject", "_INBOX", "_INBOX..a", "_INBOX.a b", strings.Repeat("_INBOX.", 100) + "a"} {
		id := fmt.Sprintf("reply-%d", i)
		text := body("say", "a")
		s.must(s.tryPublish(s.names.Run("mock", "default", id), text, to))
		s.deadLetter(id, text, schemas.CategoryInvalidRequest, "reply subject")
		s.goneID(id)
		if m := s.last(s.names.ResultsStream(), s.names.Result("default", id)); m != nil {
			t.Errorf("%s: a result is stored", to)
		}
		if m := s.request(s.names.Submit("mock", "default"), text, subjects.HeaderReplyTo, to); m.Header.Get(subjects.HeaderServiceError) == "" {
			t.Errorf("submit with reply subject %q: %s", to, m.Data)
		}
	}
	s.works("after")
	if n := s.count(s.names.RunsStream()); n != 0 {
		t.Errorf("%d requests were smuggled in", n)
	}
	if m := s.last(s.names.ResultsStream(), s.names.Result("default", "forged")); m != nil {
		t.Error("a result was forged")
	}
	if n, _, _ := others.Pending(); n != 0 {
		t.Errorf("%d messages to a private subject", n)
	}
	s.calls(1)
}

// TestConfiguredInboxesAreAllowed: account imports and private prefixes are listed.
func TestConfiguredInboxesAreAllowed(t *testing.T) {
	t.Parallel()
	s := start(t, "backends:", "nats: {inboxes: [\"_INBOX.>\", \"private.*\"]}\nbackends:")
	sub, err := s.nc.SubscribeSync("private.>")
	s.must(err)
	s.must(s.nc.Flush())
	s.must(s.tryPublish(s.names.Run("mock", "default", "listed"), body("say", "a"), "private.reply"))
	if r, _ := s.reply(sub); r.Status != schemas.StatusSucceeded {
		t.Errorf("%+v", r)
	}
}

// padded is a body of exactly n bytes.
func padded(n int, build func(string) string) string {
	return build(strings.Repeat("x", n-len(build(""))))
}

// TestBodyAtTheServersLimit: a good one runs, a bad one becomes a dead letter though its headers no longer fit, one byte
// more fails at the publisher.
func TestBodyAtTheServersLimit(t *testing.T) {
	t.Parallel()
	s := start(t)
	limit := int(s.nc.MaxPayload())
	say := func(text string) string { return body("say", text) }
	s.publish("full", padded(limit, say))
	s.ends("full", schemas.StatusSucceeded)
	s.goneID("full")
	bad := padded(limit, func(text string) string { return inline(`, "nonsense": "` + text + `"`) })
	s.publish("full-bad", bad)
	if m := s.stored(s.names.DeadStream(), s.names.Dead("default", "full-bad")); string(m.Data()) != bad {
		t.Errorf("dead letter of %d bytes", len(m.Data()))
	}
	s.goneID("full-bad")
	if err := s.tryPublish(s.names.Run("mock", "default", "over"), padded(limit+1, say), ""); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("over the limit: %v", err)
	}
	s.works("after")
}

// TestResultOverTheServersLimitIsAClearFailure: the answer echoes a text that fills the message.
func TestResultOverTheServersLimitIsAClearFailure(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := s.within()
	defer cancel()
	bucket := "$O." + s.names.ObjectBucket("default") // nobody can make the queue's bucket where another stream has its subjects
	_, err := s.js.CreateStream(ctx, jetstream.StreamConfig{Name: "TAKEN", Subjects: []string{bucket + ".>"}})
	s.must(err)
	text := padded(int(s.nc.MaxPayload()), func(text string) string { return body("say", "ECHO"+text) })
	s.publish("echo", text)
	r := s.ends("echo", schemas.StatusFailed)
	if r.Error.Category != schemas.CategoryInternal || !strings.Contains(r.Error.Message, "max_payload") || r.Output != nil || r.Counts.Calls != 1 {
		t.Errorf("%+v", r)
	}
	if m := s.stored(s.names.DeadStream(), s.names.Dead("default", "echo")); string(m.Data()) != text {
		t.Errorf("dead letter of %d bytes", len(m.Data()))
	}
	s.goneID("echo")
	s.works("after")
}
