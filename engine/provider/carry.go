package provider

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Carried is how a dialect carries a schema as its provider's native constraint (tier 0): the pure answer of a dialect's
// Carry function, used by Build, by the plan, by emend check and by emend validate --portability. The full schema is
// judged by Emend whatever is carried. It is shared: nobody changes it.
type Carried struct {
	// Schema goes out, with the property order of the original; nil when nothing does.
	Schema json.RawMessage
	// Form is the native form in the provider's words: "response_format with strict: true", "output_config.format",
	// "forced tool", "responseJsonSchema", "format", or FormNone.
	Form string
	// Whole says that the provider enforces every keyword of the original.
	Whole bool
	// Hint says that the provider takes what goes out as a hint and enforces nothing of it; Weakened then says why it is no
	// more.
	Hint bool
	// Weakened lists what the provider will not enforce and why, in document order: bounded, each one clause that begins
	// with the place ("at /properties/price: minimum is not enforced"). Losses makes it.
	Weakened []string
}

// FormNone is the Form of a schema that does not go out.
const FormNone = "none"

// Carry says how a dialect carries a schema, given the backend's checked options. It is pure and safe for concurrent
// use, and it does not fail: what cannot be carried at all has Form "none" and its reason in Weakened.
type Carry func(options map[string]any, schema []byte) Carried

// NotCarried is a schema that does not go out; why is one clause about the whole of it.
func NotCarried(why string) Carried {
	var lost Losses
	lost.Add("", "%s", why)
	return Carried{Form: FormNone, Weakened: lost.Clauses()}
}

// lossLimit bounds the clauses that are kept, and with them the memory of a schema that loses everything.
const lossLimit = 40

// placeLimit bounds a place: names are as long as the schema's author likes.
const placeLimit = 200

var tokenEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer extends a JSON pointer by one member name.
func Pointer(at, name string) string { return at + "/" + tokenEscaper.Replace(name) }

// Keyword is a schema's keyword as a clause may name it: an odd one is not repeated.
func Keyword(name string) string {
	if name == "" || Code(strings.TrimPrefix(name, "$")) == "" {
		return "a keyword with an odd name"
	}
	return name
}

// Losses gathers the clauses of Carried.Weakened, each a place and what is lost there. The zero value is ready.
type Losses struct {
	clauses []string
	more    int
}

// Add notes what is lost at a JSON pointer into the schema; "" is its root.
func (l *Losses) Add(at, format string, args ...any) {
	if len(l.clauses) == lossLimit {
		l.more++
		return
	}
	switch {
	case at == "":
		at = "the root"
	case len(at) > placeLimit:
		at = strings.ToValidUTF8(at[:placeLimit], "") + "..."
	}
	l.clauses = append(l.clauses, "at "+at+": "+fmt.Sprintf(format, args...))
}

// Clauses returns what was noted; the last one counts what went beyond the bound. Nil if nothing was.
func (l *Losses) Clauses() []string {
	if l.more == 0 {
		return l.clauses
	}
	return append(l.clauses[:lossLimit:lossLimit], fmt.Sprintf("at %d more places: as much again is lost", l.more))
}

// memorySize bounds a memory of schemas; when it is full it starts anew.
const memorySize = 64

// Remembered makes a costly function of a schema cheap for Build: a process has few schemas and sends each many times.
// Its answers are shared, so nobody may change them. It is a cache and nothing else, safe for concurrent use.
func Remembered[T any](of func(schema []byte) T) func(schema []byte) T {
	var mu sync.Mutex
	known := make(map[string]T, memorySize)
	return func(schema []byte) T {
		mu.Lock()
		defer mu.Unlock()
		if v, ok := known[string(schema)]; ok {
			return v
		}
		if len(known) >= memorySize {
			clear(known)
		}
		v := of(schema)
		known[string(schema)] = v
		return v
	}
}
