package prompts

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// draft is the dialect of the published schemas, of which only few keywords are used (published.go says why).
const draft = "https://json-schema.org/draft/2020-12/schema"

// ConfigSchema is the published JSON Schema of emend.yaml.
func ConfigSchema() []byte { return published2020(configObject, "emend.yaml") }

// PromptSchema is the published JSON Schema of prompts/<id>@<version>.yaml.
func PromptSchema() []byte { return published2020(promptObject, "an Emend prompt") }

// PipelineSchema is the published JSON Schema of pipelines/<name>@<version>.yaml.
func PipelineSchema() []byte { return published2020(pipelineObject, "an Emend pipeline") }

func published2020(o *object, title string) []byte {
	doc := append(ordered{{"$schema", draft}, {"title", title}}, o.schema()...)
	raw, err := json.Marshal(doc)
	if err != nil {
		panic(fmt.Sprintf("prompts: a table has no JSON form: %v", err)) // TestPublishedSchemas has seen it
	}
	var b bytes.Buffer
	_ = json.Indent(&b, raw, "", "  ")
	b.WriteByte('\n')
	return b.Bytes()
}

// schema of an object names every field; it refers to nothing, so it is finite.
func (o *object) schema() ordered {
	props, required := ordered{}, []string{}
	for _, f := range o.fields {
		s := append(f.kind.schema(), member{"description", f.doc})
		if f.def != "" {
			s = append(s, member{"default", json.RawMessage(jsonOf(newReport(""), defaultNode(f), ""))})
		}
		props = append(props, member{f.name, s})
		if f.required {
			required = append(required, f.name)
		}
	}
	out := ordered{{"type", "object"}, {"properties", props}, {"additionalProperties", false}}
	if len(required) > 0 {
		out = append(out, member{"required", required})
	}
	return out
}

func (o *object) words() string { return o.name }
