package prompts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// Duration is written as 90s, 1h30m or 7d.
type Duration time.Duration

// Std is the duration of package time.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String is how it is written.
func (d Duration) String() string {
	if t := time.Duration(d); t > 0 && t%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", t/(24*time.Hour))
	}
	return time.Duration(d).String()
}

// parse reads the written form: not negative.
func (d *Duration) parse(s string) error {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err == nil && n >= 0 && n <= 36500 {
			*d = Duration(n * float64(24*time.Hour))
			return nil
		}
	}
	t, err := time.ParseDuration(s)
	if err != nil || t < 0 {
		return fmt.Errorf("%s is no duration: write 90s, 5m, 1h30m or 7d", show(s))
	}
	*d = Duration(t)
	return nil
}

// Size is a number of bytes, written as 64KiB, 4GiB or 1000.
type Size int64

// String is how it is written.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if n := int64(s); u.name != "" && n > 0 && n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}

// parse reads the written form: not negative.
func (s *Size) parse(text string) error {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			break
		}
		*s = Size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%s is no size: write 64KiB, 10MiB or 4GiB", show(text))
}

// Secret says where a credential is: in an environment variable or in a file. It is read at execution.
type Secret struct {
	Env  string `yaml:"env" doc:"The environment variable that holds it."`
	File string `yaml:"file" doc:"The file that holds it; surrounding white space is cut."`
}

// Set reports whether a credential is named.
func (s Secret) Set() bool { return s.Env != "" || s.File != "" }

func (s Secret) check() error {
	if s.Env != "" && s.File != "" {
		return errors.New("give env or file, not both")
	}
	if !s.Set() {
		return errors.New("give {env: NAME} or {file: PATH}")
	}
	return nil
}

// Resolve reads the credential. The error names the variable or file, never the value.
func (s Secret) Resolve(context.Context) (string, error) {
	if s.Env != "" {
		if v := strings.TrimSpace(os.Getenv(s.Env)); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("the credential is missing: the environment variable %s is not set", s.Env)
	}
	b, err := os.ReadFile(s.File)
	if err != nil {
		return "", fmt.Errorf("the credential is missing: %w", err)
	}
	if v := strings.TrimSpace(string(b)); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("the credential is missing: the file %s is empty", s.File)
}

// HeaderValue is a literal, or a credential.
type HeaderValue struct {
	Literal string
	Secret  Secret
}
