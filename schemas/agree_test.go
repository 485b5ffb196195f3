package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// node is a JSON Schema, or a part of one.
type node = map[string]any

// pairing is a type and the schema of its messages.
type pairing struct {
	name string
	typ  reflect.Type
	doc  []byte
	at   string // a name under $defs, "" for the root
}

func pairings() []pairing {
	return []pairing{
		{"request", reflect.TypeFor[Request](), RequestSchema(), ""},
		{"result", reflect.TypeFor[Result](), ResultSchema(), ""},
		{"pipeline_request", reflect.TypeFor[PipelineRequest](), PipelineSchema(), ""},
		{"event", reflect.TypeFor[Event](), EventSchema(), ""},
		{"run_ref", reflect.TypeFor[RunRef](), ServiceSchema(), "run_ref"},
		{"submitted", reflect.TypeFor[Submitted](), ServiceSchema(), "submitted"},
		{"progress", reflect.TypeFor[Progress](), ServiceSchema(), "progress"},
		{"cancel_reply", reflect.TypeFor[CancelReply](), ServiceSchema(), "cancel_reply"},
		{"review_query", reflect.TypeFor[ReviewQuery](), ServiceSchema(), "review_query"},
		{"review_list", reflect.TypeFor[ReviewList](), ServiceSchema(), "review_list"},
		{"review_detail", reflect.TypeFor[ReviewDetail](), ServiceSchema(), "review_detail"},
		{"dead_query", reflect.TypeFor[DeadQuery](), ServiceSchema(), "dead_query"},
		{"dead_list", reflect.TypeFor[DeadList](), ServiceSchema(), "dead_list"},
		{"dead_detail", reflect.TypeFor[DeadDetail](), ServiceSchema(), "dead_detail"},
		{"replay", reflect.TypeFor[Replay](), ServiceSchema(), "replay"},
		{"replayed", reflect.TypeFor[Replayed](), ServiceSchema(), "replayed"},
		{"purge", reflect.TypeFor[Purge](), ServiceSchema(), "purge"},
		{"purged", reflect.TypeFor[Purged](), ServiceSchema(), "purged"},
		{"decision", reflect.TypeFor[Decision](), ServiceSchema(), "decision"},
	}
}

// root returns the document and the part of it that describes the type.
func (p pairing) root(t testing.TB) (doc, part node) {
	t.Helper()
	if err := json.Unmarshal(p.doc, &doc); err != nil {
		t.Fatal(err)
	}
	if p.at == "" {
		return doc, doc
	}
	return doc, doc["$defs"].(node)[p.at].(node)
}

