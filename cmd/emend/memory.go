package main

import (
	"os"
	"runtime/debug"

	"emend/prompts"
)

// gcPercent of a worker: at the load of `make bench` it keeps what is resident below 40 MiB. GOGC and GOMEMLIMIT of the environment go
// before it.
const gcPercent = 180

// thrifty is called when a worker has its definitions: what only their loading needs is given back.
func thrifty() {
	prompts.Forget()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	debug.FreeOSMemory()
	unmap()
}
