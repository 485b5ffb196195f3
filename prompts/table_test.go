package prompts

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"emend/schemas"
)

var update = flag.Bool("update", false, "write the published schemas anew")

// bindings are the Go types of all objects.
var bindings = map[*object]reflect.Type{
	configObject: reflect.TypeFor[Config](), natsObject: reflect.TypeFor[NATS](), keepObject: reflect.TypeFor[Keep](), logObject: reflect.TypeFor[Log](), tracesObject: reflect.TypeFor[Traces](),
	backendObject: reflect.TypeFor[Backend](), queueObject: reflect.TypeFor[Queue](), profileObject: reflect.TypeFor[Profile](),
	secretObject: reflect.TypeFor[Secret](), tlsObject: reflect.TypeFor[TLS](), promptObject: reflect.TypeFor[Prompt](), inputObject: reflect.TypeFor[Input](),
	outputObject: reflect.TypeFor[Output](), testObject: reflect.TypeFor[Test](), expectObject: reflect.TypeFor[Expect](),
	expectFindingObject: reflect.TypeFor[ExpectFinding](),
	settingsObject:      reflect.TypeFor[schemas.Settings](), repairObject: reflect.TypeFor[schemas.Repair](), boundsObject: reflect.TypeFor[Bounds](),
	ruleObject: reflect.TypeFor[Rule](), checkObject: reflect.TypeFor[CheckSpec](), policyObject: reflect.TypeFor[ValidationPolicy](),
	pipelineObject: reflect.TypeFor[Pipeline](), documentObject: reflect.TypeFor[DocumentSpec](), chunkObject: reflect.TypeFor[ChunkSpec](),
	laneObject: reflect.TypeFor[LaneSpec](), extractObject: reflect.TypeFor[ExtractSpec](), mergeObject: reflect.TypeFor[CombineSpec](),
	normalizeObject: reflect.TypeFor[NormalizeSpec](), pipelineOutputObject: reflect.TypeFor[PipelineOutput](), stagePolicyObject: reflect.TypeFor[StagePolicy](),
	outputFieldObject: reflect.TypeFor[OutputField](), governanceObject: reflect.TypeFor[Governance](), escalationObject: reflect.TypeFor[Escalation](),
}

func TestTablesMatchTypes(t *testing.T) {
	for o, typ := range bindings {
		tags, names := tagsOf(typ), o.names()
		slices.Sort(tags)
		slices.Sort(names)
		if !slices.Equal(tags, names) {
			t.Errorf("%s: the table has %v, the type %v", o.name, o.names(), tags)
		}
	}
}

func tagsOf(typ reflect.Type) (tags []string) {
	for field := range typ.Fields() {
		switch tag, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); {
		case field.Anonymous:
			tags = append(tags, tagsOf(field.Type)...)
		case tag != "-":
			tags = append(tags, tag)
		}
	}
	return tags
}

func TestEveryObjectIsBound(t *testing.T) {
	seen := map[*object]bool{}
	var walk func(o *object)
	walk = func(o *object) {
		if seen[o] {
			return
		}
		seen[o] = true
		for _, f := range o.fields {
			if below := objectIn(f.kind); below != nil {
				walk(below)
			}
		}
	}
	walk(configObject)
	walk(promptObject)
	walk(pipelineObject)
	for o := range seen {
		if bindings[o] == nil {
			t.Errorf("%s has no line in bindings", o.name)
		}
	}
	if len(seen) != len(bindings) {
		t.Errorf("%d objects are reached, %d are bound", len(seen), len(bindings))
	}
}

func TestDefaultsAreInBounds(t *testing.T) {
	for o, typ := range bindings {
		for _, f := range o.fields {
			if f.doc == "" || f.required && f.def != "" {
				t.Errorf("%s.%s: every field has a doc, and none is required with a default", o.name, f.name)
			}
			if f.def == "" {
				continue
			}
			r, v := newReport(""), reflect.New(typ).Elem()
			readInto(r, f.kind, defaultNode(f), f.name, slot(v, f.name))
			checkValue(r, f.kind, f.name, slot(v, f.name))
			if len(r.problems) > 0 {
				t.Errorf("%s.%s: default %s: %v", o.name, f.name, f.def, r.problems)
			}
		}
	}
}

func TestPublishedSchemas(t *testing.T) {
	for file, want := range map[string][]byte{
		"emend.schema.json":  ConfigSchema(),
		"prompt.schema.json": PromptSchema(),

		"pipeline.schema.json": PipelineSchema(),
	} {
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what the tables say (%v); run go test ./prompts -run TestPublishedSchemas -update", file, err)
		}
		var v struct {
			Schema string `json:"$schema"`
		}
		if err := json.Unmarshal(want, &v); err != nil || v.Schema != draft {
			t.Errorf("%s: %v, $schema %q", file, err, v.Schema)
		}
	}
}

func TestReferenceNamesEveryField(t *testing.T) {
	doc := ReferenceMarkdown()
	for o := range bindings {
		for _, f := range o.fields {
			if !strings.Contains(doc, "| `"+f.name+"` |") || !strings.Contains(doc, cell(f.doc)) {
				t.Errorf("the reference lacks %s.%s", o.name, f.name)
			}
		}
	}
	if doc != ReferenceMarkdown() {
		t.Error("the reference changes from call to call")
	}
	for line := range strings.SplitSeq(doc, "\n") {
		if strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, "\\|", ""), "|") != 5 {
			t.Errorf("a row has not four cells: %s", line)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"permits", "admitted", "url"}
	for name, want := range map[string]string{
		"permit":                 "; did you mean permits?",
		"Url":                    "; did you mean url?",
		"zebra":                  "; known are admitted, permits, url",
		strings.Repeat("x", 500): "; known are admitted, permits, url",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("%.20s: %q", name, got)
		}
	}
	if got := suggest("zebra", known); got != "" {
		t.Errorf("suggest lists: %q", got)
	}
	if got := nearest("x", nil); got != "" {
		t.Errorf("nothing is known, yet %q", got)
	}
}
