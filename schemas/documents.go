package schemas

import (
	"bytes"
	_ "embed" // the documents below
)

var (
	//go:embed request.schema.json
	requestSchema []byte
	//go:embed result.schema.json
	resultSchema []byte
	//go:embed event.schema.json
	eventSchema []byte
	//go:embed service.schema.json
	serviceSchema []byte
	//go:embed pipeline.schema.json
	pipelineSchema []byte
	//go:embed asyncapi.yaml
	asyncAPI []byte
)

// RequestSchema is the JSON Schema of a Request. It asks for more than DecodeRequest, such as bounds of values; only a
// name that is given twice and a whole number written as 1.0 it cannot tell.
func RequestSchema() []byte { return bytes.Clone(requestSchema) }

// ResultSchema is the JSON Schema of a Result.
func ResultSchema() []byte { return bytes.Clone(resultSchema) }

// EventSchema is the JSON Schema of an Event.
func EventSchema() []byte { return bytes.Clone(eventSchema) }

// PipelineSchema is the JSON Schema of a PipelineRequest.
func PipelineSchema() []byte { return bytes.Clone(pipelineSchema) }

// ServiceSchema holds the JSON Schemas of what services are asked and answer under $defs, by type: run_ref of RunRef,
// dead_list of DeadList.
func ServiceSchema() []byte { return bytes.Clone(serviceSchema) }

// AsyncAPI is the AsyncAPI 3.0 document of all subjects and messages, in the default space. It refers to the schemas as
// files beside it: request.schema.json, result.schema.json, event.schema.json, pipeline.schema.json,
// service.schema.json.
func AsyncAPI() []byte { return bytes.Clone(asyncAPI) }
