package allocs

import (
	"testing"
)

var sink []byte

// times allocates n times.
func times(n int) func() {
	return func() {
		for range n {
			sink = make([]byte, 64)
		}
	}
}

func TestLeast(t *testing.T) {
	if n := allocations(times(7), 0); n != 7 {
		t.Errorf("7 allocations are %v", n)
	}
	calls := 0
	if n := allocations(func() { // dear at first, as with a pool that is empty
		if calls++; calls < 10 {
			times(100)()
		}
		times(3)()
	}, 3); n != 3 {
		t.Errorf("3 allocations are %v", n)
	}
}

// Five percent either way pass, more do not.
func TestCheck(t *testing.T) {
	for n, passes := range map[int]bool{94: false, 95: true, 100: true, 105: true, 106: false} {
		var inner testing.T
		Check(&inner, "f", Pin{100, 100}, times(n))
		if inner.Failed() == passes {
			t.Errorf("%d of 100: failed %t", n, inner.Failed())
		}
	}
}

// The number is that of the detector which is on.
func TestCheckKnowsTheDetector(t *testing.T) {
	pin := Pin{Plain: 10, Race: 20}
	want := 10
	if race {
		want = 20
	}
	Check(t, "f", pin, times(want))
}
