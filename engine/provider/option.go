package provider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
