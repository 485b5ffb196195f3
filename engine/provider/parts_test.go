package provider

import (
	"slices"
	"strings"
	"testing"
)

func TestParts(t *testing.T) {
	got, err := Parts([]byte(`[{"type":"text","text":"é\n"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},
		{"type":"image_url","image_url":{"url":"https://h/x.png","detail":"low"}},{"type":"file","file":{"file_data":"data:text/plain;charset=utf-8;base64,eA=="}}]`))
	want := []Part{{Text: "é\n"}, {MediaType: "image/png", Data: "AA=="}, {URL: "https://h/x.png"}, {MediaType: "text/plain", Data: "eA=="}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := Parts([]byte(`[]`)); err != nil || got != nil {
		t.Errorf("no parts are %+v, %v", got, err)
	}
}

func TestPartsRefuse(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                             "not an array",
		`[{`:                             "well-formed",
		`[{"type":"text"}]`:              "[0].text is missing",
		`[{"type":"text","text":"a"},7]`: "[1].type is not text, image_url or file",
		`[{"type":"input_audio"}]`:       "[0].type",
		`[{"type":"image_url","image_url":{"url":"data:image/png,AA"}}]`:  "[0].image_url.url is not",
		`[{"type":"image_url","image_url":{"url":"data:;base64,AA"}}]`:    "[0].image_url.url",
		`[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]`: "[0].image_url.url",
		`[{"type":"file","file":{"file_id":"f1"}}]`:                       "[0].file.file_data",
	} {
		got, err := Parts([]byte(raw))
		if err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v; want %q", raw, got, err, want)
		}
	}
}

func FuzzParts(f *testing.F) {
	f.Add([]byte(`[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:a/b;base64,AA"}}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		parts, err := Parts(raw)
		if err != nil && parts != nil {
			t.Errorf("parts %+v beside %v", parts, err)
		}
	})
}
