package schemas_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"emend/schemas"
	"emend/subjects"
)

type tree = map[string]any

func asyncAPI(t *testing.T) tree {
	t.Helper()
	var doc tree
	if err := yaml.Unmarshal(schemas.AsyncAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// follow walks a JSON pointer without its leading slash.
func follow(doc any, pointer string) (any, bool) {
	for name := range strings.SplitSeq(pointer, "/") {
		m, ok := doc.(tree)
		if !ok || m[name] == nil && !slices.Contains(slices.Collect(maps.Keys(m)), name) {
			return nil, false
		}
		doc = m[name]
	}
	return doc, true
}

// within returns a part of the document, following the references on its way.
func within(t *testing.T, doc tree, pointer string) tree {
	t.Helper()
	v, ok := follow(doc, pointer)
	if !ok {
		t.Fatalf("%s is missing", pointer)
	}
	m := v.(tree)
	if ref, ok := m["$ref"].(string); ok {
		return within(t, doc, strings.TrimPrefix(ref, "#/"))
	}
	return m
}

func documents() map[string][]byte {
	return map[string][]byte{"./request.schema.json": schemas.RequestSchema(), "./result.schema.json": schemas.ResultSchema(),
		"./pipeline.schema.json": schemas.PipelineSchema(), "./event.schema.json": schemas.EventSchema(), "./service.schema.json": schemas.ServiceSchema()}
}

// refs calls f with every $ref below v.
func refs(v any, f func(string)) {
	switch v := v.(type) {
	case tree:
		if ref, ok := v["$ref"].(string); ok {
			f(ref)
		}
		for _, m := range v {
			refs(m, f)
		}
	case []any:
		for _, m := range v {
			refs(m, f)
		}
	}
}

func TestReferencesResolve(t *testing.T) {
	doc, used := asyncAPI(t), map[string]bool{}
	refs(doc, func(ref string) {
		file, pointer, _ := strings.Cut(ref, "#")
		target := any(doc)
		if file != "" {
			used[file] = true
			if err := json.Unmarshal(documents()[file], &target); err != nil {
				t.Errorf("%s: %v", ref, err)
			}
		}
		if _, ok := follow(target, strings.TrimPrefix(pointer, "/")); pointer != "" && !ok {
			t.Errorf("%s leads nowhere", ref)
		}
	})
	for file := range documents() {
		if !used[file] {
			t.Errorf("%s is not referred to", file)
		}
	}
}

func TestAddressesAreThoseOfSubjects(t *testing.T) {
	n, err := subjects.New(subjects.DefaultSpace)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"run": n.Run("{backend}", "{queue}", "{id}"), "result": n.Result("{queue}", "{id}"), "event": n.Event("{queue}", "{id}", "{kind}"),
		"dead": n.Dead("{queue}", "{id}"), "ask": n.Ask("{backend}", "{queue}"), "submit": n.Submit("{backend}", "{queue}"),
		"get": n.Get(), "cancel": n.Cancel(), "reply": "",
		"reviews": n.Reviews("{queue}"), "decide": n.Decide("{queue}"),
		"deadLetters": n.DeadLetters("{queue}"), "replay": n.Replay("{queue}"), "purge": n.Purge("{queue}"),
		"pipeline": n.Pipeline("{pipeline}", "{queue}", "{id}"),
		"getOf":    n.GetOf("{queue}"), "cancelOf": n.CancelOf("{queue}"),
	}
	doc := asyncAPI(t)
	channels := within(t, doc, "channels")
	if len(channels) != len(want) {
		t.Errorf("%d channels, want %d", len(channels), len(want))
	}
	parameter := regexp.MustCompile(`\{(\w+)\}`)
	for name, address := range want {
		c := within(t, doc, "channels/"+name)
		if got, _ := c["address"].(string); got != address {
			t.Errorf("%s has address %q, want %q", name, got, address)
		}
		declared, _ := c["parameters"].(tree)
		var used []string
		for _, m := range parameter.FindAllStringSubmatch(address, -1) {
			used = append(used, m[1])
		}
		if got := slices.Sorted(maps.Keys(declared)); !slices.Equal(got, slices.Sorted(slices.Values(used))) {
			t.Errorf("%s declares the parameters %v, uses %v", name, got, used)
		}
	}
	text := string(schemas.AsyncAPI())
	for _, s := range regexp.MustCompile(`EMEND_\w+`).FindAllString(text, -1) {
		if s != n.RunsStream() && s != n.ResultsStream() && s != n.DeadStream() {
			t.Errorf("there is no stream %s", s)
		}
	}
}

func TestHeadersAndKindsAreOurs(t *testing.T) {
	known := []string{subjects.HeaderReplyTo, subjects.HeaderStatus, subjects.HeaderRun, subjects.HeaderPrompt, subjects.HeaderBackend, subjects.HeaderPipeline, subjects.HeaderReason, subjects.HeaderError,
		subjects.HeaderSubject, subjects.HeaderWorker, subjects.HeaderPublished, subjects.HeaderRequest, subjects.HeaderTraceparent, subjects.HeaderTracestate,
		subjects.HeaderServiceError, subjects.HeaderServiceErrorCode}
	doc := asyncAPI(t)
	for name := range within(t, doc, "components/messages") {
		headers, ok := follow(doc, "components/messages/"+name+"/headers/properties")
		if !ok {
			continue
		}
		for h, described := range headers.(tree) {
			if !slices.Contains(known, h) {
				t.Errorf("%s: there is no header %s", name, h)
			}
			for k := range described.(tree) {
				if !slices.Contains([]string{"type", "description", "format", "maxLength", "const"}, k) {
					t.Errorf("%s: %s has a keyword %q", name, h, k)
				}
			}
		}
	}
	if got := within(t, doc, "components/parameters/kind")["enum"]; fmt.Sprint(got) != fmt.Sprint(schemas.EventKinds) {
		t.Errorf("kinds %v", got)
	}
}

// TestOperationsUseTheirChannels: the messages of an operation are those of its channel, which AsyncAPI demands.
func TestOperationsUseTheirChannels(t *testing.T) {
	doc := asyncAPI(t)
	if doc["asyncapi"] != "3.0.0" || within(t, doc, "info")["title"] == "" {
		t.Errorf("%v", doc["asyncapi"])
	}
	for name := range within(t, doc, "operations") {
		op, _ := follow(doc, "operations/"+name)
		belongs(t, name, op.(tree))
		if a := op.(tree)["action"]; a != "send" && a != "receive" {
			t.Errorf("%s has action %v", name, a)
		}
		if reply, ok := op.(tree)["reply"].(tree); ok {
			belongs(t, name+" reply", reply)
		}
	}
}

func belongs(t *testing.T, name string, op tree) {
	t.Helper()
	channel := op["channel"].(tree)["$ref"].(string)
	messages := op["messages"].([]any)
	for _, m := range messages {
		if ref := m.(tree)["$ref"].(string); !strings.HasPrefix(ref, channel+"/messages/") {
			t.Errorf("%s: %s is not of %s", name, ref, channel)
		}
	}
	if len(messages) == 0 {
		t.Errorf("%s has no messages", name)
	}
}

func TestExamplesAreValid(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for file, doc := range documents() {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("mem:///"+strings.TrimPrefix(file, "./"), v); err != nil {
			t.Fatal(err)
		}
	}
	doc := asyncAPI(t)
	for name := range within(t, doc, "components/messages") {
		message := within(t, doc, "components/messages/"+name)
		payload, ok := message["payload"].(tree)
		if !ok {
			continue
		}
		s, err := c.Compile("mem:///" + strings.TrimPrefix(payload["schema"].(tree)["$ref"].(string), "./"))
		if err != nil {
			t.Fatal(err)
		}
		examples := message["examples"].([]any)
		for _, e := range examples {
			checkExample(t, name, s, e.(tree)["payload"])
		}
		if len(examples) == 0 {
			t.Errorf("%s has no example", name)
		}
	}
}

func checkExample(t *testing.T, name string, s *jsonschema.Schema, payload any) {
	t.Helper()
	b, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %s\n%v", name, b, err)
	}
	if name == "request" {
		if _, err := schemas.DecodeRequest(b); err != nil {
			t.Errorf("%s: %v", b, err)
		}
	}
}
