package consumer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// Blobs are the large inputs and results of a space, in one object bucket a queue, under their SHA-256 (design section 3,
// step 8). What is stored under its own digest cannot be changed by whoever stores it again.
type Blobs struct {
	js       jetstream.JetStream
	names    subjects.Names
	ttl      time.Duration
	replicas int
}

// blobGrace is how much longer than a result its blob is kept, which is stored before it.
const blobGrace = time.Hour

// NewBlobs makes the blobs of a space. ttl and replicas are those of a bucket that has to be made.
func NewBlobs(js jetstream.JetStream, names subjects.Names, ttl time.Duration, replicas int) *Blobs {
	return &Blobs{js: js, names: names, ttl: ttl + blobGrace, replicas: max(replicas, 1)}
}

// ErrNoBlob says that a queue's bucket does not hold a blob.
var ErrNoBlob = errors.New("there is no such blob in the queue's bucket")

// errOther says that a blob is not what its name promises.
var errOther = errors.New("it holds something else; store it again")

// errTooLarge says that a blob has more bytes than are read.
var errTooLarge = errors.New("more than allowed")

// Get returns the content under a SHA-256 in a queue's bucket, at most limit bytes of it; ErrNoBlob if it is not there.
func (b *Blobs) Get(ctx context.Context, queue, sha string, limit int64) ([]byte, error) {
	name := b.names.ObjectBucket(queue)
	bucket, err := b.js.ObjectStore(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, ErrNoBlob
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	stream, err := b.js.Stream(ctx, objectStream(name))
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	lags := stream.CachedInfo().Config.Replicas > 1
	pause := chunkPause
	for tries := 1; ; tries++ {
		content, err := object(ctx, bucket, stream, sha, limit)
		absent := errors.Is(err, jetstream.ErrObjectNotFound)
		switch {
		case err == nil:
			return content, nil
		case !absent && !errors.Is(err, jetstream.ErrMsgNotFound):
			return nil, fmt.Errorf("blob sha256:%s: %w", sha, err)
		case absent && !lags, tries == chunkTries:
			return nil, ErrNoBlob
		case !sleep(ctx, pause):
			return nil, fmt.Errorf("blob sha256:%s: %w", sha, ctx.Err())
		}
		pause *= 2
	}
}

// A chunk can be missing for a moment: the object was stored anew meanwhile, or a replica that answers lags behind. That one may not
// know of the object at all.
const (
	chunkTries = 6
	chunkPause = 20 * time.Millisecond
)

// object reads the object under a SHA-256, which its content must have.
func object(ctx context.Context, bucket jetstream.ObjectStore, stream jetstream.Stream, sha string, limit int64) ([]byte, error) {
	info, err := bucket.GetInfo(ctx, sha)
	switch {
	case err != nil:
		return nil, err
	case info.Size > uint64(limit):
		return nil, fmt.Errorf("it has %d bytes, %w: allowed are %d", info.Size, errTooLarge, limit)
	}
	content, err := chunks(ctx, stream, info)
	if sum := sha256.Sum256(content); err == nil && hex.EncodeToString(sum[:]) != sha {
		return nil, errOther
	}
	return content, err
}

// chunks reads an object message by message. The library reads through a consumer, which waits for as long as ctx lasts when the
// chunks go after it has looked the object up. Its error is jetstream.ErrMsgNotFound where one is missing.
func chunks(ctx context.Context, stream jetstream.Stream, info *jetstream.ObjectInfo) ([]byte, error) {
	subject := chunkSubject(stream, info)
	content := make([]byte, 0, min(info.Size, mostAnnounced))
	for next, n := uint64(1), uint64(0); uint64(len(content)) < info.Size; n++ {
		m, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subject))
		if err != nil {
			return nil, err
		}
		if len(m.Data) == 0 || uint64(len(content)+len(m.Data)) > info.Size || n > info.Size/leastChunk {
			return nil, errOther
		}
		content, next = append(content, m.Data...), m.Sequence+1
	}
	return content, nil
}

// An object's word for its size is not believed beyond mostAnnounced bytes, and chunks that have less than leastChunk on the whole are
// refused: each is a question to the server.
const (
	mostAnnounced = 1 << 20
	leastChunk    = 256
)

// blobRef is an input that stands in a bucket: text, or with JSON set the JSON value that it holds.
type blobRef struct {
	Blob string `json:"$blob"`
	JSON bool   `json:"json,omitempty"`
}

var blobName = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// maxBlobRef bounds what can be a reference at all.
const maxBlobRef = 256

// refOf reads an input that is a reference; nil for any other value. What begins like one and is none is an error.
func refOf(raw json.RawMessage) (*blobRef, error) {
	if len(raw) > maxBlobRef || !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) || !bytes.Contains(raw, []byte(`"$blob"`)) {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var ref blobRef
	if err := dec.Decode(&ref); err != nil || !blobName.MatchString(ref.Blob) {
		return nil, errors.New(`must be {"$blob": "sha256:<64 hex digits>"}, with "json": true if it holds a JSON value`)
	}
	return &ref, nil
}

