package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Digest is the hex SHA-256 of texts, none of which can pass for a part of its neighbour.
func Digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256(p)
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ReuseKey is the digest under which a job's output is kept: all that shaped it. Where a chunk or a lane stands does not.
func ReuseKey(step Step, inputs map[string]json.RawMessage) string {
	parts := [][]byte{[]byte(step.Digest)}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		parts = append(parts, []byte(name), inputs[name])
	}
	return Digest(parts...)
}

// ParentTag is the part of a child's id that tells its parent, ContentTag the part that tells what the parent asked, under
// which definition: a request of other content does not meet the children of the one before it.
func ParentTag(queue, id string) string { return "p-" + Digest([]byte(queue), []byte(id))[:24] }

// ContentTag: see ParentTag.
func ContentTag(fingerprint, digest string) string {
	return Digest([]byte(fingerprint), []byte(digest))[:16]
}
