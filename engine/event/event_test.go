package event

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"

	"emend/schemas"
)

var at = Position{At: time.Unix(1, 0), RunID: "r", Prompt: "p@1", Profile: "f", Backend: "b", Model: "m", StageAttempt: 2, Generation: 2, GenerationKind: schemas.GenerationRepair, Attempt: 1, Validator: "j@1"}

// every event of the package, filled; TestEveryTypeIsListed keeps the list whole.
var every = []Event{
	Started{at, true, 6},
	AttemptStarted{at, time.Second},
	Attempt{at, schemas.CategoryProviderStatus, 503, time.Second, 2 * time.Second, &schemas.Tokens{Input: new(int64)}, new(schemas.Dollar)},
	Retry{at, schemas.CategoryProviderStatus, 429, 3 * time.Second},
	Validation{at, "schema_invalid", false, []schemas.EventFinding{{Pointer: "/*", Keyword: "type", Expected: json.RawMessage(`"string"`)}}, "unwrap", []string{"/total"}, time.Millisecond},
	Repair{at, "conversation", 1, 2},
	Stage{at, "correction"},
	Validator{at, schemas.VoteFailed, schemas.CategoryTimeout, []string{"sum"}, time.Second},
	Escalated{at, "review"},
	Finished{at, schemas.StatusFailed, schemas.CategoryTransport, schemas.Totals{}, time.Minute},
}

// Every type with a Kind method is in the list, so that no sink forgets one.
func TestEveryTypeIsListed(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == "Kind" {
			n++
		}
	}
	if n != len(every) {
		t.Errorf("the package has %d events, the test lists %d", n, len(every))
	}
}

func TestWireCarriesWhatEachEventTells(t *testing.T) {
	for _, e := range every {
		w := Wire(e)
		if w.Kind != e.Kind() || w.RunID != "r" || w.Generation != 2 || w.GenerationKind != schemas.GenerationRepair || w.V != schemas.EventVersion {
			t.Errorf("%s: %+v", e.Kind(), w)
		}
		if !slices.Contains(schemas.EventKinds, w.Kind) {
			t.Errorf("%s is no kind of the wire", w.Kind)
		}
	}
	for kind, want := range map[int]string{1: `"wait_ms":1000`, 2: `"outcome":"provider_status","status":503,"cost_usd":1`, 3: `"cause":"provider_status"`, 4: `"outcome":"schema_invalid","mended":"unwrap","changed":["/total"],"validator":"j@1"`,
		5: `"outcome":"conversation"`, 6: `"outcome":"correction","stage_attempt":2`, 7: `"outcome":"failed","cause":"timeout","codes":["sum"]`, 8: `"outcome":"review"`, 9: `"category":"transport"`} {
		b, err := schemas.Marshal(Wire(every[kind]))
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(want, ",") {
			if !strings.Contains(string(b), part) {
				t.Errorf("%s lacks %s: %s", every[kind].Kind(), part, b)
			}
		}
	}
}

func TestACandidateThatCouldNotBeJudgedHasTheCategory(t *testing.T) {
	if w := Wire(Validation{Position: at}); w.Outcome != schemas.CategoryValidation {
		t.Errorf("outcome %q", w.Outcome)
	}
}
