package provider

import "emend/schemas"

// Names ties a provider's usage fields, by dotted name, to the fields of Tokens; Skip marks one to leave out, such as
// a sum of others.
type Names map[string]TokenField

// TokenField is a field of schemas.Tokens.
type TokenField byte

// Fields of Tokens.
const (
	Skip TokenField = iota
	Input
	Output
	Cached
	CacheWritten
	Reasoning
	tokenFields
)

// Bounds of what a usage object may bring: depth, and the number of fields without a name.
const (
	usageDepth = 4
	usageOther = 32
)

// Usage reads a usage object: what is absent, null, negative or no number stays unreported, which is not zero. Fields
// that names does not list go to Other under their dotted name. Nil if nothing was reported.
func Usage(v Value, names Names) *schemas.Tokens {
	if v.Kind() != Object {
		return nil
	}
	u := usage{names: names}
	u.walk("", v, 1)
	if !u.any && len(u.other) == 0 {
		return nil
	}
	return u.tokens()
}

type usage struct {
	names Names
	any   bool
	has   [tokenFields]bool
	n     [tokenFields]int64
	other map[string]float64
}

func (u *usage) walk(prefix string, v Value, depth int) {
	for key, member := range v.Members() {
		switch member.Kind() {
		case Number:
			u.number(prefix, key, member)
		case Object:
			if name, _ := key.Text(); depth < usageDepth && Code(name) != "" {
				u.walk(prefix+name+".", member, depth+1)
			}
		}
	}
}

func (u *usage) number(prefix string, key, v Value) {
	f, ok := v.Float()
	name := string(key.raw[1 : len(key.raw)-1])
	if !ok || f < 0 || Code(name) == "" {
		return
	}
	if prefix != "" {
		name = prefix + name
	}
	field, known := u.names[name]
	switch {
	case known && field == Skip:
	case known && f == float64(int64(f)) && f < 1<<53:
		u.any, u.has[field], u.n[field] = true, true, int64(f)
	default:
		u.keep(name, f)
	}
}

func (u *usage) keep(name string, f float64) {
	if u.other == nil {
		u.other = map[string]float64{}
	}
	if len(u.other) < usageOther {
		u.other[name] = f
	}
}

// tokens puts all counts into one allocation.
func (u *usage) tokens() *schemas.Tokens {
	counts := u.n
	at := func(f TokenField) *int64 {
		if !u.has[f] {
			return nil
		}
		return &counts[f]
	}
	return &schemas.Tokens{Input: at(Input), Output: at(Output), Cached: at(Cached), CacheWritten: at(CacheWritten),
		Reasoning: at(Reasoning), Other: u.other}
}
