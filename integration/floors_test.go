// Package integration holds the black-box tests: what the parts do together, and what the tree must look like.
package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors is design section 2: imports point strictly down. Within a floor nobody imports a neighbour, so the parts of the
// provider package, which do build on each other, have half floors.
var floors = map[string]float64{
	"emend/schemas": 0, "emend/subjects": 0, "emend/capacity": 0, "emend/internal/devnats": 0, "emend/internal/leak": 0, "emend/internal/allocs": 0, "emend/internal/prices": 0.5, "emend/internal/quota": 0,
	"emend/engine/contract": 1, "emend/engine/event": 1, "emend/internal/web": 1,
	"emend/engine/run": 2, "emend/engine/pipeline": 2, "emend/engine/repair": 2, "emend/engine/corrupt": 2, "emend/engine/provider": 2, "emend/internal/telemetry": 2,
	"emend/engine/provider/wireschema": 2.05, "emend/engine/provider/openai": 2.1, "emend/engine/provider/anthropic": 2.1,
	"emend/engine/provider/gemini": 2.1, "emend/engine/provider/ollama": 2.1,
	"emend/engine/provider/scripted": 2.2,
	"emend/engine/provider/dialects": 2.3, "emend/engine/provider/providertest": 2.4,
	"emend/prompts": 3, "emend/engine": 4, "emend/engine/rehearse": 4.5, "emend/consumer": 5, "emend/internal/batch": 5.5, "emend/cmd/emend": 6, "emend/integration/bench/hook": 6.5, "emend/integration": 7,
	"emend/examples/requester-go": 7, "emend/examples/worker-go": 7, "emend/examples/engine-go": 7,
}

// natsUsers may import NATS: the engine is a library that needs none.
var natsUsers = []string{"emend/consumer", "emend/internal/devnats", "emend/cmd/emend", "emend/integration", "emend/examples"}

const natsIO = "github.com/nats-io/"

func TestImportsPointDown(t *testing.T) {
	for path, imports := range packages(t) {
		floor, listed := floorOf(path)
		if !listed {
			t.Errorf("%s has no floor: add it to the table here and to docs/contributor.md (design section 2)", path)
			continue
		}
		for _, imp := range imports {
			below, ours := floorOf(imp)
			if ours && below >= floor {
				t.Errorf("%s (floor %v) imports %s (floor %v): imports point strictly down. Move what both need to a lower package, "+
					"or let the upper one hand it in as an interface", path, floor, imp, below)
			}
			if strings.HasPrefix(imp, natsIO) && !slices.ContainsFunc(natsUsers, func(u string) bool { return within(path, u) }) {
				t.Errorf("%s imports %s: only %s may know NATS; the packages below must run without it", path, imp, strings.Join(natsUsers, ", "))
			}
		}
	}
}

func TestFloorTableIsCurrent(t *testing.T) {
	have := packages(t)
	for path := range floors {
		if _, ok := have[path]; !ok {
			t.Errorf("%s has a floor but does not exist: take it out of the table", path)
		}
	}
}

// floorOf returns a package's floor; all below integration/ stands on the top floor.
func floorOf(path string) (float64, bool) {
	f, ok := floors[path]
	if !ok && within(path, "emend/integration") {
		f, ok = floors["emend/integration"]
	}
	return f, ok
}

func within(path, parent string) bool { return path == parent || strings.HasPrefix(path, parent+"/") }

// packages lists the module's packages with what they import, not counting tests: a test may stand where it likes.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	out := map[string][]string{}
	for dec := json.NewDecoder(bytes.NewReader(raw)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		out[p.ImportPath] = p.Imports
	}
}