// mayName are the inputs that may name blobs, in order: most requests have none.
func mayName(inputs map[string]json.RawMessage) (names []string) {
	for name, raw := range inputs {
		if len(raw) <= maxBlobRef && bytes.Contains(raw, []byte(`"$blob"`)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Resolve puts the content of blobs in the place of the inputs that name them, from the queue's own bucket only. Its error
// matches prompts.ErrMalformed, or prompts.ErrUnknown for a blob that may still be on its way, or be stored anew.
func (b *Blobs) Resolve(ctx context.Context, queue string, req *schemas.Request) error {
	for _, name := range mayName(req.Inputs) {
		ref, err := refOf(req.Inputs[name])
		if err != nil {
			return fmt.Errorf("%w: inputs.%s: %w", prompts.ErrMalformed, name, err)
		}
		if ref == nil {
			continue
		}
		content, err := b.Get(ctx, queue, ref.Blob[len("sha256:"):], schemas.MaxBytes)
		switch {
		case gone(err):
			return fmt.Errorf("%w: inputs.%s: %w", prompts.ErrUnknown, name, err)
		case errors.Is(err, errTooLarge):
			return fmt.Errorf("%w: inputs.%s: %w", prompts.ErrMalformed, name, err)
		case err != nil:
			return fmt.Errorf("inputs.%s: %w", name, err)
		}
		value := json.RawMessage(content)
		if !ref.JSON {
			if value, err = schemas.Marshal(string(content)); err != nil {
				return fmt.Errorf("%w: inputs.%s: %w", prompts.ErrMalformed, name, err)
			}
		}
		req.Inputs[name] = value
	}
	return nil
}

// Offload moves the largest inputs of a request to the queue's bucket until its body has at most limit bytes, and returns
// the body. A request that stays larger is an error.
func (b *Blobs) Offload(ctx context.Context, queue string, req schemas.Request, limit int) ([]byte, error) {
	req.Inputs = maps.Clone(req.Inputs)
	return b.offloaded(ctx, queue, req.Inputs, limit, func() ([]byte, error) { return req.AppendJSON(nil) })
}

// OffloadPipeline does the same for a request for a pipeline run.
func (b *Blobs) OffloadPipeline(ctx context.Context, queue string, req schemas.PipelineRequest, limit int) ([]byte, error) {
	req.Inputs = maps.Clone(req.Inputs)
	return b.offloaded(ctx, queue, req.Inputs, limit, func() ([]byte, error) { return schemas.Marshal(req) })
}

// offloaded moves inputs until what marshal makes of them fits.
func (b *Blobs) offloaded(ctx context.Context, queue string, inputs map[string]json.RawMessage, limit int, marshal func() ([]byte, error)) ([]byte, error) {
	for {
		body, err := marshal()
		if err != nil || len(body) <= limit {
			return body, err
		}
		name := largest(inputs)
		if name == "" || len(inputs[name]) <= maxBlobRef {
			return nil, fmt.Errorf("the request has %d bytes, allowed are %d, and no input is left that could be stored apart", len(body), limit)
		}
		if inputs[name], err = b.offload(ctx, queue, inputs[name]); err != nil {
			return nil, fmt.Errorf("inputs.%s: %w", name, err)
		}
	}
}

func largest(inputs map[string]json.RawMessage) (name string) {
	for _, n := range slices.Sorted(maps.Keys(inputs)) {
		if name == "" || len(inputs[n]) > len(inputs[name]) {
			name = n
		}
	}
	return name
}

func (b *Blobs) offload(ctx context.Context, queue string, raw json.RawMessage) (json.RawMessage, error) {
	ref, content := blobRef{JSON: true}, []byte(raw)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		ref.JSON, content = false, []byte(text)
	}
	sha, err := b.Put(ctx, queue, content)
	if err != nil {
		return nil, err
	}
	ref.Blob = "sha256:" + sha
	return schemas.Marshal(ref)
}

// Fill puts an output that is stored apart into its result, and attempts with their content. An output that is gone is an
// error; attempts that are gone stay without their content, and the reference to it.
func (b *Blobs) Fill(ctx context.Context, r *schemas.Result) error {
	if err := b.fillOutput(ctx, r); err != nil || r.AttemptsBlob == nil {
		return err
	}
	all, err := b.attempts(ctx, r.Queue, r.AttemptsBlob)
	switch {
	case gone(err):
		return nil
	case err != nil:
		return fmt.Errorf("the attempts of %s/%s: %w", r.Queue, r.ID, err)
	}
	r.Attempts, r.AttemptsBlob = all, nil
	return nil
}

// fillOutput puts an output that is stored apart into its result.
func (b *Blobs) fillOutput(ctx context.Context, r *schemas.Result) error {
	if r.OutputBlob == nil {
		return nil
	}
	content, err := b.Get(ctx, r.Queue, r.OutputBlob.SHA256, schemas.MaxBytes)
	if err != nil {
		return fmt.Errorf("the output of %s/%s (%d bytes): %w", r.Queue, r.ID, r.OutputBlob.Bytes, err)
	}
	if r.OutputBlob.Field == schemas.BlobOutputText {
		r.OutputText = new(string(content))
	} else {
		r.Output = content
	}
	r.OutputBlob = nil
	return nil
}

// apart stores the output of a result that is too large for a message, and returns the result without it.
func (b *Blobs) apart(ctx context.Context, r schemas.Result) (schemas.Result, error) {
	blob := schemas.Blob{Field: schemas.BlobOutput}
	content := []byte(r.Output)
	if r.OutputText != nil {
		blob.Field, content = schemas.BlobOutputText, []byte(*r.OutputText)
	}
	if len(content) == 0 {
		return r, errors.New("it is not its output that makes it large")
	}
	var err error
	if blob.SHA256, err = b.Put(ctx, r.Queue, content); err != nil {
		return r, err
	}
	blob.Bytes = int64(len(content))
	r.Output, r.OutputText, r.OutputBlob = nil, nil, &blob
	return r, nil
}
