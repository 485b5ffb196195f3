package integration

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/consumer"
	"emend/internal/devnats"
	"emend/schemas"
)

// small is a site whose messages may have 32 KiB.
func small(t *testing.T) *site {
	t.Helper()
	s := newSite(t, devnats.Options{MaxPayload: 32 << 10})
	s.worker()
	return s
}

func (s *site) blobs() *consumer.Blobs { return consumer.NewBlobs(s.js, s.names, time.Hour, 1) }

func request(inputs string) string { return fmt.Sprintf(`{"prompt":"say","inputs":%s}`, inputs) }

func TestALargeInputAndALargeResult(t *testing.T) {
	t.Parallel()
	s := small(t)
	text := "ECHO " + strings.Repeat("long ", 40_000)
	ctx, cancel := s.within()
	defer cancel()
	inputs := map[string]json.RawMessage{}
	raw, err := schemas.Marshal(text)
	s.must(err)
	inputs["text"] = raw
	body, err := s.client().Body(ctx, "default", schemas.Request{Prompt: "say", Inputs: inputs})
	s.must(err)
	if len(body) > 1024 || len(inputs["text"]) != len(raw) {
		t.Fatalf("the body has %d bytes; the caller's inputs are %d", len(body), len(inputs["text"]))
	}
	r, err := s.client().Run(ctx, "mock", s.key("large"), body, nil)
	s.must(err)
	if r.Status != schemas.StatusSucceeded || r.Output != nil || r.OutputBlob == nil || r.OutputBlob.Field != schemas.BlobOutput {
		t.Fatalf("%+v", r)
	}
	s.must(s.client().Fill(ctx, r))
	var got string
	if s.must(json.Unmarshal(r.Output, &got)); got != text || r.OutputBlob != nil {
		t.Errorf("the output has %d bytes, want %d", len(got), len(text))
	}
	again, err := s.client().Run(ctx, "mock", s.key("large"), body, nil)
	if s.must(err); again.OutputBlob == nil {
		t.Errorf("the stored result is sent again: %+v", again)
	}
	s.calls(1)
}

// JSON inputs stay JSON, and text stays text, whatever it looks like.
func TestBlobsKeepTheirForm(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := s.within()
	defer cancel()
	sha, err := s.blobs().Put(ctx, "default", []byte(`{"ECHO": [1, 2]}`))
	s.must(err)
	for id, c := range map[string][2]string{"text": {"", `{"ECHO": [1, 2]}`}, "json": {`,"json":true`, `{"ECHO":[1,2]}`}} {
		s.publish(id, request(fmt.Sprintf(`{"text":{"$blob":"sha256:%s"%s}}`, sha, c[0])))
		var got string
		if s.must(json.Unmarshal(s.ends(id, schemas.StatusSucceeded).Output, &got)); got != c[1] {
			t.Errorf("%s: the model got %s", id, got)
		}
	}
}

// What is no blob of the queue's own bucket is refused, and calls nobody.
func TestBadBlobs(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := s.within()
	defer cancel()
	foreign, err := s.blobs().Put(ctx, "team-a", []byte("another team's"))
	s.must(err)
	wrong := sha256.Sum256([]byte("promised"))
	_, err = s.blobs().Put(ctx, "default", []byte("own"))
	s.must(err)
	own, err := s.js.ObjectStore(ctx, s.names.ObjectBucket("default"))
	s.must(err)
	_, err = own.PutBytes(ctx, hex.EncodeToString(wrong[:]), []byte("something else"))
	s.must(err)
	for id, c := range map[string][2]string{
		"elsewhere": {`{"text":{"$blob":"sha256:` + foreign + `"}}`, "there is no such blob in the queue's bucket"},
		"nowhere":   {`{"text":{"$blob":"sha256:` + strings.Repeat("0", 64) + `"}}`, "there is no such blob"},
		"no-digest": {`{"text":{"$blob":"sha256:abc"}}`, "64 hex digits"},
		"a-path":    {`{"text":{"$blob":"../../etc/passwd"}}`, "64 hex digits"},
		"more":      {`{"text":{"$blob":"sha256:` + foreign + `","queue":"team-a"}}`, "64 hex digits"},
	} {
		s.refused(id, request(c[0]), c[1])
	}
	forged := request(`{"text":{"$blob":"sha256:` + hex.EncodeToString(wrong[:]) + `"}}`)
	s.publish("waits", forged) // it may be stored anew
	if e := s.event("waits", schemas.EventWaiting); e.Cause != "unknown_blob" {
		t.Errorf("a blob that holds something else: %+v", e)
	}
	s.refused("forged", forged, "holds something else; store it again")
	huge := strings.Repeat("f", 64)
	raw, err := json.Marshal(jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: huge}, Bucket: s.names.ObjectBucket("default"), NUID: "n", Size: schemas.MaxBytes + 1, Chunks: 1})
	s.must(err)
	_, err = s.js.Publish(ctx, "$O."+s.names.ObjectBucket("default")+".M."+base64.URLEncoding.EncodeToString([]byte(huge)), raw)
	s.must(err)
	s.refused("huge", request(`{"text":{"$blob":"sha256:`+huge+`"}}`), "more than allowed")
	s.calls(0)
}

