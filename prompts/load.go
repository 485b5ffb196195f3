package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"emend/engine/provider/dialects"
	"emend/internal/prices"
)

// The names of the files.
const (
	ConfigFile = "emend.yaml"
	PromptDir  = "prompts"
	// PipelineDir holds the pipelines, <name>@<version>.yaml.
	PipelineDir = "pipelines"
)

// dialectScripted may name its script's file.
const dialectScripted = "scripted"

// Option adds to what the files say. One that gives backends or profiles makes emend.yaml optional.
type Option func(*Config)

// WithBackend adds or replaces a backend.
func WithBackend(name string, b Backend) Option {
	return func(c *Config) { c.Backends = with(c.Backends, name, b) }
}

// WithProfile adds or replaces a profile.
func WithProfile(name string, p Profile) Option {
	return func(c *Config) { c.Profiles = with(c.Profiles, name, p) }
}

func with[T any](m map[string]T, name string, v T) map[string]T {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]T{}
	}
	out[name] = v
	return out
}

// LoadDir loads the definitions of a folder. No path leads out of it: neither .. nor a symbolic link.
func LoadDir(dir string, opts ...Option) (*Snapshot, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("definitions: %w", err)
	}
	defer func() { _ = root.Close() }()
	return LoadFS(root.FS(), opts...)
}

// Check loads a folder for its faults alone. The error is Errors if the definitions are at fault.
func Check(dir string, opts ...Option) (warnings []Problem, err error) {
	s, err := LoadDir(dir, opts...)
	if err != nil {
		return nil, err
	}
	return s.Warnings(), nil
}

// LoadFS loads the definitions of a file system, such as an embed.FS. Its error is Errors if they are at fault.
func LoadFS(fsys fs.FS, opts ...Option) (*Snapshot, error) {
	l := &loader{fsys: fsys, schemas: map[string]json.RawMessage{}}
	src := &source{schema: l.schema}
	r, missing := l.config(&src.config)
	for _, o := range opts {
		o(&src.config)
	}
	if missing && len(src.config.Backends)+len(src.config.Profiles) == 0 {
		r.fault("", "is missing; write backends and profiles into it, or run emend init")
	}
	src.conf = r
	if err := errors.Join(l.prompts(src), l.pipelines(src)); err != nil {
		return nil, err
	}
	return src.build()
}

// loader reads files of one file system.
type loader struct {
	fsys    fs.FS
	schemas map[string]json.RawMessage
}

// read reads a bounded regular file.
func (l *loader) read(name string) ([]byte, error) {
	info, err := fs.Stat(l.fsys, name)
	if err != nil {
		return nil, plain(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is no regular file") // opening a pipe would wait for its writer
	}
	f, err := l.fsys.Open(name)
	if err != nil {
		return nil, plain(err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, plain(err)
	}
	if len(b) > MaxFileBytes {
		return nil, fmt.Errorf("the file has more than %d bytes, which is the limit", MaxFileBytes)
	}
	return b, nil
}

// plain cuts the path, which the report names already.
func plain(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot be read: %w", p.Err)
	}
	return fmt.Errorf("cannot be read: %w", err)
}

// config reads emend.yaml. It may be missing if options give backends or profiles.
func (l *loader) config(c *Config) (r *report, missing bool) {
	r = newReport(ConfigFile)
	text, err := l.read(ConfigFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, true
	case err != nil:
		r.fault("", "%v", err)
	default:
		decode(r, configObject, text, c)
		l.scripts(r, c)
		l.prices(r, c)
	}
	return r, false
}

// decode reads a file by its table; what it holds is checked when everything is read.
func decode(r *report, o *object, text []byte, v any) {
	if r.root = parseYAML(r, text); r.root != nil {
		o.read(r, r.root, "", reflect.ValueOf(v).Elem())
	}
}

// scripts reads the script of a scripted backend where the option names a file.
func (l *loader) scripts(r *report, c *Config) {
	for name, b := range c.Backends {
		file, ok := b.Options["script"].(string)
		if b.Dialect != dialectScripted || !ok || strings.Contains(file, "\n") || !isYAML(file) {
			continue
		}
		text, err := l.read(path.Clean(file))
		if err != nil {
			r.fault("backends."+name+".options.script", "file %s %v", file, err)
			continue
		}
		if script(r, path.Clean(file), text) {
			r.refuse("backends." + name + ".options.script")
		}
		b.Options = maps.Clone(b.Options)
		b.Options["script"] = string(text)
		c.Backends[name] = b
	}
}

// script notes the faults of a script, each on its line of the script's own file, and reports whether there are any.
func script(r *report, file string, text []byte) bool {
	entry, err := dialects.Lookup(dialectScripted)
	if err == nil {
		err = entry.CheckOptions(map[string]any{dialects.OptionScript: string(text)})
	}
	for _, fault := range split(err) {
		_, message, _ := strings.Cut(fault.Error(), ": ")
		for one := range strings.SplitSeq(message, "\n") {
			line, what := yamlError(errors.New(one))
			r.problems = append(r.problems, Problem{File: file, Line: line, Message: what})
		}
	}
	return err != nil
}

// prices reads the operator's own price table.
func (l *loader) prices(r *report, c *Config) {
	if c.Prices == "" {
		return
	}
	text, err := l.read(path.Clean(c.Prices))
	if err == nil {
		c.prices, err = prices.Parse(text)
	}
	if err != nil {
		r.fault("prices", "file %s: %v", c.Prices, err)
	}
}

func isYAML(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

// prompts reads every prompt file. Names that begin with a dot are skipped: ConfigMap mounts keep theirs as ..data.
func (l *loader) prompts(src *source) error {
	entries, err := fs.ReadDir(l.fsys, PromptDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("definitions: folder %s: %w", PromptDir, plain(err))
	}
	for _, e := range entries {
		if name := e.Name(); isYAML(name) && !strings.HasPrefix(name, ".") {
			p, r := l.prompt(name)
			src.prompts, src.reports = append(src.prompts, p), append(src.reports, r)
		}
	}
	return nil
}

func (l *loader) prompt(name string) (Prompt, *report) {
	file := path.Join(PromptDir, name)
	r := newReport(file)
	p := Prompt{File: file}
	id, version, ok := promptName(strings.TrimSuffix(name, path.Ext(name)))
	if !ok {
		r.fault("", "the name must be <id>@<version>.yaml: the id of %s, the version a whole number from 1", looseWords)
		return p, r
	}
	p.ID, p.Version = id, version
	text, err := l.read(file)
	if err != nil {
		r.fault("", "%v", err)
		return p, r
	}
	decode(r, promptObject, text, &p)
	return p, r
}

// promptName splits "id@version".
func promptName(s string) (id string, version int, ok bool) {
	id, digits, found := strings.Cut(s, "@")
	version, err := strconv.Atoi(digits)
	return id, version, found && err == nil && version > 0 && digits[0] != '0' && digits[0] != '+' && looseName.MatchString(id)
}

// schema reads a schema file beside the prompts.
func (l *loader) schema(name string) (json.RawMessage, error) {
	if raw, ok := l.schemas[name]; ok {
		return raw, nil
	}
	if !fs.ValidPath(name) || slices.Contains(strings.Split(name, "/"), "..") {
		return nil, fmt.Errorf("%s must be the name of a file beside the prompts", quoted(name))
	}
	raw, err := l.read(path.Join(PromptDir, name))
	if err != nil {
		return nil, fmt.Errorf("file %s/%s %w", PromptDir, name, err)
	}
	l.schemas[name] = raw
	return raw, nil
}
