// Package allocs pins how much a function allocates, for tests: a guard of speed that no clock and no load can fail.
package allocs

import "testing"

// rounds is how often a function is called before it is found too dear. The least counts: a pool that the collector, or the race
// detector, emptied, and what other goroutines allocate meanwhile, make a round dearer, never cheaper.
const rounds = 100

// tolerance is what a pinned number may be missed by, in percent.
const tolerance = 5

// Pin says how many allocations are expected, with and without the race detector, under which less is kept off the heap.
type Pin struct{ Plain, Race float64 }

// Check fails unless f allocates as often as is pinned, within five percent.
func Check(t *testing.T, name string, pin Pin, f func()) {
	t.Helper()
	want := pin.Plain
	if race {
		want = pin.Race
	}
	least, most := want*(100-tolerance)/100, want*(100+tolerance)/100
	if got := allocations(f, most); got < least || got > most {
		t.Errorf("%s allocates %v times, %v are pinned (within %d%%, race detector %t). More: find out where, with -memprofile. "+
			"Fewer, or on purpose: pin the new number here", name, got, want, tolerance, race)
	}
}

// allocations is how often f allocates, in the first round that has enough or fewer, else in the best.
func allocations(f func(), enough float64) float64 {
	n := testing.AllocsPerRun(1, f)
	for i := 0; i < rounds && n > enough; i++ {
		n = min(n, testing.AllocsPerRun(1, f))
	}
	return n
}
