package provider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"emend/schemas"
)

// Option is one of a dialect's options: its check, its default and its line in the docs.
type Option struct {
	Name string
	// Words are the allowed values, the default first; nil when Check decides.
	Words []string
	// Check refuses a value that is no word.
	Check func(any) error
	Doc   string
}

// CheckOptions refuses unknown options and wrong values, all in one error. The dialect's name is for the message.
func CheckOptions(dialect string, known []Option, given map[string]any) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(known, func(o Option) bool { return o.Name == name })
		if i < 0 {
			errs = append(errs, fmt.Errorf("options.%s: dialect %s has no such option; it has %s", name, dialect, optionNames(known)))
			continue
		}
		if err := known[i].check(given[name]); err != nil {
			errs = append(errs, fmt.Errorf("options.%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func optionNames(known []Option) string {
	names := make([]string, len(known))
	for i, o := range known {
		names[i] = o.Name
	}
	return strings.Join(names, ", ")
}

func (o Option) check(v any) error {
	if o.Check != nil {
		return o.Check(v)
	}
	if s, ok := v.(string); ok && slices.Contains(o.Words, s) {
		return nil
	}
	return fmt.Errorf("must be one of %s", strings.Join(o.Words, ", "))
}

// Word returns the value of an option of words, or its default.
func (e *Endpoint) Word(o Option) string {
	if s, ok := e.Options[o.Name].(string); ok {
		return s
	}
	return o.Words[0]
}

// Members is an option that holds more members of an object of the request, for what Emend has no word for. Those of
// reserved are refused: Emend sets them itself, or could not read the answer to them.
func Members(name, doc string, reserved ...string) Option {
	return Option{Name: name, Doc: doc, Check: func(v any) error {
		m, ok := v.(map[string]any)
		if !ok {
			return errors.New("must be an object of request members")
		}
		for _, member := range slices.Sorted(maps.Keys(m)) {
			if slices.Contains(reserved, member) {
				return fmt.Errorf("%s is a member that Emend sets itself or cannot read the answer to", member)
			}
		}
		if _, err := schemas.Marshal(m); err != nil {
			return fmt.Errorf("has no JSON form: %s", strings.TrimPrefix(err.Error(), "json: "))
		}
		return nil
	}}
}

// WriteMembers adds the members of a Members option to the object that is open, sorted by name.
func (e *Endpoint) WriteMembers(enc *Encoder, o Option) error {
	more, _ := e.Options[o.Name].(map[string]any)
	if len(more) == 0 {
		return nil
	}
	raw, err := schemas.Marshal(more)
	if err != nil {
		return fmt.Errorf("options.%s has no JSON form: %w", o.Name, err)
	}
	enc.Raw(raw[1 : len(raw)-1])
	return nil
}
