package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"emend/schemas"
)

// Words of a combination.
const (
	ByConcatenate = "concatenate"
	ByUnique      = "unique"
	BySort        = "sort"
	ByCEL         = "cel"
)

// Combinations lists them.
var Combinations = []string{ByConcatenate, ByUnique, BySort, ByCEL}

// Combine makes one value of several, or another of one, without a model.
type Combine struct {
	By string
	// At leads to the list in each value, member by member; none means the value itself.
	At []string
	// Key leads to what tells one entry from another, or orders them; none means the entry itself.
	Key [][]string
	// Descending turns the order of a sort around.
	Descending bool
	// Separator stands between texts that are concatenated.
	Separator string
	// Expression is that of cel.
	Expression *Expression
}

// errNothing says that there is nothing to merge.
var errNothing = errors.New("there is nothing to merge: no output was accepted")

// Merge makes one value of the accepted outputs, in the order of their chunks.
func (c Combine) Merge(outputs []json.RawMessage) (json.RawMessage, error) {
	if len(outputs) == 0 {
		return nil, errNothing
	}
	if c.By == ByCEL {
		return c.Expression.eval(outputs)
	}
	if texts, ok := allTexts(outputs); ok && len(c.At) == 0 && c.By == ByConcatenate {
		return schemas.Marshal(strings.Join(texts, c.Separator))
	}
	if len(c.At) == 0 && c.By == ByConcatenate {
		return concatenated(outputs)
	}
	var all []json.RawMessage
	for i, out := range outputs {
		entries, err := c.entries(out)
		if err != nil {
			return nil, fmt.Errorf("output %d: %w", i+1, err)
		}
		all = append(all, entries...)
	}
	return c.arrange(all)
}

// concatenated is a list of the entries of all outputs; one that is no list is an entry. Of thousands of outputs none is decoded.
func concatenated(outputs []json.RawMessage) (json.RawMessage, error) {
	size := 2
	for _, out := range outputs {
		size += len(out) + 1
	}
	b := bytes.NewBuffer(append(make([]byte, 0, size), '[')) // megabytes are not copied as they grow
	for i, out := range outputs {
		before := b.Len()
		if before > 1 {
			b.WriteByte(',')
		}
		at := b.Len()
		if err := json.Compact(b, out); err != nil {
			return nil, fmt.Errorf("output %d: %w", i+1, err)
		}
		switch value := b.Bytes()[at:]; {
		case string(value) == "[]":
			b.Truncate(before)
		case value[0] == '[':
			copy(value, value[1:len(value)-1])
			b.Truncate(b.Len() - 2)
		}
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

// Apply makes another value of a merged one.
func (c Combine) Apply(value json.RawMessage) (json.RawMessage, error) {
	if c.By == ByCEL {
		return c.Expression.eval(value)
	}
	entries, err := c.entries(value)
	if err != nil {
		return nil, err
	}
	return c.arrange(entries)
}

func (c Combine) arrange(entries []json.RawMessage) (json.RawMessage, error) {
	switch c.By {
	case ByUnique:
		entries = c.unique(entries)
	case BySort:
		entries = c.sorted(entries)
	}
	if entries == nil {
		entries = []json.RawMessage{}
	}
	return schemas.Marshal(entries)
}

// entries are the parts of one value: of the list at At, or the value itself if it is none.
func (c Combine) entries(value json.RawMessage) ([]json.RawMessage, error) {
	at, ok := member(value, c.At)
	if !ok {
		return nil, fmt.Errorf("it has no %s", strings.Join(c.At, "."))
	}
	var list []json.RawMessage
	if json.Unmarshal(at, &list) == nil && bytes.HasPrefix(bytes.TrimSpace(at), []byte("[")) {
		return list, nil
	}
	if len(c.At) > 0 {
		return nil, fmt.Errorf("its %s is no list", strings.Join(c.At, "."))
	}
	return []json.RawMessage{value}, nil
}

// unique keeps the first entry of each key. An entry without the key is like no other.
func (c Combine) unique(entries []json.RawMessage) []json.RawMessage {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(entries), func(e json.RawMessage) bool {
		key, ok := c.keyOf(e)
		twice := ok && seen[key]
		seen[key] = true
		return twice
	})
}

// keyOf is a text that is the same for equal keys.
func (c Combine) keyOf(e json.RawMessage) (string, bool) {
	if len(c.Key) == 0 {
		return canonical(e), true
	}
	var b strings.Builder
	for _, path := range c.Key {
		v, ok := member(e, path)
		if !ok {
			return "", false
		}
		b.WriteString(canonical(v) + "\x00")
	}
	return b.String(), true
}

// sorted orders by the keys, one after the other; an entry without a key comes last. Equal ones keep their order.
func (c Combine) sorted(entries []json.RawMessage) []json.RawMessage {
	type keyed struct {
		entry json.RawMessage
		keys  []sortKey
	}
	all := make([]keyed, len(entries))
	paths := c.Key
	if len(paths) == 0 {
		paths = [][]string{nil}
	}
	for i, e := range entries {
		all[i].entry = e
		for _, path := range paths {
			v, ok := member(e, path)
			all[i].keys = append(all[i].keys, keyFor(v, ok))
		}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		for i := range a.keys {
			if n := a.keys[i].compare(b.keys[i], c.Descending); n != 0 {
				return n
			}
		}
		return 0
	})
	out := make([]json.RawMessage, len(all))
	for i, k := range all {
		out[i] = k.entry
	}
	return out
}

