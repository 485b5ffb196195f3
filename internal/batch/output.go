package batch

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"emend/schemas"
)

// Output is the file of results: one a line, in the form of the wire.
type Output struct {
	path string
	file *os.File
	buf  *bufio.Writer
	// done are the ids that the file held when it was opened.
	done ids
	// dropped are the ids whose results were taken out, to be replaced; ours are those of them whose stored result is this
	// batch's whatever its content, as a dead letter that was replayed with changes.
	dropped, ours ids
}

// kept is what a batch reads again of a result.
type kept struct {
	ID     string        `json:"id"`
	Status string        `json:"status"`
	Cost   *schemas.Cost `json:"cost"`
	Error  *struct {
		Category string `json:"category"`
	} `json:"error"`
}

func (k kept) category() string {
	if k.Error == nil {
		return ""
	}
	return k.Error.Category
}

// Open reads what an earlier run has written and opens the file to go on behind it. A last line that was cut off is taken
// away: its result is stored, and comes again. Results of other batches are an error.
func Open(path string, s *Survey) (*Output, Tally, error) {
	t := newTally(s)
	o := &Output{path: path}
	var err error
	if o.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, t, err
	}
	whole, err := o.read(&t, s)
	if err == nil {
		err = o.file.Truncate(whole)
	}
	if err == nil {
		_, err = o.file.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return nil, t, errors.Join(err, o.file.Close())
	}
	o.buf = bufio.NewWriterSize(o.file, 256<<10)
	return o, t, nil
}

// Read tells what a file of results holds, without changing it; one that is not there holds nothing.
func Read(path string, s *Survey) (*Output, Tally, error) {
	t := newTally(s)
	o := &Output{path: path}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return o, t, nil
	}
	if err != nil {
		return nil, t, err
	}
	defer f.Close()
	o.file = f
	_, err = o.read(&t, s)
	return o, t, err
}

// read returns how many bytes whole lines take.
func (o *Output) read(t *Tally, s *Survey) (whole int64, err error) {
	r := bufio.NewReaderSize(o.file, 256<<10)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			o.done.sort()
			return whole, nil
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", o.path, err)
		}
		whole += int64(len(line))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var k kept
		if json.Unmarshal(line, &k) != nil || k.ID == "" || k.Status == "" {
			return 0, fmt.Errorf("%s, line %d: no result; give -o a file that this batch alone writes", o.path, n)
		}
		if !s.all.has(k.ID) {
			return 0, fmt.Errorf("%s, line %d: a result of a run that the batch does not have; give -o another file, or --prefix as before", o.path, n)
		}
		o.done = append(o.done, digestOf(k.ID))
		t.add(k.ID, k.Status, k.category(), k.Cost)
		t.Before++
	}
}

func (o *Output) write(r *schemas.Result) error {
	b, err := schemas.Marshal(r)
	if err != nil {
		return err
	}
	if _, err = o.buf.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	return nil
}

func (o *Output) close() error { return errors.Join(o.buf.Flush(), o.file.Sync(), o.file.Close()) }

// Tally counts a batch.
type Tally struct {
	// Lines of the file, and how many of them have a result in the result file, by status.
	Lines    int            `json:"lines"`
	Done     int            `json:"done"`
	Statuses map[string]int `json:"statuses"`
	// Before are those that were there when this run of the batch began.
	Before int `json:"before"`
	// Cost is what the runs cost as far as that is known; of Unpriced it is not known, or not all.
	Cost     schemas.USD `json:"cost_usd"`
	Unpriced int         `json:"cost_unknown,omitempty"`
	// InReview wait for a person; their results come with a later run of the batch.
	InReview int `json:"in_review,omitempty"`
	// CostState says how far Cost is what the batch cost: known, partial or unknown; known also where nothing was billed.
	CostState string `json:"cost_state"`
	// Failed are the first runs without an output.
	Failed []Failure `json:"failed,omitempty"`

	// priced counts the runs of whose cost something is known.
	priced int
}

func newTally(s *Survey) Tally {
	return Tally{Lines: s.Lines, Statuses: map[string]int{}, CostState: schemas.CostKnown}
}

// Failure names a run without an output: its error's category, or else its status.
type Failure struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// maxFailures bounds the failures that a tally names.
const maxFailures = 5

func (t *Tally) add(id, status, category string, cost *schemas.Cost) {
	t.Done++
	t.Statuses[status]++
	if unanswered(status) && len(t.Failed) < maxFailures {
		t.Failed = append(t.Failed, Failure{id, cmp.Or(category, status)})
	}
	if cost != nil {
		t.spend(cost)
	}
}

func (t *Tally) spend(cost *schemas.Cost) {
	if cost.USD != nil {
		t.Cost += *cost.USD
		t.priced++
	}
	if cost.State != schemas.CostKnown {
		t.Unpriced++
	}
	switch {
	case t.Unpriced == 0:
	case t.priced == 0:
		t.CostState = schemas.CostUnknown
	default:
		t.CostState = schemas.CostPartial
	}
}

// Failures are the runs that have no output.
func (t *Tally) Failures() int {
	return t.Statuses[schemas.StatusFailed] + t.Statuses[schemas.StatusExpired] + t.Statuses[schemas.StatusCancelled]
}
