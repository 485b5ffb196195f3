package prompts

import (
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/schemas"
)

// pipelineName is a token of subjects.
const pipelineWords = subjectWords

// stagePolicyFields have no defaults: what is absent is inherited, so that null, which would say nothing, is refused.
var stagePolicyFields = []field{
	{name: "producer_structural_failure", kind: text{oneOf: []string{run.PolicyFailRun, run.PolicyRejectOutput}}, noNull: true,
		doc: "whether an answer that stays invalid fails the run, or is left out of it; only where a prompt produces; fail_run"},
	{name: "semantic_rejection", kind: text{oneOf: []string{run.PolicyFailRun, run.PolicyRejectOutput}}, noNull: true,
		doc: "whether a rejected output fails the run, or is left out of it; fail_run"},
	{name: "validator_failure", kind: text{oneOf: []string{run.PolicyWarnContinue, run.PolicyFailRun}}, noNull: true,
		doc: "whether an output whose judge came to no decision goes on, or fails the run; warn_continue"},
}

var stagePolicyObject = &object{name: "stage_policy", doc: "What follows when an output is not approved: a stage's words go over the pipeline's, field by field.",
	fields: stagePolicyFields}

var policyField = field{name: "validation_policy", kind: stagePolicyObject, noNull: true, doc: "what follows when an output is not approved, or stays invalid"}

// producerFields are those of every stage.
var producerFields = []field{
	{name: "prompt", kind: text{}, doc: "the prompt that produces, as id or id@version"},
	{name: "retries", kind: whole{0, MaxStageRetries}, doc: "further stage attempts in place of the prompt's"},
	{name: "checks", kind: list{of: checkObject, max: 100}, doc: "rules and judges after the prompt's own; a stage without a prompt takes rules alone"},
	policyField,
}

var documentObject = &object{name: "document", doc: "The document that is cut.", fields: []field{
	{name: "max", kind: amount{1, maxInput}, doc: "its largest size", def: "64MiB"},
}}

var chunkObject = &object{name: "chunk", doc: "How the document is cut: by a chunker, or by a prompt that names the lines in which chunks begin.", also: checkChunk,
	fields: append([]field{
		{name: "by", kind: text{oneOf: pipeline.Chunkers}, doc: "size, at white space; headings of Markdown; paragraphs, as many as size allows; lines of JSON; or records of a JSON array"},
		{name: "size", kind: amount{16, maxInput}, doc: "the most bytes of a chunk; needed by size and paragraphs"},
		{name: "overlap", kind: amount{0, maxInput}, doc: "with size: bytes that a chunk repeats of the one before it, at most half of size"},
		{name: "level", kind: whole{1, 6}, doc: "with headings: the deepest heading that begins a chunk; 2 if absent"},
		{name: "per", kind: whole{1, 100_000}, doc: "with json_lines and records: how many make a chunk; 1 if absent"},
		{name: "repair_attempts", kind: whole{0, MaxRepairAttempts}, doc: "with prompt: corrective calls after an answer that is no chunk plan; 1 if absent"},
	}, producerFields...)}

var extractObject = &object{name: "extract", doc: "A prompt per chunk. Its inputs: chunk, and if it declares them index, chunks, lane and the pipeline's.", fields: producerFields}

var combineFields = append([]field{
	{name: "by", kind: text{oneOf: pipeline.Combinations}, doc: "concatenate lists (or texts), keep unique entries, sort them, or compute with CEL"},
	{name: "at", kind: text{}, doc: "where the list stands in each value, as a path of members; absent means the value itself"},
	{name: "key", kind: list{of: text{}, min: 1, max: 8, unique: true}, doc: "with unique and sort: paths of members that tell entries apart, or order them; absent means the whole entry"},
	{name: "order", kind: text{oneOf: []string{orderAscending, orderDescending}}, doc: "with sort: ascending if absent"},
	{name: "separator", kind: text{empty: true, lines: true}, doc: "with concatenate: what stands between texts; a blank line if absent"},
	{name: "expression", kind: text{lines: true}, doc: "with cel: an expression whose value is the output; a merge has items, a normalize merged"},
}, producerFields...)

var mergeObject = &object{name: "merge", doc: "One value of a lane's accepted outputs: by an operation, or by a prompt with the input items. Absent, lists are concatenated.", fields: combineFields}

var normalizeObject = &object{name: "normalize", doc: "Another value of the merged one: by an operation, or by a prompt with the input merged.", fields: append(slices.Clone(combineFields),
	field{name: "retry_when", kind: text{lines: true}, doc: "with prompt: an expression over normalized and merged that is true of an accepted answer that is to be asked for again, from the same retries"},
	field{name: "fallback", kind: text{oneOf: pipeline.Fallbacks}, doc: "with retry_when: what goes on when the retries are used up: the merged value (if absent), the last answer, or nothing"})}

