package capacity

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrFull: every place is taken. It comes as a *FullError. Nothing was called; try again when a run has ended.
	ErrFull = errors.New("capacity: admission is full")
	// ErrClosed: the backend is in trouble and nothing may be called. It comes as a *ClosedError.
	ErrClosed = errors.New("capacity: the gate is closed")
	// ErrReleased: a permit was asked for a run that has given its place back.
	ErrReleased = errors.New("capacity: the run's place was released")
)

// FullError is an ErrFull with its numbers.
type FullError struct{ Limit, InUse int }

// Error tells the limit.
func (e *FullError) Error() string {
	return fmt.Sprintf("admission is full: %d of %d places are taken; wait for a run to end, or raise admitted", e.InUse, e.Limit)
}

// Is matches ErrFull.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// ClosedError is an ErrClosed with its cause and the time from which one probe may pass; that time is over when another
// run is the probe.
type ClosedError struct {
	Cause string
	Until time.Time
}

// Error tells the cause.
func (e *ClosedError) Error() string { return "the gate is closed: " + e.Cause }

// Is matches ErrClosed.
func (e *ClosedError) Is(target error) bool { return target == ErrClosed }
