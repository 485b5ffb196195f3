package consumer

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// maxChunk is the most that one message of a bucket carries.
const maxChunk = 128 << 10

// Put stores content in a queue's bucket, which is made if it is not there, and returns its SHA-256 in hex.
func (b *Blobs) Put(ctx context.Context, queue string, content []byte) (string, error) {
	sum := sha256.Sum256(content)
	name, in := hex.EncodeToString(sum[:]), b.names.ObjectBucket(queue)
	bucket, err := b.js.ObjectStore(ctx, in)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = b.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: in, TTL: b.ttl, Replicas: b.replicas,
			Description: "large inputs and results", Storage: jetstream.FileStorage})
	}
	var stream jetstream.Stream
	if err == nil {
		stream, err = b.js.Stream(ctx, objectStream(in))
	}
	if err != nil {
		return "", fmt.Errorf("bucket %s: %w", in, err)
	}
	old, err := bucket.GetInfo(ctx, name)
	if err != nil || old.Deleted {
		old = nil
	}
	if old != nil && time.Since(old.ModTime) < blobGrace/2 && holds(ctx, stream, old, content) {
		return name, nil // it outlives what names it from now on; stored anew, its chunks would go while others read them
	}
	if err := b.write(ctx, stream, in, name, content); err != nil {
		return "", fmt.Errorf("store %d bytes in bucket %s: %w", len(content), in, err)
	}
	if old != nil {
		drop(ctx, stream, old)
	}
	return name, nil
}

// holds reports whether an object is some content: what describes it may be there without its chunks.
func holds(ctx context.Context, stream jetstream.Stream, info *jetstream.ObjectInfo, content []byte) bool {
	if info.Size != uint64(len(content)) {
		return false
	}
	has, err := chunks(ctx, stream, info)
	return err == nil && bytes.Equal(has, content)
}

// write stores an object as the library lays it out: chunk by chunk, each of which is there before the next, and what describes it last.
// The library's own Put sends all at once from one buffer. What it sends again, when the server has no leader for a moment, are then
// the bytes of another chunk, and what describes an object is stored though a chunk was refused.
func (b *Blobs) write(ctx context.Context, stream jetstream.Stream, bucket, name string, content []byte) error {
	size := min(maxChunk, int(b.js.Conn().MaxPayload())-headerRoom)
	if size < leastChunk {
		return fmt.Errorf("max_payload of the server is %d bytes, which is too little for chunks", b.js.Conn().MaxPayload())
	}
	sum := sha256.Sum256(content)
	info := &jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(size)}},
		Bucket: bucket, NUID: rand.Text(), Size: uint64(len(content)), Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(sum[:])}
	for chunk := range slices.Chunk(content, size) {
		if _, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: chunkSubject(stream, info), Data: chunk}); err != nil {
			drop(ctx, stream, info)
			return err
		}
		info.Chunks++
	}
	body, err := json.Marshal(info)
	if err != nil {
		return err
	}
	m := nats.NewMsg("$O." + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name)))
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	m.Data = body
	if _, err = b.js.PublishMsg(ctx, m); err != nil {
		return err // the chunks stay: it may be stored all the same
	}
	return nil
}

// drop takes the chunks of an object away. What fails is left to the bucket's age limit.
func drop(ctx context.Context, stream jetstream.Stream, info *jetstream.ObjectInfo) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTry) // it may be why the object is dropped
	defer cancel()
	if info.NUID == "" || strings.ContainsAny(info.NUID, "*>.") {
		return // whoever wrote that means the chunks of others
	}
	_ = stream.Purge(ctx, jetstream.WithPurgeSubject(chunkSubject(stream, info)))
}

// objectStream is the stream that holds an object bucket.
func objectStream(bucket string) string { return "OBJ_" + bucket }

// chunkSubject is where the chunks of an object are.
func chunkSubject(stream jetstream.Stream, info *jetstream.ObjectInfo) string {
	return "$O." + strings.TrimPrefix(stream.CachedInfo().Config.Name, objectStream("")) + ".C." + info.NUID
}
