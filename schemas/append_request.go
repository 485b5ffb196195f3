package schemas

import (
	"encoding/json"
	"maps"
	"slices"
)

// AppendJSON appends the request as Marshal writes it: a coordinator writes one for every job.
func (r *Request) AppendJSON(dst []byte) ([]byte, error) {
	a := appender{buf: dst}
	a.open()
	a.optText(`"prompt":`, r.Prompt)
	a.inputs(r.Inputs)
	a.conversation(r)
	if r.TransientRetries != nil {
		a.number(`"transient_retries":`, int64(*r.TransientRetries))
	}
	if r.TimeoutS != nil {
		a.other(`"timeout_s":`, r.TimeoutS)
	}
	if r.Deadline != nil {
		a.moment(`"deadline":`, *r.Deadline)
	}
	if r.MaxCost != nil {
		a.other(`"max_cost":`, r.MaxCost)
	}
	a.optText(`"attempts":`, r.Attempts)
	a.optText(`"session_id":`, r.SessionID)
	if s := r.Stage; s != nil {
		a.stageRef(s)
	}
	if len(r.Metadata) > 0 {
		a.other(`"metadata":`, r.Metadata)
	}
	a.close()
	return a.buf, a.err
}

// conversation is what stands in place of a prompt, or changes it: no job has any of it.
func (a *appender) conversation(r *Request) {
	if len(r.Messages) > 0 {
		a.other(`"messages":`, r.Messages)
	}
	if len(r.AppendMessages) > 0 {
		a.other(`"append_messages":`, r.AppendMessages)
	}
	a.optText(`"profile":`, r.Profile)
	if r.Settings != nil {
		a.other(`"settings":`, r.Settings)
	}
	if r.Output != nil {
		a.other(`"output":`, r.Output)
	}
}

func (a *appender) inputs(inputs map[string]json.RawMessage) {
	if len(inputs) == 0 {
		return
	}
	a.key(`"inputs":`)
	a.open()
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		a.key("")
		a.buf = append(AppendString(a.buf, name), ':')
		a.value(inputs[name])
	}
	a.close()
}

func (a *appender) stageRef(s *StageRef) {
	a.key(`"stage":`)
	a.open()
	a.text(`"pipeline":`, s.Pipeline)
	a.text(`"digest":`, s.Digest)
	a.text(`"stage":`, s.Stage)
	a.optText(`"lane":`, s.Lane)
	a.optNumber(`"chunk":`, int64(s.Chunk))
	a.optNumber(`"attempt":`, int64(s.Attempt))
	a.close()
}
