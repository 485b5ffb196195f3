package provider

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestLossesAreBounded(t *testing.T) {
	var lost Losses
	if lost.Clauses() != nil {
		t.Error("nothing was lost")
	}
	lost.Add("", "x is %d", 7)
	lost.Add(Pointer("/properties", strings.Repeat("é/~", 200)), "y")
	for i := range lossLimit + 5 {
		lost.Add(fmt.Sprint("/", i), "z")
	}
	got := lost.Clauses()
	if len(got) != lossLimit+1 || got[0] != "at the root: x is 7" || got[lossLimit] != "at 7 more places: as much again is lost" {
		t.Errorf("%d clauses, %q ... %q", len(got), got[0], got[len(got)-1])
	}
	if !strings.HasPrefix(got[1], "at /properties/é~1~0é~1~0") || !strings.HasSuffix(got[1], "...: y") || len(got[1]) > placeLimit+20 {
		t.Errorf("%q", got[1])
	}
	if again := lost.Clauses(); again[lossLimit] != got[lossLimit] || len(again) != len(got) {
		t.Errorf("a second look gives %d clauses", len(again))
	}
}

func TestKeywordIsNotRepeatedIfOdd(t *testing.T) {
	for name, want := range map[string]string{"$ref": "$ref", "multipleOf": "multipleOf", "x-a_b.c": "x-a_b.c",
		"": "a keyword with an odd name", "$": "a keyword with an odd name", "a b": "a keyword with an odd name", strings.Repeat("x", 70): "a keyword with an odd name"} {
		if got := Keyword(name); got != want {
			t.Errorf("%q is named %q, want %q", name, got, want)
		}
	}
}

func TestRememberedIsBoundedAndAsksOnce(t *testing.T) {
	asked := map[string]int{}
	known := Remembered(func(schema []byte) string { asked[string(schema)]++; return "of " + string(schema) })
	for i := range 10 * memorySize {
		schema := fmt.Append(nil, i)
		for range 2 {
			if got := known(schema); got != "of "+string(schema) {
				t.Fatalf("%s gives %q", schema, got)
			}
		}
	}
	for schema, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", schema, n)
		}
	}
	known([]byte("0"))
	if asked["0"] != 2 {
		t.Error("a full memory does not start anew, so it is not bounded")
	}
}

func TestRememberedIsSafeForConcurrentUse(t *testing.T) {
	known := Remembered(func(schema []byte) int { return len(schema) })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				if n := known(make([]byte, (i+j)%90)); n != (i+j)%90 {
					t.Errorf("got %d", n)
				}
			}
		})
	}
	wg.Wait()
}
