package batch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// digest stands for an id: 16 bytes, whatever its length. Two ids of one batch do not share one.
type digest [16]byte

func digestOf(id string) digest {
	sum := sha256.Sum256([]byte(id))
	return digest(sum[:16])
}

// ids is a set of ids, sorted once it is whole.
type ids []digest

func (s ids) sort() { slices.SortFunc(s, compare) }

func compare(a, b digest) int { return bytes.Compare(a[:], b[:]) }

func (s ids) has(id string) bool {
	_, ok := slices.BinarySearchFunc(s, digestOf(id), compare)
	return ok
}

// Survey is what a first reading of the file found.
type Survey struct {
	// Lines are good, Bad are not; Problems are the first of these.
	Lines, Bad int
	Problems   []error
	all        ids
}

// maxProblems bounds what one error lists.
const maxProblems = 10

func (s *Survey) bad(err error) {
	s.Bad++
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, err)
	}
}

// Err lists the bad lines; nil without any.
func (s *Survey) Err() error {
	if s.Bad == 0 {
		return nil
	}
	problems := s.Problems
	if more := s.Bad - len(problems); more > 0 {
		problems = append(slices.Clip(problems), fmt.Errorf("and %d more", more))
	}
	return errors.Join(problems...)
}

// Check reads the whole file before anything is published: every line must be a run, and no id may stand twice.
func (in *Input) Check() (*Survey, error) {
	s := &Survey{}
	for line, err := range in.Lines() {
		if err == nil && in.CheckRequest != nil {
			if fault := in.CheckRequest(line.Request); fault != nil {
				s.bad(&LineError{line.N, fault})
				s.all = append(s.all, digestOf(line.ID))
				continue
			}
		}
		if _, bad := errors.AsType[*LineError](err); bad {
			s.bad(err)
			continue
		}
		if err != nil {
			return nil, err
		}
		s.Lines++
		s.all = append(s.all, digestOf(line.ID))
	}
	if s.Lines+s.Bad == 0 {
		return nil, fmt.Errorf("%s has no lines; a batch is a file with a run a line", in.Path)
	}
	s.all.sort()
	in.repeated(s)
	return s, nil
}

// repeated looks for ids that stand twice; only if there are any is the file read again, to name them.
func (in *Input) repeated(s *Survey) {
	first := map[digest]int{}
	for i := 1; i < len(s.all); i++ {
		if s.all[i] == s.all[i-1] {
			first[s.all[i]] = 0
		}
	}
	if len(first) == 0 {
		return
	}
	for line, err := range in.Lines() {
		if err != nil {
			continue
		}
		d := digestOf(line.ID)
		switch n, twice := first[d]; {
		case twice && n > 0:
			s.bad(&LineError{line.N, fmt.Errorf("the id of line %d again; give every line an id of its own", n)})
		case twice:
			first[d] = line.N
		}
	}
}
