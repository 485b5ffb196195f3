package main

import (
	"os"
	"slices"
	"testing"
)

const someMaps = `00400000-0135f000 r-xp 00000000 fe:00 42  /usr/bin/emend
Rss:               12000 kB
Anonymous:             0 kB
0135f000-0233e000 r--p 00f5f000 fe:00 42  /usr/bin/emend
Anonymous:             0 kB
0233e000-02350000 r--p 01f3e000 fe:00 42  /usr/bin/emend
Anonymous:            16 kB
02350000-02400000 rw-p 01f50000 fe:00 42  /usr/bin/emend
Anonymous:             0 kB
7f0000000000-7f0000100000 r-xp 00000000 fe:00 43  /lib/libc.so
Anonymous:             0 kB
7f0000200000-7f0000300000 r--p 00000000 00:00 0
Anonymous:             0 kB
`

// Only what is the program's own, and as it is in its file, is given back: relocated data would be lost, and so would written data.
func TestUntouched(t *testing.T) {
	want := []mapping{{0x400000, 0x135f000}, {0x135f000, 0x233e000}}
	if got := untouched([]byte(someMaps), "/usr/bin/emend"); !slices.Equal(got, want) {
		t.Errorf("%x are given back, not %x", got, want)
	}
	if got := untouched([]byte("no maps"), "/usr/bin/emend"); got != nil {
		t.Errorf("%x of what is none", got)
	}
}

// The program goes on after its pages were given back, and some of them were there to be given.
func TestUnmap(t *testing.T) {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	if len(untouched(maps, exe)) == 0 {
		t.Errorf("nothing of %s is untouched", exe)
	}
	for range 3 {
		unmap()
	}
	if got := untouched([]byte(someMaps), "/lib/libc.so"); len(got) != 1 {
		t.Errorf("after the program's pages were given back it finds %x", got)
	}
}
