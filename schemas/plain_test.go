package schemas

import (
	"strings"
	"testing"
)

func slowly(s string, top byte) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c > top {
			return i
		}
	}
	return len(s)
}

// Every byte, in every place of a text of up to three words, before and behind every other one that is not plain.
func TestPlainIsWhatAByteAtATimeSays(t *testing.T) {
	for n := range 20 {
		for at := range n {
			for c := range 256 {
				b := []byte(strings.Repeat("x", n))
				b[at] = byte(c)
				for _, behind := range []byte{'x', '"', '\\', 0, 0x1f, 0x20, 0x7f, 0x80, 0xff, 0x23, 0x21} {
					if at+1 < n {
						b[at+1] = behind
					}
					if got, want := Plain(b), slowly(string(b), 0x7f); got != want || Plain(string(b)) != want {
						t.Fatalf("%q: %d, want %d", b, got, want)
					}
					if got, want := Inside(b), slowly(string(b), 0xff); got != want || Inside(string(b)) != want {
						t.Fatalf("%q: inside %d, want %d", b, got, want)
					}
				}
			}
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("a \"quoted\" text, and ünicode")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := Plain(s), slowly(s, 0x7f); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
		if got, want := Inside(s), slowly(s, 0xff); got != want {
			t.Errorf("%q: inside %d, want %d", s, got, want)
		}
	})
}

func BenchmarkPlain(b *testing.B) {
	s := strings.Repeat("a line of an invoice, ", 20)
	for b.Loop() {
		Plain(s)
	}
}
