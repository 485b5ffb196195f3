// Package prompts holds the definitions that an operator writes: emend.yaml (NATS, backends, queues, profiles) and one
// file per prompt version. It loads and checks them, renders templates and turns a request into a run.Plan; all
// validation of requests lives here, so that the worker, the library and the offline commands share it.
//
// A folder of definitions:
//
//	emend.yaml                     optional for a library that gives WithBackend and WithProfile
//	prompts/<id>@<version>.yaml    one file per prompt version
//	prompts/*.json                 schema files that the prompts name
//
// One field table per object (table_config.go, table_prompt.go) yields the strict decoder, the defaults, the bounds, the
// published JSON Schemas (ConfigSchema, PromptSchema) and the reference (ReferenceMarkdown). Every fault is reported, not
// only the first, with file, line and field path. A YAML null equals an absent field; anchors and aliases are refused.
//
// A Snapshot never changes once made and is safe for concurrent use.
package prompts
