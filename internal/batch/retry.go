package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"emend/schemas"
)

// unanswered says that a run ended without an answer, so that the same request runs again.
func unanswered(status string) bool {
	return status == schemas.StatusFailed || status == schemas.StatusExpired || status == schemas.StatusCancelled
}

// DropUnanswered takes the results that failed, expired or were cancelled out of the file, so that their lines get others. The
// file is replaced whole: one that is interrupted leaves it as it was.
func (o *Output) DropUnanswered(s *Survey) (Tally, error) {
	t := newTally(s)
	err := o.replace(func(line []byte, w io.Writer) error {
		var k kept
		if err := json.Unmarshal(line, &k); err != nil {
			return err
		}
		if !unanswered(k.Status) {
			_, err := w.Write(line)
			return err
		}
		o.dropped = append(o.dropped, digestOf(k.ID))
		if k.category() != schemas.CategoryIDConflict {
			o.ours = append(o.ours, digestOf(k.ID))
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	o.dropped.sort()
	o.ours.sort()
	o.done = nil
	if _, err = o.file.Seek(0, io.SeekStart); err == nil {
		_, err = o.read(&t, s)
	}
	return t, err
}

// replace writes the file anew, what keep writes of each of its lines, and goes on behind that.
func (o *Output) replace(keep func(line []byte, w io.Writer) error) error {
	if _, err := o.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return o.renew(func(w io.Writer) error {
		r := bufio.NewReaderSize(o.file, 256<<10)
		for {
			line, err := r.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil && len(bytes.TrimSpace(line)) > 0 {
				err = keep(line, w)
			}
			if err != nil {
				return err
			}
		}
	})
}

// renew puts a file with what fill writes in the place of the one that is there, and goes on with it.
func (o *Output) renew(fill func(io.Writer) error) error {
	path, err := filepath.EvalSymlinks(o.path)
	if err != nil {
		return err
	}
	info, err := o.file.Stat()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 256<<10)
	if err = errors.Join(fill(w), w.Flush(), f.Chmod(info.Mode().Perm()), f.Sync()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", o.path, err), f.Close(), os.Remove(f.Name()))
	}
	err = o.file.Close()
	o.file, o.buf = f, bufio.NewWriterSize(f, 256<<10)
	return err
}

// arrange puts the lines in the order of the batch: those that replace others were written behind what stayed.
func (o *Output) arrange(in *Input) error {
	places := map[digest][2]int64{}
	at := int64(0)
	if err := o.buf.Flush(); err != nil {
		return err
	}
	if _, err := o.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for r := bufio.NewReaderSize(o.file, 256<<10); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var k kept
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			err = json.Unmarshal(line, &k)
			places[digestOf(k.ID)] = [2]int64{at, int64(len(line))}
		}
		if err != nil {
			return err
		}
		at += int64(len(line))
	}
	return o.renew(func(w io.Writer) error {
		for line, err := range in.Lines() {
			if err != nil {
				return err
			}
			if p, ok := places[digestOf(line.ID)]; ok {
				if _, err := io.Copy(w, io.NewSectionReader(o.file, p[0], p[1])); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
