package schemas

import (
	"encoding/json"
	"maps"
	"slices"
)

// Tokens is what one provider call reported of its usage. A nil field was not reported, which is not zero.
type Tokens struct {
	// Input includes what was read from a cache.
	Input        *int64 `json:"input_tokens,omitempty"`
	Output       *int64 `json:"output_tokens,omitempty"`
	Cached       *int64 `json:"cached_tokens,omitempty"`
	CacheWritten *int64 `json:"cache_written_tokens,omitempty"`
	Reasoning    *int64 `json:"reasoning_tokens,omitempty"`
	// Other holds numeric fields that Emend has no name for, under the provider's own (dotted) names.
	Other map[string]float64 `json:"other,omitempty"`
}

// Empty reports that no field was reported.
func (t *Tokens) Empty() bool {
	return t == nil || (t.Input == nil && t.Output == nil && t.Cached == nil && t.CacheWritten == nil && t.Reasoning == nil && len(t.Other) == 0)
}

// tokenNames are the names of fields, in their order.
var tokenNames = [...]string{"input_tokens", "output_tokens", "cached_tokens", "cache_written_tokens", "reasoning_tokens"}

func (t *Tokens) fields() [len(tokenNames)]**int64 {
	return [...]**int64{&t.Input, &t.Output, &t.Cached, &t.CacheWritten, &t.Reasoning}
}

// Usage is the sum over the calls of a run. Complete says that every completed call reported both input and output
// tokens; Partial lists the fields that some calls reported and others did not.
type Usage struct {
	Tokens
	Calls             int      `json:"calls"`
	CallsWithoutUsage int      `json:"calls_without_usage"`
	Complete          bool     `json:"complete"`
	Partial           []string `json:"partial,omitempty"`
}

// UsageSum accumulates the usage of calls. The zero value is ready; it is part of a run's saved State. It is not safe
// for concurrent use.
type UsageSum struct {
	Sum      Tokens         `json:"sum"`
	Reported map[string]int `json:"reported,omitempty"`
	Calls    int            `json:"calls"`
	Without  int            `json:"without"`
}

// Add counts one call that may have been billed. A nil or empty t counts as a call that reported nothing.
// The maps of u are replaced, not written to, so a copied State stays what it was.
func (u *UsageSum) Add(t *Tokens) {
	u.Calls++
	if t.Empty() {
		u.Without++
		return
	}
	reported := u.counts()
	for i, p := range t.fields() {
		if *p != nil {
			reported[tokenNames[i]]++
		}
	}
	for name := range t.Other {
		reported[name]++
	}
	u.Reported = reported
	u.merge(*t)
}

// counts is a copy of Reported to be written to.
func (u *UsageSum) counts() map[string]int {
	if u.Reported == nil {
		return map[string]int{}
	}
	return maps.Clone(u.Reported)
}

// Join adds the calls of another sum.
func (u *UsageSum) Join(o UsageSum) {
	u.Calls += o.Calls
	u.Without += o.Without
	if len(o.Reported) == 0 {
		return
	}
	u.Reported = u.counts()
	for name, n := range o.Reported {
		u.Reported[name] += n
	}
	u.merge(o.Sum)
}

// merge adds sums.
func (u *UsageSum) merge(t Tokens) {
	sums := u.Sum.fields()
	for i, p := range t.fields() {
		if *p == nil {
			continue
		}
		old := *sums[i]
		if old == nil {
			*sums[i] = *p // nobody writes to a number that is told
			continue
		}
		total := **p + *old
		*sums[i] = &total
	}
	u.addOther(t.Other)
}

func (u *UsageSum) addOther(other map[string]float64) {
	if len(other) == 0 {
		return
	}
	u.Sum.Other = maps.Clone(u.Sum.Other)
	if u.Sum.Other == nil {
		u.Sum.Other = map[string]float64{}
	}
	for name, v := range other {
		u.Sum.Other[name] += v
	}
}

// Usage returns the wire form.
func (u UsageSum) Usage() *Usage {
	out := &Usage{Tokens: u.Sum, Calls: u.Calls, CallsWithoutUsage: u.Without}
	for name, n := range u.Reported {
		if n < u.Calls {
			out.Partial = append(out.Partial, name)
		}
	}
	slices.Sort(out.Partial)
	out.Complete = u.Calls > 0 && u.Reported["input_tokens"] == u.Calls && u.Reported["output_tokens"] == u.Calls
	return out
}

// Finding is one located fault of a candidate.
type Finding struct {
	// Pointer is an RFC 6901 pointer into the candidate; "" is the root.
	Pointer string `json:"pointer"`
	// Keyword is the JSON Schema keyword that failed, or the class of a text that is no single JSON value.
	Keyword string `json:"keyword"`
	Message string `json:"message"`
	// Expected is the value of the keyword in the sub-schema that applied, where it is short.
	Expected json.RawMessage `json:"expected,omitempty"`
}
