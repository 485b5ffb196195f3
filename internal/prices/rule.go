package prices

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// rule says which names a model goes by: exactly one of its fields is set. Names are compared in small letters.
type rule struct {
	Equals     string `json:"equals,omitempty"`
	StartsWith string `json:"starts_with,omitempty"`
	EndsWith   string `json:"ends_with,omitempty"`
	Contains   string `json:"contains,omitempty"`
	Regex      string `json:"regex,omitempty"`
	Not        *rule  `json:"not,omitempty"`
	And        []rule `json:"and,omitempty"`
	Or         []rule `json:"or,omitempty"`

	regex *regexp.Regexp
}

func (r *rule) compile() error {
	set := 0
	for _, s := range []*string{&r.Equals, &r.StartsWith, &r.EndsWith, &r.Contains} {
		if *s != "" {
			set++
			*s = strings.ToLower(*s)
		}
	}
	for _, is := range []bool{r.Regex != "", r.Not != nil, r.And != nil, r.Or != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return errors.New("match: give exactly one of equals, starts_with, ends_with, contains, regex, not, and, or")
	}
	if r.Regex != "" {
		var err error
		if r.regex, err = regexp.Compile("(?i)" + r.Regex); err != nil {
			return fmt.Errorf("match: %w", err)
		}
	}
	return r.parts((*rule).compile)
}

// parts calls do for the rules within, up to the first error.
func (r *rule) parts(do func(*rule) error) error {
	if r.Not != nil {
		if err := do(r.Not); err != nil {
			return err
		}
	}
	for _, list := range [][]rule{r.And, r.Or} {
		for i := range list {
			if err := do(&list[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *rule) matches(name string) bool {
	switch {
	case r.Equals != "":
		return name == r.Equals
	case r.StartsWith != "":
		return strings.HasPrefix(name, r.StartsWith)
	case r.EndsWith != "":
		return strings.HasSuffix(name, r.EndsWith)
	case r.Contains != "":
		return strings.Contains(name, r.Contains)
	case r.regex != nil:
		return r.regex.MatchString(name)
	case r.Not != nil:
		return !r.Not.matches(name)
	case r.And != nil:
		for i := range r.And {
			if !r.And[i].matches(name) {
				return false
			}
		}
		return true
	}
	for i := range r.Or {
		if r.Or[i].matches(name) {
			return true
		}
	}
	return false
}
