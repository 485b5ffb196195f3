//go:build race

package contract

// slowdown stretches time limits under the race detector.
const slowdown = 10
