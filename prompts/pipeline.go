package prompts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"emend/engine/pipeline"
)

// compiledPipeline is a pipeline that can be run.
type compiledPipeline struct {
	def  Pipeline
	plan *pipeline.Plan
	// bindings are the prompts of the stages, by stage and lane, each compiled with what the stage says of it.
	bindings map[stageKey]*compiled
}

type stageKey struct{ stage, lane string }

// Pipelines lists the pipelines by name and version.
func (s *Snapshot) Pipelines() []Pipeline {
	var out []Pipeline
	for _, name := range s.PipelineNames() {
		for _, c := range s.pipelines[name] {
			out = append(out, c.def)
		}
	}
	return out
}

// PipelineNames lists the names of the pipelines, sorted: the tokens of their subjects.
func (s *Snapshot) PipelineNames() []string { return slices.Sorted(maps.Keys(s.pipelines)) }

// PipelinePlan returns the compiled pipeline of "name" (its newest version) or "name@version".
func (s *Snapshot) PipelinePlan(ref string) (*pipeline.Plan, bool) {
	c, p := s.findPipeline(ref)
	if p != nil {
		return nil, false
	}
	return c.plan, true
}

// findPipeline looks up "name" (its newest version) or "name@version".
func (s *Snapshot) findPipeline(ref string) (*compiledPipeline, *Problem) {
	name, version, pinned := strings.Cut(ref, "@")
	versions := s.pipelines[name]
	if len(versions) == 0 {
		names := s.PipelineNames()
		return nil, &Problem{Path: "pipeline", Message: fmt.Sprintf("there is no pipeline %s (there are %s)%s", quoted(name), cmp.Or(strings.Join(names, ", "), "none"), suggest(name, names))}
	}
	newest := versions[len(versions)-1]
	if !pinned {
		return newest, nil
	}
	for _, c := range versions {
		if strconv.Itoa(c.def.Version) == version {
			return c, nil
		}
	}
	return nil, &Problem{Path: "pipeline", Message: fmt.Sprintf("pipeline %s has no version %s; the newest is %d", name, quoted(version), newest.def.Version)}
}

// pipelines reads every pipeline file, as prompts does.
func (l *loader) pipelines(src *source) error {
	entries, err := fs.ReadDir(l.fsys, PipelineDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("definitions: folder %s: %w", PipelineDir, plain(err))
	}
	for _, e := range entries {
		if name := e.Name(); isYAML(name) && !strings.HasPrefix(name, ".") {
			p, r := l.pipeline(name)
			src.pipelines, src.pipelineReports = append(src.pipelines, p), append(src.pipelineReports, r)
		}
	}
	return nil
}

func (l *loader) pipeline(name string) (Pipeline, *report) {
	file := path.Join(PipelineDir, name)
	r := newReport(file)
	p := Pipeline{File: file}
	id, version, ok := promptName(strings.TrimSuffix(name, path.Ext(name)))
	if !ok || !subjectName.MatchString(id) {
		r.fault("", "the file's name must be <name>@<version>.yaml: the name of %s, the version a whole number from 1", pipelineWords)
		return p, r
	}
	p.Name, p.Version = id, version
	text, err := l.read(file)
	if err != nil {
		r.fault("", "%v", err)
		return p, r
	}
	decode(r, pipelineObject, text, &p)
	return p, r
}

// buildPipelines compiles the pipelines, once all prompts are. Where prompts have faults of their own, their pipelines say
// nothing more.
func (src *source) buildPipelines(s *Snapshot) {
	for i, p := range src.pipelines {
		r := src.pipelineReports[i]
		c := src.compilePipeline(s, p, r)
		if c == nil {
			continue
		}
		versions := s.pipelines[p.Name]
		at, found := slices.BinarySearchFunc(versions, p.Version, func(o *compiledPipeline, v int) int { return o.def.Version - v })
		if found {
			r.fault("", "pipeline %s is defined twice", p.Ref())
			continue
		}
		s.pipelines[p.Name] = slices.Insert(versions, at, c)
	}
	s.config.Pipelines = s.PipelineNames()
}
