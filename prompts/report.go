package prompts

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// report collects the faults of one file, or of definitions or a request without a file.
type report struct {
	file string
	// lines holds the line of every field path that the file gives.
	lines map[string]int
	// bad holds the paths whose value could not be read: nothing more is said about them.
	bad      map[string]bool
	problems []Problem
	// root is what the file holds, for the published schema; nil without a file.
	root *yaml.Node
}

func newReport(file string) *report {
	return &report{file: file, lines: map[string]int{}}
}

// fault notes a problem at a path, on the line of the path or of what holds it.
func (r *report) fault(at, format string, args ...any) {
	r.faultOn(r.line(at), at, format, args...)
}

func (r *report) faultOn(line int, at, format string, args ...any) {
	r.refuse(at)
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Path: at, Message: fmt.Sprintf(format, args...)})
}

// refuse notes a path about which nothing more is to be said.
func (r *report) refuse(at string) {
	if r.bad == nil {
		r.bad = map[string]bool{}
	}
	r.bad[at] = true
}

// once is fault for a path about which nothing was said yet.
func (r *report) once(at, format string, args ...any) {
	if !r.bad[at] {
		r.fault(at, format, args...)
	}
}

// warning makes a problem that is not counted as a fault.
func (r *report) warning(at, format string, args ...any) Problem {
	return Problem{File: r.file, Line: r.line(at), Path: at, Message: fmt.Sprintf(format, args...)}
}

// given reports whether the file gives the path.
func (r *report) given(at string) bool { return r.lines[at] != 0 }

func (r *report) line(at string) int {
	for ; at != ""; at = parent(at) {
		if n := r.lines[at]; n != 0 {
			return n
		}
	}
	return r.lines[""]
}

// parent cuts the last part of a path.
func parent(at string) string { return at[:max(strings.LastIndexAny(at, ".["), 0)] }

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func index(at string, i int) string { return fmt.Sprintf("%s[%d]", at, i) }
