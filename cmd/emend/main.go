// Command emend executes LLM runs that arrive as NATS JetStream messages, and is the operator's and the requester's
// tool beside it. `emend help` lists what it does; docs/ has a page per reader.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"emend/schemas"
)

// version is set by the linker: -X main.version=v1.2.3.
var version = "0.1.0-dev"

// Exit codes, documented in `emend help exit-codes`.
const (
	exitOK      = 0 // succeeded or unverified
	exitFailed  = 1 // failed, cancelled, expired
	exitUsage   = 2 // usage, configuration, invalid request
	exitInvalid = 3 // invalid or rejected
	exitPending = 4 // not ended yet: queued, running, waiting for its backend or for a person
)

// exitError carries an exit code; a nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], stdio()))
}

// printError tells a machine what people read on standard error.
func printError(io streams, e *exitError) {
	b, err := schemas.Marshal(map[string]any{"error": e.err.Error(), "exit": e.code})
	if err == nil {
		fmt.Fprintf(io.out, "%s\n", b)
	}
}

// run executes one command line and returns its exit code; tests call it in process.
func run(ctx context.Context, args []string, io streams) int {
	root := newRoot(io)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		exit = &exitError{code: exitUsage, err: err}
	}
	if exit.err != nil {
		fmt.Fprintf(io.err, "emend: %v\n", exit.err)
		if asked, err := root.PersistentFlags().GetBool("json"); err == nil && asked {
			printError(io, exit)
		}
	}
	return exit.code
}
