package pipeline

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnnumberedIsTheTextAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "\n", "\t", "b c", "\r\n"})).Draw(t, "parts"), "")
		if got := Unnumbered(Numbered(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func TestStartsCheckNamesWhatIsTooLarge(t *testing.T) {
	p := &Plan{Lanes: []Lane{{Extract: Step{Inputs: map[string]int{InputChunk: 8}}}, {Extract: Step{Inputs: map[string]int{InputChunk: 6}}}}}
	check := p.StartsCheck("one\ntwo\nthree\nfour")
	for answer, want := range map[string]string{
		`{"starts":[1,2,3,4]}`:     "",
		`{"starts":[2,3,4]}`:       "",
		`{"starts":[1.0,2e0,3,4]}`: "",
		`{"starts":[1.5]}`:         "begins a chunk in line 1.5 of 4",
		`{"starts":[1,3]}`:         "line 1 and ends before line 3 has 8 bytes, allowed are 6; line 3 and ends before line 4 has 10 bytes, allowed are 6",
		`{"starts":[9]}`:           "begins a chunk in line 9 of 4",
	} {
		var got []string
		for _, f := range check([]byte(answer)) {
			got = append(got, f.Message)
		}
		for part := range strings.SplitSeq(want, "; ") {
			if !strings.Contains(strings.Join(got, "; "), part) || (want == "") != (got == nil) {
				t.Errorf("%s: %q, want %q", answer, got, part)
			}
		}
	}
	if f := (&Plan{Lanes: []Lane{{}}}).StartsCheck("a\nb")([]byte(`{"starts":[1]}`)); f != nil {
		t.Errorf("%v", f)
	}
}
