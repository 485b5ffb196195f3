package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"emend/consumer"
)

// The leader of a bucket changes while objects are stored and read through other connections: what is said to be stored can be read
// at once, wherever, and is what was stored.
func TestObjectsWhoseLeaderChanges(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var all []*consumer.Blobs
	for range 4 {
		_, js := c.dial()
		all = append(all, consumer.NewBlobs(js, c.names, time.Hour, 3))
	}
	put := func(b *consumer.Blobs, content []byte) (sha string) {
		c.eventually("it is stored", func() (stored bool) {
			var err error
			sha, err = b.Put(context.Background(), "default", content) // a question that nobody answers is asked again soon
			return err == nil
		})
		return sha
	}
	put(all[0], []byte("first"))
	var writers, harm sync.WaitGroup
	harm.Go(func() {
		for range 12 {
			c.stepDown("STREAM.LEADER.STEPDOWN.OBJ_" + c.names.ObjectBucket("default"))
		}
	})
	for w := range 4 {
		writers.Go(func() {
			for i := range 8 {
				content := bytes.Repeat(fmt.Appendf(nil, "%d of %d, ", i, w), 50_000) // five chunks, the last a short one
				sha := put(all[w], content)
				c.eventually("it is read", func() bool {
					got, err := all[(w+1)%4].Get(context.Background(), "default", sha, 1<<20)
					if errors.Is(err, consumer.ErrNoBlob) || err == nil && !bytes.Equal(got, content) {
						t.Errorf("%d bytes, %v", len(got), err)
						return true
					}
					return err == nil
				})
			}
		})
	}
	writers.Wait()
	harm.Wait()
}
