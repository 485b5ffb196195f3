package prompts

import (
	"errors"
	"io/fs"
)

type compiled struct{ def Prompt }

func (s *Snapshot) find(string) (*compiled, *Problem) { return nil, &Problem{} }

// Option adds to what the files say.
type Option func(*Config)

// WithBackend adds or replaces a backend.
func WithBackend(name string, b Backend) Option { return func(c *Config) { c.Backends[name] = b } }

// WithProfile adds or replaces a profile.
func WithProfile(name string, p Profile) Option { return func(c *Config) { c.Profiles[name] = p } }

// LoadDir loads the definitions of a folder.
func LoadDir(dir string, opts ...Option) (*Snapshot, error) {
	return nil, errors.New("prompts: not built")
}

// LoadFS loads the definitions of a file system, such as an embed.FS.
func LoadFS(fsys fs.FS, opts ...Option) (*Snapshot, error) {
	return nil, errors.New("prompts: not built")
}

// Check loads a folder for its faults alone.
func Check(dir string, opts ...Option) (warnings []Problem, err error) {
	return nil, errors.New("prompts: not built")
}

// NewSnapshot checks and compiles definitions that a program made.
func NewSnapshot(d Definitions) (*Snapshot, error) { return nil, errors.New("prompts: not built") }
