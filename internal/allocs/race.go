//go:build race

package allocs

const race = true
