package prompts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is one fault of a definition or a request: where it is and what to do. It never holds an input's text.
type Problem struct {
	// File and Line are empty for requests and for definitions made by a program.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Path is a field path such as backends.openai.url or messages[1].role; "" is the whole.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// String is file:line: path: message, without what is not known.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	return b.String() + p.Message
}

// Errors are all faults of a set of definitions, sorted by file, line and path.
type Errors []Problem

// Error lists the problems, one a line.
func (e Errors) Error() string { return lines(e) }

func lines(problems []Problem) string {
	all := make([]string, len(problems))
	for i, p := range problems {
		all[i] = p.String()
	}
	return strings.Join(all, "\n")
}

// sorted orders problems for people and drops repetitions.
func sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(problems)
}

// Class says what becomes of a refused request.
type Class string

// Classes of a RequestError.
const (
	// Malformed: no catalog will ever accept it.
	Malformed Class = "malformed"
	// Unknown: it names a prompt, version, profile or queue that this catalog lacks; the next may have it.
	Unknown Class = "unknown"
	// Forbidden: it sets what its queue does not let requesters set.
	Forbidden Class = "forbidden"
)

// What a RequestError matches with errors.Is.
var (
	ErrMalformed = errors.New("malformed request")
	ErrUnknown   = errors.New("request for something unknown")
	ErrForbidden = errors.New("forbidden request")
)

// RequestError lists everything that is wrong with a request. If its faults are of several classes, the class is the
// one that lasts: malformed before forbidden before unknown.
type RequestError struct {
	Class    Class
	Problems []Problem
}

// Error tells the class and all problems in one line.
func (e *RequestError) Error() string {
	return string(e.Class) + " request: " + strings.ReplaceAll(lines(e.Problems), "\n", "; ")
}

// Is matches the error of the class.
func (e *RequestError) Is(target error) bool {
	switch e.Class {
	case Malformed:
		return target == ErrMalformed
	case Unknown:
		return target == ErrUnknown
	}
	return target == ErrForbidden
}

// quoted shows a name from outside, escaped and bounded.
func quoted(s string) string {
	if len(s) > 64 {
		return fmt.Sprintf("%+q... (%d bytes)", s[:64], len(s))
	}
	return fmt.Sprintf("%+q", s)
}