func (p pairing) compile(t testing.TB) *jsonschema.Schema {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(p.doc))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("mem:///doc", v); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"request.schema.json": RequestSchema(), "result.schema.json": ResultSchema()} {
		other, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("mem:///"+name, other); err != nil {
			t.Fatal(err)
		}
	}
	url := "mem:///doc"
	if p.at != "" {
		url += "#/$defs/" + p.at
	}
	s, err := c.Compile(url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// deref follows a $ref, also into another document, which it returns too, and takes the branch of an anyOf that is not null.
func deref(doc, n node) (node, node) {
	if ref, ok := n["$ref"].(string); ok {
		if file, name, other := strings.Cut(ref, "#/$defs/"); other && file != "" {
			var elsewhere node
			raw := map[string][]byte{"request.schema.json": RequestSchema(), "result.schema.json": ResultSchema()}[file]
			if err := json.Unmarshal(raw, &elsewhere); err != nil {
				panic(file + ": " + err.Error())
			}
			return deref(elsewhere, elsewhere["$defs"].(node)[name].(node))
		}
		return deref(doc, doc["$defs"].(node)[strings.TrimPrefix(ref, "#/$defs/")].(node))
	}
	if any, ok := n["anyOf"].([]any); ok && len(any) == 2 && any[1].(node)["type"] == "null" {
		return deref(doc, any[0].(node))
	}
	return doc, n
}

// jsonType is the type that a schema allows beside null; "" is any.
func jsonType(n node) string {
	switch t := n["type"].(type) {
	case string:
		return t
	case []any:
		return t[0].(string)
	}
	return ""
}

// wire lists the fields of a struct by JSON name, with those of embedded structs.
func wire(t reflect.Type) map[string]field {
	if t == messageType {
		t = reflect.TypeFor[messageWire]()
	}
	out := map[string]field{}
	for f := range t.Fields() {
		if f.Anonymous {
			maps.Copy(out, wire(f.Type))
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		out[name] = field{name: name, typ: f.Type, optional: strings.Contains(options, "omit")}
	}
	return out
}

func TestTypesAndSchemasAgree(t *testing.T) {
	for _, p := range pairings() {
		doc, part := p.root(t)
		agree(t, p.name, p.typ, doc, part)
	}
}

func agree(t *testing.T, path string, typ reflect.Type, doc, n node) {
	t.Helper()
	doc, n = deref(doc, n)
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer",
		reflect.Uint64: "integer", reflect.Float64: "number", reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object"}[typ.Kind()]
	switch typ {
	case rawType:
		want = ""
	case timeType:
		want = "string"
	case dollarType:
		want = "number"
	}
	if got := jsonType(n); got != want {
		t.Errorf("%s: the schema says %q, the type %v", path, got, typ)
		return
	}
	switch {
	case typ == rawType:
	case typ == timeType && n["format"] != "date-time":
		t.Errorf("%s: a time without its format", path)
	case typ.Kind() == reflect.Slice:
		agree(t, path+"[]", typ.Elem(), doc, n["items"].(node))
	case typ.Kind() == reflect.Map && typ.Elem() != rawType:
		agree(t, path+"{}", typ.Elem(), doc, n["additionalProperties"].(node))
	case typ.Kind() == reflect.Struct && typ != timeType:
		agreeObject(t, path, typ, doc, n)
	}
}

func agreeObject(t *testing.T, path string, typ reflect.Type, doc, n node) {
	t.Helper()
	props, _ := n["properties"].(node)
	fields := wire(typ)
	if n["additionalProperties"] != false {
		t.Errorf("%s: additionalProperties is not false", path)
	}
	required, _ := n["required"].([]any)
	for name, f := range fields {
		prop, ok := props[name].(node)
		if !ok {
			t.Errorf("%s.%s is in the type, not in the schema", path, name)
			continue
		}
		if slices.Contains(required, any(name)) == f.optional {
			t.Errorf("%s.%s: optional in the type: %v, required in the schema too, or in neither", path, name, f.optional)
		}
		agree(t, path+"."+name, f.typ, doc, prop)
	}
	for name := range props {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s.%s is in the schema, not in the type", path, name)
		}
	}
}

func TestWordsAgree(t *testing.T) {
	statuses := []string{StatusSucceeded, StatusUnverified, StatusInvalid, StatusRejected, StatusFailed, StatusExpired, StatusCancelled}
	categories := []string{CategoryInvalidRequest, CategoryIDConflict, CategoryProviderStatus, CategoryProviderResponse, CategoryRefused,
		CategoryContentFiltered, CategoryTransport, CategoryTimeout, CategoryCapacity, CategoryValidation, CategoryOutputInvalid,
		CategoryRejected, CategoryValidator, CategoryBudget, CategoryAbandoned, CategoryInternal}
	modes := []string{ModeNone, ModeBasic, ModeJSON, ModeJSONSchema}
	for _, c := range []struct {
		doc  []byte
		path string
		want []string
	}{
		{RequestSchema(), "$defs message properties role", []string{RoleDeveloper, RoleSystem, RoleUser, RoleAssistant}},
		{RequestSchema(), "$defs output properties mode", modes},
		{ResultSchema(), "properties status", statuses},
		{ResultSchema(), "$defs validation properties mode", modes},
		{ResultSchema(), "$defs error properties category", categories},
		{ResultSchema(), "$defs attempt properties generation_kind", []string{GenerationInitial, GenerationRepair}},
		{EventSchema(), "properties kind", EventKinds},
		{EventSchema(), "properties generation_kind", []string{GenerationInitial, GenerationRepair}},
		{ServiceSchema(), "$defs progress properties state", []string{StateQueued, StateRunning, StateWaiting, StateInReview, StateNotFound}},
		{ServiceSchema(), "$defs decision properties decision", []string{DecisionApprove, DecisionReject, DecisionEdit}},
		{ResultSchema(), "$defs review properties decision", []string{DecisionApprove, DecisionReject, DecisionEdit}},
		{ResultSchema(), "$defs blob properties field", []string{BlobOutput, BlobOutputText, BlobAttempts}},
		{ResultSchema(), "$defs stage properties kind", []string{StageInitial, StageError, StageStructural, StageCorrection}},
		{ResultSchema(), "$defs validator properties outcome", []string{VoteApproved, VoteRejected, VoteFailed, VoteSkipped}},
		{ResultSchema(), "$defs validation properties rules", []string{RulesPassed, RulesFailed, RulesSkipped}},
		{RequestSchema(), "$defs stage properties stage", PipelineStages},
		{ResultSchema(), "$defs stage_report properties stage", PipelineStages},
		{ResultSchema(), "$defs stage_report properties decision", []string{StageAdvanced, StageRejected, StageFailed, StageStopped}},
		{EventSchema(), "properties stage", PipelineStages},
		{ServiceSchema(), "$defs cancel_reply properties status", append(statuses, CancelNotFound)},
	} {
		var n node
		if err := json.Unmarshal(c.doc, &n); err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(c.path) {
			n = n[name].(node)
		}
		if got := fmt.Sprint(n["enum"]); got != fmt.Sprint(c.want) {
			t.Errorf("%s: %s, want %v", c.path, got, c.want)
		}
	}
}

func TestDocumentsAreCopies(t *testing.T) {
	for _, get := range []func() []byte{RequestSchema, ResultSchema, EventSchema, PipelineSchema, ServiceSchema, AsyncAPI} {
		clear(get())
		if get()[0] == 0 {
			t.Error("a caller can change a document")
		}
	}
}
