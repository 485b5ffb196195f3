package prompts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Secret says where a credential is: in an environment variable or in a file. Its value is never part of a snapshot.
type Secret struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
}

// IsZero reports that no credential is meant.
func (s Secret) IsZero() bool { return s == Secret{} }

// maxSecret bounds the file of a credential.
const maxSecret = 64 << 10

// Resolve reads the credential now. Its error names the variable or the file, never the value.
func (s Secret) Resolve(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if s.Env != "" {
		return oneLine(os.Getenv(s.Env), "environment variable "+s.Env, "set it where the worker runs")
	}
	if s.File == "" {
		return "", errors.New("the credential has neither env nor file")
	}
	text, err := readSecret(s.File)
	if err != nil {
		return "", err
	}
	return oneLine(strings.TrimRight(text, "\r\n"), "file "+s.File, "write the credential into it")
}

// text reads a value of several lines, such as PEM. Its error names the variable or the file, never the value.
func (s Secret) text() (string, error) {
	if s.Env == "" {
		return readSecret(s.File)
	}
	v := os.Getenv(s.Env)
	if v == "" {
		return "", fmt.Errorf("environment variable %s is empty or not set; set it where the worker runs", s.Env)
	}
	return v, nil
}

func readSecret(name string) (string, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("%w", err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("%w", err)
	}
	if len(b) > maxSecret {
		return "", fmt.Errorf("file %s has more than %d bytes; it should hold the credential alone", name, maxSecret)
	}
	return string(b), nil
}

// oneLine refuses a value that no header can carry.
func oneLine(v, where, hint string) (string, error) {
	if v == "" {
		return "", fmt.Errorf("%s is empty or not set; %s", where, hint)
	}
	if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%s holds control characters or several lines; it must be one line", where)
	}
	return v, nil
}

// Value is a header's value: a literal, or the place of a secret.
type Value struct {
	Literal string
	Secret  Secret
}

// Resolve returns the literal, or reads the secret.
func (v Value) Resolve(ctx context.Context) (string, error) {
	if v.Secret.IsZero() {
		return v.Literal, nil
	}
	return v.Secret.Resolve(ctx)
}
