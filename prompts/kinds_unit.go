package prompts

import (
	"fmt"
	"reflect"

	"gopkg.in/yaml.v3"
)

// span is a duration within bounds, both included.
type span struct{ min, max Duration }

func (k span) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	d, err := ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		r.fault(at, "must be a %s; %v", k.words(), errDuration)
		return
	}
	v.SetInt(int64(d))
}

func (k span) check(r *report, at string, v reflect.Value) {
	if d := Duration(v.Int()); d < k.min || d > k.max {
		r.fault(at, "is %s; it must be a %s", d, k.words())
	}
}

func (span) schema() ordered {
	return ordered{{"type", "string"}, {"pattern", `^([0-9]+d)?([0-9.]+(ns|us|µs|μs|ms|s|m|h))*$`}}
}

func (k span) words() string { return fmt.Sprintf("duration from %s to %s", k.min, k.max) }

// amount is a size within bounds.
type amount struct{ min, max Size }

func (k amount) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	s, err := ParseSize(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		r.fault(at, "must be a %s; %v", k.words(), errSize)
		return
	}
	v.SetInt(int64(s))
}

func (k amount) check(r *report, at string, v reflect.Value) {
	if s := Size(v.Int()); s < k.min || s > k.max {
		r.fault(at, "is %s; it must be a %s", s, k.words())
	}
}

func (amount) schema() ordered {
	return ordered{{"type", "string"}, {"pattern", `^[0-9]+(B|KiB|MiB|GiB|TiB)$`}}
}

func (k amount) words() string { return fmt.Sprintf("size from %s to %s", k.min, k.max) }
