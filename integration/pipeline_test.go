package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// pipelineFiles are a pipeline over lines with two lanes: names is a list of each line, notes another.
var pipelineFiles = map[string]string{
	"prompts/names@1.yaml": "profile: fast\ninputs: {chunk: {max: 4MiB}}\nmessages: [{user: 'NAMES {{ .chunk }}'}]\noutput: {mode: json}\n",
	"prompts/notes@1.yaml": "profile: elsewhere\ninputs: {chunk: {max: 4MiB}, index: {}}\nmessages: [{user: 'NOTES {{ .index }} {{ .chunk }}'}]\noutput: {mode: json}\n",
	"prompts/tidy@1.yaml":  "profile: fast\ninputs: {merged: {}}\nmessages: [{user: 'TIDY {{ .merged }}'}]\noutput: {mode: json}\n",
	"pipelines/digest@1.yaml": `
chunk: {by: json_lines}
lanes:
  names: {extract: {prompt: names}, merge: {by: unique}}
  notes: {extract: {prompt: notes}, merge: {by: concatenate}, normalize: {prompt: tidy}}
reuse: none
`,
}

// newPipelines is a site with pipelineFiles, some of which a test replaces, and no worker.
func newPipelines(t *testing.T, replace map[string]string, base ...string) *site {
	t.Helper()
	s := newSite(t, devnats.Options{}, base...)
	for name, text := range pipelineFiles {
		s.write(name, text)
	}
	for name, text := range replace {
		s.write(name, text)
	}
	s.mock.answers["TIDY"] = `"tidied"`
	return s
}

// lines is a document of n JSON lines, each a text that names its number.
func lines(n int, mark string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\"%s line%d.\"\n", mark, i+1)
	}
	return b.String()
}

func document(text string) string {
	raw, err := json.Marshal(schemas.PipelineRequest{Inputs: map[string]json.RawMessage{"document": quoted(text)}})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func quoted(text string) json.RawMessage {
	raw, err := schemas.Marshal(text)
	if err != nil {
		panic(err)
	}
	return raw
}

func (s *site) publishPipeline(id, text string) {
	s.Helper()
	s.must(s.tryPublish(s.names.Pipeline("digest", "default", id), text, ""))
}

func TestPipelineEndToEnd(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, nil)
	for i := 1; i <= 4; i++ {
		s.mock.answers[fmt.Sprintf("NAMES \\\"x line%d.", i)] = fmt.Sprintf(`["n%d", "all"]`, i)
		s.mock.answers[fmt.Sprintf("NOTES %d", i)] = fmt.Sprintf(`[%d]`, i)
	}
	s.worker()
	s.publishPipeline("one", document(lines(4, "x")))
	r := s.ends("one", schemas.StatusSucceeded)
	if h := s.stored(s.names.ResultsStream(), s.names.Result("default", "one")).Headers(); h.Get(subjects.HeaderPipeline) != "digest@1" || h.Get(subjects.HeaderPrompt) != "" {
		t.Errorf("headers %v", h)
	}
	if want := `{"names":["n1","all","n2","n3","n4"],"notes":"tidied"}`; string(r.Output) != want {
		t.Errorf("output %s, want %s", r.Output, want)
	}
	if r.Pipeline == nil || r.Pipeline.Pipeline != "digest@1" || r.Pipeline.Chunks != 4 || r.Counts.Calls != 9 || r.Request.Seq == 0 {
		t.Errorf("%+v %+v", r.Pipeline, r.Counts)
	}
	s.calls(9)
	s.gone(s.names.Pipeline("digest", "default", "one"))
	if n := s.count(s.names.ResultsStream()); n != 10 {
		t.Errorf("%d results, want 9 of jobs and one of the whole", n)
	}
}

// Where a queue lets no reply go to workers, the ends of jobs are heard of by their events.
func TestPipelineInAQueueOfOtherInboxes(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, oneLane(4))
	conf := strings.Replace(s.read("emend.yaml"), "team-a: {in_flight: 8", "team-a: {inboxes: ['TEAM.>'], in_flight: 8", 1)
	s.write("emend.yaml", conf)
	s.mock.answers["NAMES"] = `["n"]`
	s.worker()
	s.must(s.tryPublish(s.names.Pipeline("digest", "team-a", "one"), document(lines(12, "x")), ""))
	r := s.decode(s.stored(s.names.ResultsStream(), s.names.Result("team-a", "one")).Data())
	if r.Status != schemas.StatusSucceeded || r.Counts.Calls != 12 {
		t.Errorf("%s %+v", r.Status, r.Error)
	}
}

func (s *site) read(name string) string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	s.must(err)
	return string(text)
}
