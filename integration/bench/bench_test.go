package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"emend/integration/bench/hook"
)

// The test binary stands for the program where that starts itself: as the server and as the bare loop.
func TestMain(m *testing.M) {
	flag.Parse()
	if *mode != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Both workers answer a short queue and a few requests alone; every figure is there, and nothing stays behind.
func TestBothWorkersAreMeasured(t *testing.T) {
	set(t, runs, 40)
	set(t, alone, 3)
	set(t, profile, filepath.Join(t.TempDir(), "profiles"))
	b, err := newBed(how{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	workers := []*worker{bareWorker(), emendWorker(b.dir)}
	pair, err := b.pair(workers, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range workers {
		f := pair[i]
		if f.CPU <= 0 || f.Rate <= 0 || f.RSS <= 0 || f.P50 <= 0 || f.P99 < f.P50 {
			t.Errorf("%s: %+v", w.name, f)
		}
		for _, file := range []string{hook.CPU, hook.Heap} {
			if info, err := os.Stat(filepath.Join(*profile, w.name, file)); err != nil || info.Size() == 0 {
				t.Errorf("profile of %s: %v", w.name, err)
			}
		}
	}
	for name := range b.js.StreamNames(t.Context()).Name() {
		if name != "KV_bench0_state" {
			t.Errorf("stream %s stays behind", name)
		}
	}
}

func set[T any](t *testing.T, p *T, v T) {
	old := *p
	*p = v
	t.Cleanup(func() { *p = old })
}
