package prompts

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/qri-io/jsonschema"
	"gopkg.in/yaml.v3"
)

// published checks files against a published schema with qri-io/jsonschema, as any other tool may. That library has
// faults: it takes the text "true" for a boolean, lets names through additionalProperties: false that stand deeper in the
// document, races on its registries, and overflows the stack on a cycle of references. None is reachable from here:
//
//   - the table's decoder has accepted the file before, so what the library lets through was refused already;
//   - the schemas use few keywords, and no $ref, $id or $anchor, so nothing cycles and nothing is fetched or registered;
//   - one mutex serialises every use of the library, for its keyword table is global;
//   - a document is at most 1 MiB and 64 deep.
//
// So the library only ever refuses more. Its messages quote values and are not repeated.
type published struct {
	text   func() []byte
	schema *jsonschema.Schema // made on first use, under library
}

// library serialises all use of qri-io/jsonschema.
var library sync.Mutex

var (
	publishedConfig = &published{text: ConfigSchema}
	publishedPrompt = &published{text: PromptSchema}

	publishedPipeline = &published{text: PipelineSchema}
)

// check adds what the published schema refuses in a file that the table accepts.
func (p *published) check(r *report) {
	if r.root == nil || len(r.problems) > 0 {
		return
	}
	scratch := newReport("")
	var doc any
	if err := json.Unmarshal(jsonOf(scratch, withoutNulls(r.root), ""), &doc); err != nil || len(scratch.problems) > 0 {
		r.fault("", "holds a number that is out of range")
		return
	}
	paths, err := p.validate(doc)
	if err != nil {
		r.fault("", "the published schema cannot be used: %v", err)
	}
	for _, path := range paths {
		r.fault("", "the published schema refuses %s", path)
	}
}

// validate returns the JSON pointers that the schema refuses.
func (p *published) validate(doc any) ([]string, error) {
	library.Lock()
	defer library.Unlock()
	if p.schema == nil {
		s := &jsonschema.Schema{}
		if err := s.UnmarshalJSON(p.text()); err != nil {
			return nil, err
		}
		p.schema = s
	}
	var paths []string
	for _, e := range *p.schema.Validate(context.Background(), doc).Errs {
		paths = append(paths, e.PropertyPath)
	}
	return paths, nil
}

// withoutNulls drops members that are null, which equal absent ones.
func withoutNulls(n *yaml.Node) *yaml.Node {
	out := *n
	out.Content = nil
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && isNull(n.Content[i+1]) {
			continue
		}
		if n.Kind == yaml.MappingNode && i%2 == 1 && isNull(c) {
			continue
		}
		out.Content = append(out.Content, withoutNulls(c))
	}
	return &out
}
