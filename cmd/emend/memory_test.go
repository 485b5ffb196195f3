package main

import (
	"runtime/debug"
	"testing"
)

// What the operator sets for the collector stays.
func TestGCPercent(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "50")
	if thrifty(); debug.SetGCPercent(100) != 100 {
		t.Error("GOGC of the environment is overruled")
	}
	t.Setenv("GOGC", "")
	if thrifty(); debug.SetGCPercent(100) != gcPercent {
		t.Error("the worker's own is not set")
	}
}
