package consumer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/subjects"
)

// Catalogs are the numbered catalogs of definitions of a space, in a bucket that all workers follow (design section 8). A
// catalog is what package prompts packs; its number is the revision of its key.
type Catalogs struct{ kv jetstream.KeyValue }

// catalogKey is the one key of the bucket.
const catalogKey = "catalog"

// keptCatalogs is how many catalogs the bucket keeps.
const keptCatalogs = 64

// Catalog is one of them.
type Catalog struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	// Packed is the archive of its files.
	Packed []byte `json:"-"`
}

// ErrNoCatalog says that no catalog has been applied.
var ErrNoCatalog = errors.New("no catalog has been applied in this space; `emend apply DIR` stores one")

// OpenCatalogs binds to the bucket. create makes it if it is not there, with replicas copies.
func OpenCatalogs(ctx context.Context, js jetstream.JetStream, names subjects.Names, create bool, replicas int) (*Catalogs, error) {
	kv, err := js.KeyValue(ctx, names.CatalogBucket())
	if errors.Is(err, jetstream.ErrBucketNotFound) && create {
		kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: names.CatalogBucket(), History: keptCatalogs, Replicas: max(replicas, 1),
			Description: "definition catalogs", Storage: jetstream.FileStorage})
	}
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, ErrNoCatalog
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", names.CatalogBucket(), err)
	}
	return &Catalogs{kv: kv}, nil
}

// Latest returns the newest catalog, or ErrNoCatalog.
func (c *Catalogs) Latest(ctx context.Context) (Catalog, error) {
	e, err := c.kv.Get(ctx, catalogKey)
	return catalogOf(e, err)
}

// Get returns one by its number; the bucket keeps the last 64.
func (c *Catalogs) Get(ctx context.Context, number int) (Catalog, error) {
	if number < 1 {
		return Catalog{}, fmt.Errorf("catalog %d: the number must be at least 1", number)
	}
	e, err := c.kv.GetRevision(ctx, catalogKey, uint64(number))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Catalog{}, fmt.Errorf("catalog %d is not kept; the last %d are", number, keptCatalogs)
	}
	return catalogOf(e, err)
}

func catalogOf(e jetstream.KeyValueEntry, err error) (Catalog, error) {
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Catalog{}, ErrNoCatalog
	}
	if err != nil {
		return Catalog{}, fmt.Errorf("read the catalog: %w", err)
	}
	return Catalog{Number: int(e.Revision()), At: e.Created(), Packed: e.Value()}, nil
}

// List returns the kept catalogs, oldest first.
func (c *Catalogs) List(ctx context.Context) ([]Catalog, error) {
	entries, err := c.kv.History(ctx, catalogKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the catalogs: %w", err)
	}
	out := make([]Catalog, 0, len(entries))
	for _, e := range entries {
		out = append(out, Catalog{Number: int(e.Revision()), At: e.Created(), Packed: e.Value()})
	}
	return out, nil
}

// Apply stores a packed catalog behind the newest, whose number is after (0: there is none). Another's in between is an
// error; the same content as the newest is not stored again, and changed is false.
func (c *Catalogs) Apply(ctx context.Context, packed []byte, after int) (number int, changed bool, err error) {
	newest, err := c.Latest(ctx)
	if err != nil && !errors.Is(err, ErrNoCatalog) {
		return 0, false, err
	}
	if newest.Number != after {
		return 0, false, fmt.Errorf("catalog %d was applied in between; look at it, then apply again", newest.Number)
	}
	if newest.Number > 0 && bytes.Equal(newest.Packed, packed) {
		return newest.Number, false, nil
	}
	var rev uint64
	if after == 0 {
		rev, err = c.kv.Create(ctx, catalogKey, packed)
	} else {
		rev, err = c.kv.Update(ctx, catalogKey, packed, uint64(after))
	}
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return 0, false, fmt.Errorf("the catalog has %d bytes packed, more than the server's max_payload; raise it, or split the space", len(packed))
	case wasWritten(err):
		return 0, false, errors.New("another catalog was applied in the same moment; look at it, then apply again")
	case err != nil:
		return 0, false, fmt.Errorf("store the catalog: %w", err)
	}
	return int(rev), true, nil
}

// Follow calls do with every catalog newer than after, in order, until ctx is done. It survives restarts of the server.
func (c *Catalogs) Follow(ctx context.Context, after int, do func(Catalog)) error {
	w, err := c.kv.Watch(ctx, catalogKey)
	if err != nil {
		return fmt.Errorf("watch the catalog: %w", err)
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Updates():
			if !ok {
				return errors.New("watch the catalog: the server ended the watch")
			}
			if e != nil && e.Operation() == jetstream.KeyValuePut && int(e.Revision()) > after {
				after = int(e.Revision())
				do(Catalog{Number: after, At: e.Created(), Packed: e.Value()})
			}
		}
	}
}
