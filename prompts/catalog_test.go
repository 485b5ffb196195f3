package prompts

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"emend/schemas"
)

func TestPackHoldsWhatTheDefinitionsAreMadeOf(t *testing.T) {
	f := folder{"emend.yaml": minimal, "prompts/x@1.yaml": "messages: [{user: hi}]\noutput: {mode: json_schema, schema: s.json}", "prompts/s.json": "{}",
		"prompts/unused.json": "{}", "README.md": "no", "prompts/.hidden@1.yaml": "messages: []"}
	s, packed, err := Pack(f.fs())
	if err != nil || len(s.Prompts()) != 1 {
		t.Fatal(err)
	}
	if _, again, err := Pack(f.fs()); err != nil || !bytes.Equal(packed, again) {
		t.Errorf("the same files give other bytes: %v", err)
	}
	files, err := Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if got := strings.Join(names, " "); got != "emend.yaml prompts/s.json prompts/x@1.yaml" {
		t.Errorf("it holds %s", got)
	}
	back, err := LoadFS(files, WithCatalog(7))
	if err != nil {
		t.Fatal(err)
	}
	p, err := back.Plan(schemas.Request{Prompt: "x"}, Origin{ID: "1", Queue: "default", Backend: "o"})
	if err != nil || p.Catalog != 7 {
		t.Errorf("%v, %+v", err, p)
	}
}

func TestBadCatalogs(t *testing.T) {
	if _, _, err := Pack(folder{"emend.yaml": "backends: 1"}.fs()); len(problemsOf(t, err)) == 0 {
		t.Error("a folder with faults was packed")
	}
	outside, large := &bytes.Buffer{}, &bytes.Buffer{}
	for buf, write := range map[*bytes.Buffer]func(*zip.Writer) error{
		outside: func(z *zip.Writer) error { _, err := z.Create("../emend.yaml"); return err },
		large: func(z *zip.Writer) error {
			w, err := z.Create("emend.yaml")
			if err == nil {
				_, err = w.Write(make([]byte, MaxCatalogBytes+1))
			}
			return err
		},
	} {
		z := zip.NewWriter(buf)
		if err := write(z); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, packed := range map[string][]byte{"no archive": []byte("x"), "nothing": nil, "outside": outside.Bytes(), "large": large.Bytes()} {
		if _, err := Unpack(packed); err == nil || !strings.HasPrefix(err.Error(), "catalog: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
