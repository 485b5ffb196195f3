package prompts

import "testing"

func TestSmoke(t *testing.T) {
	s, err := LoadDir("testdata/good")
	if err != nil {
		t.Fatal("\n" + err.Error())
	}
	for _, w := range s.Warnings() {
		t.Log(w)
	}
}