// sortKey is a value that can be ordered: null, false, true, numbers, texts, then all else by its text.
type sortKey struct {
	missing bool
	rank    int
	number  *big.Rat
	text    string
}

func keyFor(v json.RawMessage, ok bool) sortKey {
	if !ok {
		return sortKey{missing: true}
	}
	v = bytes.TrimSpace(v)
	switch v[0] {
	case 'n':
		return sortKey{rank: 0}
	case 'f':
		return sortKey{rank: 1}
	case 't':
		return sortKey{rank: 2}
	case '"':
		var s string
		_ = json.Unmarshal(v, &s)
		return sortKey{rank: 4, text: s}
	case '{', '[':
		return sortKey{rank: 5, text: canonical(v)}
	}
	n, _ := new(big.Rat).SetString(string(v))
	return sortKey{rank: 3, number: n}
}

func (k sortKey) compare(o sortKey, descending bool) int {
	switch {
	case k.missing && o.missing:
		return 0
	case k.missing:
		return 1
	case o.missing:
		return -1
	}
	n := k.rank - o.rank
	if n == 0 && k.number != nil && o.number != nil {
		n = k.number.Cmp(o.number)
	}
	if n == 0 {
		n = strings.Compare(k.text, o.text)
	}
	if descending {
		return -n
	}
	return n
}

// member follows a path of members; none is the value itself.
func member(v json.RawMessage, path []string) (json.RawMessage, bool) {
	for _, name := range path {
		var o map[string]json.RawMessage
		if json.Unmarshal(v, &o) != nil {
			return nil, false
		}
		next, ok := o[name]
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

func allTexts(values []json.RawMessage) (out []string, ok bool) {
	for _, v := range values {
		var s string
		if json.Unmarshal(v, &s) != nil || !bytes.HasPrefix(bytes.TrimSpace(v), []byte(`"`)) {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// canonical is the same text for equal values: members sorted, numbers by value.
func canonical(v json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var x any
	if dec.Decode(&x) != nil {
		return string(v)
	}
	b, err := json.Marshal(byValue(x))
	if err != nil {
		return string(v)
	}
	return string(b)
}

func byValue(x any) any {
	switch x := x.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(string(x)); ok {
			return map[string]string{"#": r.RatString()}
		}
	case map[string]any:
		for name, v := range x {
			x[name] = byValue(v)
		}
	case []any:
		for i, v := range x {
			x[i] = byValue(v)
		}
	}
	return x
}