// An output that another run stored before is the same object.
func TestTheSameOutputIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := small(t)
	text := "ECHO " + strings.Repeat("x", 20_000) // with its JSON form beside it more than a message
	ctx, cancel := s.within()
	defer cancel()
	var shas []string
	for _, id := range []string{"a", "b"} {
		raw, err := schemas.Marshal(text + strings.Repeat("y", 20_000))
		s.must(err)
		body, err := s.client().Body(ctx, "default", schemas.Request{Prompt: "say", Inputs: map[string]json.RawMessage{"text": raw}})
		s.must(err)
		r, err := s.client().Run(ctx, "mock", s.key(id), body, nil)
		s.must(err)
		shas = append(shas, r.OutputBlob.SHA256)
	}
	if shas[0] != shas[1] {
		t.Errorf("%v", shas)
	}
	got, err := s.blobs().Get(ctx, "default", shas[0], 1<<20)
	if s.must(err); !bytes.HasPrefix(got, []byte(`"ECHO xxx`)) {
		t.Errorf("it holds %.20q", got)
	}
	if _, err := s.blobs().Get(ctx, "default", shas[0], 100); err == nil || !strings.Contains(err.Error(), "allowed are 100") {
		t.Errorf("over the limit: %v", err)
	}
}

// An object whose chunks are gone is no blob; nobody waits for them. Stored anew it is one again.
func TestABlobWithoutItsChunks(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := s.within()
	defer cancel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 40_000) // five chunks
	sha, err := s.blobs().Put(ctx, "default", content)
	s.must(err)
	bucket, err := s.js.ObjectStore(ctx, s.names.ObjectBucket("default"))
	s.must(err)
	info, err := bucket.GetInfo(ctx, sha)
	s.must(err)
	if got, err := s.blobs().Get(ctx, "default", sha, 1<<20); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	// Whoever stores it again leaves it to those who read it.
	_, err = s.blobs().Put(ctx, "default", content)
	s.must(err)
	if again, err := bucket.GetInfo(ctx, sha); err != nil || again.NUID != info.NUID {
		t.Errorf("stored anew: %v, %v", again, err)
	}
	stream, err := s.js.Stream(ctx, "OBJ_"+s.names.ObjectBucket("default"))
	s.must(err)
	s.must(stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+s.names.ObjectBucket("default")+".C."+info.NUID)))
	if got, err := s.blobs().Get(ctx, "default", sha, 1<<20); !errors.Is(err, consumer.ErrNoBlob) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_, err = s.blobs().Put(ctx, "default", content)
	s.must(err)
	if got, err := s.blobs().Get(ctx, "default", sha, 1<<20); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// What describes an object may be anybody's in the queue: storing it anew takes away the chunks that it names, and no others.
func TestAForgedObjectTakesNoOtherAway(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := s.within()
	defer cancel()
	kept, err := s.blobs().Put(ctx, "default", []byte("kept"))
	s.must(err)
	sum := sha256.Sum256([]byte("forged"))
	name := hex.EncodeToString(sum[:])
	for _, nuid := range []string{">", "*", ""} {
		body, err := json.Marshal(jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: name}, NUID: nuid, Size: 6, Chunks: 1})
		s.must(err)
		_, err = s.js.Publish(ctx, "$O."+s.names.ObjectBucket("default")+".M."+base64.URLEncoding.EncodeToString([]byte(name)), body)
		s.must(err)
		_, err = s.blobs().Put(ctx, "default", []byte("forged"))
		s.must(err)
		for sha, want := range map[string]string{kept: "kept", name: "forged"} {
			if got, err := s.blobs().Get(ctx, "default", sha, 1<<10); err != nil || string(got) != want {
				t.Errorf("%q: %q, %v", nuid, got, err)
			}
		}
	}
}

// A bucket that has room for what describes an object and none for its chunk keeps the former: that is no object, however often it
// is tried to store one.
func TestAnObjectThatWasRefusedIsNotThere(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := s.within()
	defer cancel()
	_, err := s.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: s.names.ObjectBucket("default"), MaxBytes: 20 << 10})
	s.must(err)
	for range 2 {
		if sha, err := s.blobs().Put(ctx, "default", make([]byte, 30<<10)); err == nil {
			_, err = s.blobs().Get(ctx, "default", sha, 1<<20)
			t.Errorf("it is said to be stored; read: %v", err)
		}
	}
}
