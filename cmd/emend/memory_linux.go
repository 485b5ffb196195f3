package main

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// unmap gives back the pages of the program itself that only its start touched: initialisers, the readers of definitions. The
// kernel reads from the file what is wanted again, as it did the first time.
func unmap() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range untouched(maps, exe) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED) // what cannot be given back stays
	}
}

// mapping is a part of the process's memory.
type mapping struct{ from, to uintptr }

// untouched lists the parts that hold a file's own bytes and nothing else: not writable, and never written to, as relocations are.
func untouched(smaps []byte, file string) (all []mapping) {
	var at mapping
	ours := false
	for line := range bytes.Lines(smaps) {
		var m mapping
		var may, offset, device, inode, name string
		if n, _ := fmt.Sscanf(string(line), "%x-%x %s %s %s %s %s", &m.from, &m.to, &may, &offset, &device, &inode, &name); n >= 3 {
			at, ours = m, name == file && len(may) == 4 && may[:2] == "r-"
		}
		if written, ok := bytes.CutPrefix(line, []byte("Anonymous:")); ok && ours && string(bytes.TrimSpace(written)) == "0 kB" {
			all = append(all, at)
		}
	}
	return all
}
