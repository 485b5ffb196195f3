package pipeline

import (
	"encoding/json"
	"fmt"
	"strconv"

	"emend/schemas"
)

// Inputs that the prompts of stages may declare, besides those of the pipeline.
const (
	InputDocument = "document"
	// InputNumbered is the document with its lines numbered, for a chunk prompt.
	InputNumbered = "numbered"
	InputChunk    = "chunk"
	// InputIndex counts chunks from 1, InputChunks is their number, InputLane the lane's name.
	InputIndex  = "index"
	InputChunks = "chunks"
	InputLane   = "lane"
	InputItems  = "items"
	InputMerged = "merged"
)

// Given lists, by stage, the inputs that a stage gives to its prompt; the first of them is what the stage works on.
var Given = map[string][]string{
	schemas.StageChunk:     {InputNumbered, InputDocument},
	schemas.StageExtract:   {InputChunk, InputIndex, InputChunks, InputLane},
	schemas.StageMerge:     {InputItems, InputLane},
	schemas.StageNormalize: {InputMerged, InputLane},
}

// Inputs are what a job's prompt is given, of what it declares. The error says that a value is larger than the prompt takes.
func (r *Run) Inputs(j Job) (map[string]json.RawMessage, error) {
	step := r.Binding(j)
	out := map[string]json.RawMessage{}
	for name, limit := range step.Inputs {
		raw, ok, err := r.input(j, name)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if n := len(raw); n > limit && sizeOf(raw) > limit {
			return nil, fmt.Errorf("%s: input %s has %d bytes, but %s takes %d", r.describe(j), name, sizeOf(raw), step.Prompt, limit)
		}
		out[name] = raw
	}
	return out, nil
}

// Binding is the step that a job belongs to.
func (r *Run) Binding(j Job) Step { return r.tally(j.Stage, j.Lane).binding() }

// sizeOf is what a prompt counts: a text's bytes, another value's JSON.
func sizeOf(raw json.RawMessage) int {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return len(s)
	}
	return len(raw)
}

func (r *Run) input(j Job, name string) (raw json.RawMessage, ok bool, err error) {
	if raw, ok := r.req.Inputs[name]; ok {
		return raw, true, nil
	}
	switch {
	case name == InputLane && j.Lane >= 0:
		raw = schemas.AppendString(nil, r.name(j))
	case name == InputDocument && j.Stage == schemas.StageChunk:
		raw = r.req.Document
	case name == InputNumbered && j.Stage == schemas.StageChunk:
		raw, err = schemas.Marshal(Numbered(r.doc.Text))
	case name == InputChunk && j.Chunk > 0:
		raw, err = r.doc.value(r.spans[j.Chunk-1])
	case name == InputIndex && j.Chunk > 0:
		raw = json.RawMessage(strconv.Itoa(j.Chunk))
	case name == InputChunks && j.Chunk > 0:
		raw = json.RawMessage(strconv.Itoa(len(r.spans)))
	case name == InputItems && j.Stage == schemas.StageMerge:
		raw, err = schemas.Marshal(present(r.lanes[j.Lane].outputs))
	case name == InputMerged && j.Stage == schemas.StageNormalize:
		raw = r.lanes[j.Lane].merged
	default:
		return nil, false, nil
	}
	return raw, true, err
}

func present(outputs []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(outputs))
	for _, o := range outputs {
		if o != nil {
			out = append(out, o)
		}
	}
	return out
}
