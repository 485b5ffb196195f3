package batch

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"

	"emend/schemas"
)

// Input is a batch file with what its lines leave open.
type Input struct {
	Path string
	// Prompt and Profile are for lines that name none. Prefix goes before every id.
	Prompt, Profile, Prefix string
	// ProfileOf finds the profile for the model that an OpenAI Batch line names; it is asked only without Profile.
	ProfileOf func(model string) (string, error)
	// CheckID tells what no id of a run may be.
	CheckID func(id string) error
	// CheckRequest tells what is wrong with a run, as far as that is known before it is published; nil for no such check.
	CheckRequest func(schemas.Request) error
}

// Line is one run of a batch. N is its line in the file, from 1.
type Line struct {
	N       int
	ID      string
	Request schemas.Request
}

// customID is the metadata field that keeps the custom_id of an OpenAI Batch line that is no id of a run.
const customID = "custom_id"

// LineError says what is wrong with a line of the file.
type LineError struct {
	// Line counts from 1, as editors do.
	Line int
	Err  error
}

// Error names the line.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Lines reads the file. A bad line gives a *LineError, and the reading goes on; any other error ends it.
func (in *Input) Lines() iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		f, err := os.Open(in.Path)
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer f.Close()
		in.read(f, yield)
	}
}

func (in *Input) read(r io.Reader, yield func(Line, error) bool) {
	lines := reader(r)
	for n := 1; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if n == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if len(text) == 0 {
			continue
		}
		line, err := in.parse(text)
		if line.N = n; err != nil {
			err = &LineError{n, err}
		}
		if !yield(line, err) {
			return
		}
	}
	if err := lines.Err(); err != nil {
		yield(Line{}, fmt.Errorf("%s: %w", in.Path, err))
	}
}

// reader splits into lines of at most what a message may hold.
func reader(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), schemas.MaxBytes)
	return s
}

func (in *Input) parse(text []byte) (Line, error) {
	l, err := schemas.DecodeBatchLine(text)
	if err != nil {
		return Line{}, err
	}
	if l.Request.Profile == "" {
		l.Request.Profile = in.Profile
	}
	if in.Prompt != "" && (l.OpenAI || l.Request.Messages != nil) {
		return Line{}, errors.New("the line brings its own messages, to which --prompt does not apply; leave --prompt out, or give such lines a file of their own")
	}
	if l.OpenAI {
		err = in.openAI(&l)
	} else if l.Request.Prompt == "" && l.Request.Messages == nil {
		if l.Request.Prompt = in.Prompt; l.Request.Prompt == "" {
			err = errors.New("the line names no prompt; give --prompt, or a field prompt")
		}
	}
	if err != nil {
		return Line{}, err
	}
	l.ID = in.Prefix + l.ID
	return Line{ID: l.ID, Request: l.Request}, in.CheckID(l.ID)
}

// openAI finds the profile of a line, and an id for a custom_id that is none: its digest, so that it is the same every time.
func (in *Input) openAI(l *schemas.BatchLine) (err error) {
	if l.Request.Profile == "" {
		if l.Request.Profile, err = in.ProfileOf(l.Model); err != nil {
			return err
		}
	}
	if in.CheckID(in.Prefix+l.ID) == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(l.ID))
	l.Request.Metadata = maps.Clone(l.Request.Metadata)
	if l.Request.Metadata == nil {
		l.Request.Metadata = map[string]string{}
	}
	l.Request.Metadata[customID] = l.ID
	l.ID = "c-" + hex.EncodeToString(sum[:16])
	return nil
}
