package subjects

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// spelled matches a literal that spells a name of this package.
var spelled = regexp.MustCompile(`EMEND_(RUNS|RESULTS|EVENTS|DEAD|REVIEWS)\b` +
	`|\b[Ee]mend\.(run|pipeline|result|event|dead|review|ask|reviews|decide|submit|get|cancel|control|dead-letters|replay|purge)\b` +
	`|\bemend_(state|catalog|blob|reuse)\b|Emend-[A-Z]|Nats-(Expected|Msg)|^.\$JS\.`)

// foreign are programs that know Emend by its wire alone, as requesters do.
var foreign = filepath.Join("..", "examples", "requester-go")

// TestNobodyElseSpellsAName walks the module's code: a name that stands in two places can differ in one.
func TestNobodyElseSpellsAName(t *testing.T) {
	root := filepath.Join("..")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipped(path, d)
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files++
			for _, at := range spellings(t, path) {
				t.Errorf("%s spells a subject, stream, bucket or header: take it from package subjects", at)
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}

func skipped(path string, d fs.DirEntry) error {
	name := d.Name()
	if path == filepath.Join("..", "subjects") || path == foreign || name == "testdata" || (strings.HasPrefix(name, ".") && name != "..") {
		return fs.SkipDir
	}
	return nil
}

func spellings(t *testing.T, path string) (found []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Logf("%s does not parse: %v", path, err)
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && spelled.MatchString(lit.Value) {
			found = append(found, set.Position(lit.Pos()).String()+": "+lit.Value)
		}
		return true
	})
	return found
}

func TestSpellingsAreFound(t *testing.T) {
	for s, want := range map[string]bool{
		`"emend.run.a"`: true, `"EMEND_DEAD"`: true, `"Emend-Status"`: true, `"Nats-Msg-Id"`: true, `"$JS.API.INFO"`: true, `"may it publish to $JS.API.>?"`: false, `"emend_state"`: true,
		`"emend.yaml"`: false, `"emend run"`: false, `"EMEND_URL"`: false, `"emend/engine/run"`: false, `"emend.runs"`: false, `"Emend"`: false,
	} {
		if spelled.MatchString(s) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}
