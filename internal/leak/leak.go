// Package leak finds what tests leave behind: goroutines that run code of Emend.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is how long what is ending may take to end.
const patience = 10 * time.Second

// Main runs a package's tests, then after, and returns the exit code of its TestMain: 1 also when a goroutine of Emend survives
// them, whose stack it prints.
func Main(m *testing.M, after func()) int {
	code := m.Run()
	after()
	if left := survivors(); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines survive:\n"+left)
		return 1
	}
	return code
}

func survivors() string {
	tick, end := time.NewTicker(10*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for {
		left := ours()
		if left == "" {
			return ""
		}
		select {
		case <-tick.C:
		case <-end:
			return left
		}
	}
}

// ours are the stacks, but for the caller's, that run code of Emend.
func ours() string {
	buf := make([]byte, 4<<20)
	stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	var out []string
	for _, stack := range stacks[1:] {
		if strings.Contains(stack, "emend/") {
			out = append(out, stack)
		}
	}
	return strings.Join(out, "\n\n")
}
