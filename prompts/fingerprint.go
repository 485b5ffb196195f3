package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strconv"
	"sync"

	"emend/engine/run"
	"emend/schemas"
)

// fingerprint covers all that decides what is asked and how it is judged, in one fixed order of fields; checks stands for
// rules, judges and policy. output is the JSON of p.Output where it is known already.
func fingerprint(p *run.Plan, checks string, output []byte) string {
	buf := buffers.Get().(*[]byte)
	defer giveBack(buf)
	raw, err := appendAsked((*buf)[:0], p, checks, output)
	*buf = raw
	if err != nil {
		return "" // messages and schema were checked to have a JSON form
	}
	sum := sha256.Sum256(raw)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// appendAsked appends what the fingerprint is of.
func appendAsked(raw []byte, p *run.Plan, checks string, output []byte) (_ []byte, err error) {
	settings := []byte("{}")
	if !reflect.ValueOf(&p.Settings).Elem().IsZero() {
		if settings, err = schemas.Marshal(p.Settings); err != nil {
			return raw, err
		}
	}
	if output == nil {
		if output, err = schemas.Marshal(p.Output); err != nil {
			return raw, err
		}
	}
	raw = schemas.AppendString(append(raw, `{"backend":`...), p.Backend)
	raw = schemas.AppendString(append(raw, `,"model":`...), p.Model)
	raw = append(append(raw, `,"settings":`...), settings...)
	raw = append(raw, `,"messages":[`...)
	for i, m := range p.Messages {
		if i > 0 {
			raw = append(raw, ',')
		}
		if raw, err = m.AppendJSON(raw); err != nil {
			return raw, err
		}
	}
	raw = append(append(raw, `],"output":`...), output...)
	raw = strconv.AppendBool(append(raw, `,"native":`...), p.NativeSchema != nil)
	if checks != "" {
		raw = schemas.AppendString(append(raw, `,"checks":`...), checks)
	}
	return append(raw, '}'), nil
}

// buffers are used again for what is only hashed. A very large one is not kept.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const keptBuffer = 1 << 20

func giveBack(buf *[]byte) {
	if cap(*buf) <= keptBuffer {
		buffers.Put(buf)
	}
}
