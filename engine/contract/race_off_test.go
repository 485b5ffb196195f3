//go:build !race

package contract

// slowdown stretches time limits under the race detector, and for a machine that others share.
const slowdown = 2