var laneObject = &object{name: "lane", doc: "One way through the chunks.", fields: []field{
	{name: "extract", kind: extractObject, doc: "a prompt that is run on every chunk", required: true},
	{name: "merge", kind: mergeObject, doc: "how the accepted outputs become one"},
	{name: "normalize", kind: normalizeObject, doc: "what is done with the merged value"},
}}

// lanesKind is a mapping of lanes that keeps their order.
type lanesKind struct{}

const maxLanes = 20

func (lanesKind) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	var out []LaneSpec
	eachMember(r, n, at, func(key string, line int, val *yaml.Node) {
		l := LaneSpec{Name: key}
		path := join(at, key)
		r.lines[path] = line
		if isNull(val) {
			r.faultOn(line, path, "must be a mapping with extract")
			return
		}
		readInto(r, laneObject, val, path, reflect.ValueOf(&l).Elem())
		r.lines[path] = line
		out = append(out, l)
	})
	v.Set(reflect.ValueOf(out))
}

func (lanesKind) check(r *report, at string, v reflect.Value) {
	lanes := v.Interface().([]LaneSpec)
	if len(lanes) == 0 || len(lanes) > maxLanes {
		r.fault(at, "has %d lanes; allowed are 1 to %d", len(lanes), maxLanes)
	}
	for i, l := range lanes {
		path := join(at, bounded(l.Name))
		switch {
		case !inputName.MatchString(l.Name):
			r.fault(path, "the name must be %s", inputWords)
		case slices.ContainsFunc(lanes[:i], func(o LaneSpec) bool { return o.Name == l.Name }):
			r.fault(path, "stands twice")
		case !r.bad[path]:
			laneObject.check(r, path, reflect.ValueOf(l))
		}
	}
}

func (lanesKind) schema() ordered {
	return ordered{{"type", "object"}, {"additionalProperties", laneObject.schema()}, {"minProperties", 1}, {"maxProperties", maxLanes}}
}

func (lanesKind) words() string { return "mapping of lane" }

var pipelineOutputObject = &object{name: "pipeline_output", doc: "The contract of the output, an object with a member for each lane. It has no policy: an output that breaks it is the result, with status invalid.", fields: []field{
	{name: "schema", kind: schemaRef, doc: "a file beside the prompts, or the schema itself"},
	{name: "rules", kind: list{of: ruleObject, max: 100}, doc: "rules on the output"},
}}

var pipelineObject = &object{name: "pipeline", doc: "One version of a pipeline: pipelines/<name>@<version>.yaml. Its runs arrive on subjects of their own, its jobs are runs.",
	fields: []field{
		{name: "description", kind: text{lines: true, empty: true}, doc: "what it is for"},
		{name: "document", kind: documentObject, doc: "the input that is cut"},
		{name: "inputs", kind: dict{of: inputObject, name: inputName, what: inputWords}, doc: "inputs besides the document, for every prompt that declares them"},
		{name: "chunk", kind: chunkObject, doc: "how the document is cut", required: true},
		{name: "lanes", kind: lanesKind{}, doc: "lanes by name, in order", required: true},
		{name: "output", kind: pipelineOutputObject, doc: "the contract of the whole"},
		policyField,
		{name: "reuse", kind: text{oneOf: []string{schemas.ReuseAuto, schemas.ReuseRefresh, schemas.ReuseNone}},
			doc: "whether accepted outputs of earlier runs stand in for jobs: take and keep them, only keep, or neither; a request may say otherwise", def: schemas.ReuseAuto},
		{name: "window", kind: whole{1, 1000}, doc: "jobs that are published and have not ended", def: "128"},
	}}

// checkChunk: each chunker has its own bounds.
func checkChunk(r *report, at string, v any) {
	c := v.(ChunkSpec)
	switch {
	case r.bad[join(at, "by")] || r.bad[join(at, "prompt")]:
		return // what belongs to it cannot be known
	case (c.By == "") == (c.Prompt == ""):
		r.once(at, "needs by or prompt, one of the two")
		return
	case (c.By == pipeline.BySize || c.By == pipeline.ByParagraphs) && c.Size == 0:
		r.once(join(at, "size"), "is missing: by %s needs it, such as 8KiB", c.By)
	case c.Overlap > 0 && c.Overlap > c.Size/2:
		r.once(join(at, "overlap"), "is more than half of size (%s)", c.Size)
	}
	for _, f := range []struct {
		name  string
		given bool
		with  []string
	}{
		{"size", c.Size > 0, pipeline.Chunkers},
		{"overlap", c.Overlap > 0, []string{pipeline.BySize}},
		{"level", c.Level > 0, []string{pipeline.ByHeadings}},
		{"per", c.Per > 0, []string{pipeline.ByJSONLines, pipeline.ByRecords}},
	} {
		if f.given && !slices.Contains(f.with, c.By) {
			r.once(join(at, f.name), "has no effect here; remove it")
		}
	}
	if c.RepairAttempts != nil && c.Prompt == "" {
		r.once(join(at, "repair_attempts"), "has no effect without prompt; remove it")
	}
}
