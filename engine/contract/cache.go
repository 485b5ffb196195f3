package contract

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
)

// Bounds of the cache of compiled contracts: entries, and bytes of the schemas in them.
const (
	cacheEntries = 256
	cacheBytes   = 32 << 20
)

// compiled shares contracts that are equal byte for byte. It is a cache and nothing else: a caller cannot see it.
var compiled = newCache(cacheEntries, cacheBytes)

// cache keeps the most recently used contracts. An entry compiles once, outside the lock, and its waiters share it.
type cache struct {
	mu             sync.Mutex
	entries, bytes int // bounds
	held           int // bytes of schemas in the cache
	order          *list.List
	byKey          map[[sha256.Size]byte]*list.Element
}

type entry struct {
	key  [sha256.Size]byte
	size int
	make func() (*Contract, error)
}

func newCache(entries, bytes int) *cache {
	return &cache{entries: entries, bytes: bytes, order: list.New(), byKey: map[[sha256.Size]byte]*list.Element{}}
}

// get returns the contract of spec, compiling it if it is not held. Errors are held like contracts.
func (c *cache) get(spec Spec) (*Contract, error) {
	head := fmt.Sprintf("%s\x00%t\x00%d\x00%s\x00%s\x00", spec.Mode, spec.LastWins, spec.MaxBytes, spec.Local, rulesKey(spec.Rules))
	key := sha256.Sum256(append([]byte(head), spec.Schema...))
	return c.entry(key, spec).make()
}

func (c *cache) entry(key [sha256.Size]byte, spec Spec) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		c.order.MoveToFront(at)
		return at.Value.(*entry)
	}
	spec.Schema = append([]byte(nil), spec.Schema...)
	e := &entry{key: key, size: len(spec.Schema) + len(spec.Rules)*ruleSize, make: sync.OnceValues(func() (*Contract, error) { return build(spec) })}
	c.byKey[key] = c.order.PushFront(e)
	c.held += e.size
	for c.order.Len() > 1 && (c.order.Len() > c.entries || c.held > c.bytes) {
		c.drop(c.order.Back())
	}
	return e
}

// ruleSize is what a compiled rule is counted as, in bytes.
const ruleSize = 16 << 10

// rulesKey differs for rules that differ in anything.
func rulesKey(rules []Rule) string {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "%q %q %q %q", r.CEL, r.Field, r.Message, r.Fields)
		writeBounds(&b, r.Bounds)
		for i, list := range [][]Clause{r.If, r.Then} {
			for _, c := range list {
				fmt.Fprintf(&b, " %d %q", i, c.Field)
				writeBounds(&b, c.Bounds)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func writeBounds(w *strings.Builder, b Bounds) {
	fmt.Fprintf(w, " %t %q %q %q %q %q %q %q", b.Equals == nil, b.Equals, b.Values, b.Min, b.Max, b.ExclusiveMin, b.ExclusiveMax, b.Pattern)
	for _, n := range []*int{b.MinLength, b.MaxLength, b.MinItems, b.MaxItems} {
		if n == nil {
			w.WriteString(" -")
		} else {
			fmt.Fprintf(w, " %d", *n)
		}
	}
}

func (c *cache) drop(at *list.Element) {
	e := c.order.Remove(at).(*entry)
	delete(c.byKey, e.key)
	c.held -= e.size
}
