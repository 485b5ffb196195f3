package prompts

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// MaxCatalogBytes bounds what a catalog's files have together, unpacked.
const MaxCatalogBytes = 64 << 20

// WithCatalog says that the definitions are those of a numbered catalog: results and plans carry the number.
func WithCatalog(number int) Option {
	return func(c *Config) { c.Catalog = number }
}

// Pack loads the definitions of a file system and packs exactly the files that they are made of, so that a catalog holds
// nothing else of a folder. The same files give the same bytes. Its error is Errors if the definitions are at fault.
func Pack(fsys fs.FS, opts ...Option) (*Snapshot, []byte, error) {
	seen := recorder{FS: fsys, files: map[string]bool{}}
	s, err := LoadFS(seen, opts...)
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	total := 0
	for _, name := range slices.Sorted(maps.Keys(seen.files)) {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, nil, fmt.Errorf("catalog: %s %w", name, plain(err))
		}
		if total += len(text); total > MaxCatalogBytes {
			return nil, nil, fmt.Errorf("catalog: the files have more than %d bytes, which is the limit", MaxCatalogBytes)
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("catalog: %s: %w", name, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, nil, fmt.Errorf("catalog: %w", err)
	}
	return s, out.Bytes(), nil
}

// Unpack opens the files of a catalog.
func Unpack(packed []byte) (fs.FS, error) {
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, fmt.Errorf("catalog: not one that Emend packed: %w", err)
	}
	var total uint64
	for _, f := range z.File {
		if total += f.UncompressedSize64; total > MaxCatalogBytes || !fs.ValidPath(f.Name) {
			return nil, errors.New("catalog: it is too large, or names a file outside of it")
		}
	}
	return z, nil
}

// recorder notes which regular files are opened.
type recorder struct {
	fs.FS
	files map[string]bool
}

// Open opens a file and notes it.
func (r recorder) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		r.files[name] = true
	}
	return f, nil
}
