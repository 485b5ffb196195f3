package schemas

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// MaxBytes bounds a message: no NATS server carries more.
const MaxBytes = 64 << 20

// maxProblems bounds what one error lists.
const maxProblems = 50

// Problem is one fault of a message: where, and what is allowed there. It never holds a value of the message.
type Problem struct {
	// Path is a dotted field path such as settings.temperature or messages[1].content; "" is the message itself.
	Path    string `json:"path"`
	Message string `json:"message"`
}

// DecodeError lists everything that is wrong with a message, in the order of the message.
type DecodeError struct{ Problems []Problem }

// Error joins the problems.
func (e *DecodeError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		if p.Path != "" {
			b.WriteString(p.Path + ": ")
		}
		b.WriteString(p.Message)
	}
	return b.String()
}

// DecodeRequest reads the body of a run strictly: one JSON object, known fields, each at most once and of its type;
// null equals absent. What it refuses it tells in one *DecodeError. What the values mean is for the caller to check. Nothing of the
// request is a part of body.
func DecodeRequest(body []byte) (Request, error) { return decode[Request](body) }

// DecodeRunRef reads the body of a request to emend.get or emend.cancel, as strictly as DecodeRequest.
func DecodeRunRef(body []byte) (RunRef, error) { return decode[RunRef](body) }

// DecodeReviewQuery decodes the body of reviews; an empty one asks for a list. Errors are as of DecodeRequest.
func DecodeReviewQuery(body []byte) (ReviewQuery, error) {
	if len(body) == 0 {
		return ReviewQuery{}, nil
	}
	return decode[ReviewQuery](body)
}

// DecodeDecision decodes the body of decide; errors are as of DecodeRequest. Whether it makes sense is for whoever
// decides to say.
func DecodeDecision(body []byte) (Decision, error) { return decode[Decision](body) }

// Fingerprint ties a result to its request: the hex SHA-256 of the backend, a zero byte and the body.
func Fingerprint(backend string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(backend))
	h.Write([]byte{0})
	h.Write(body)
	var sum [sha256.Size]byte
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], h.Sum(sum[:0]))
	return string(text[:])
}

func decode[T any](body []byte) (T, error) {
	var v, none T
	if err := document(body); err != nil {
		return none, &DecodeError{Problems: []Problem{{Message: err.Error()}}}
	}
	d := decoder{root: reflect.TypeFor[T]()}
	raw := body[space(body, 0):]
	raw = raw[:end(raw, 0)]
	d.value(raw, "", reflect.ValueOf(&v).Elem())
	d.surrogates(raw, "")
	if len(d.problems) == 0 {
		return v, nil
	}
	if d.more > 0 {
		d.problems = append(d.problems, Problem{Message: fmt.Sprintf("and %d more", d.more)})
	}
	return none, &DecodeError{Problems: d.problems}
}

// document checks that body is one JSON object that can be walked.
func document(body []byte) error {
	switch at := space(body, 0); {
	case len(body) > MaxBytes:
		return fmt.Errorf("the message has %d bytes, allowed are %d", len(body), MaxBytes)
	case at == len(body):
		return errors.New("the message is empty; a JSON object is expected")
	case !utf8.Valid(body):
		return errors.New("the message is no valid UTF-8")
	case bytes.Count(body, []byte{'{'})+bytes.Count(body, []byte{'['}) > MaxDepth && depth(body) > MaxDepth:
		return fmt.Errorf("the message is nested more than %d deep", MaxDepth)
	case !Valid(body):
		return malformed(body)
	case body[at] != '{':
		return fmt.Errorf("the message is %s; a JSON object is expected", kindOf(body[at:]))
	}
	return nil
}

// malformed says where, without a byte of the text.
func malformed(body []byte) error {
	var v json.RawMessage
	syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(body, &v))
	if !ok {
		return errors.New("the message is no JSON value")
	}
	if first := json.NewDecoder(bytes.NewReader(body)); first.Decode(&v) == nil {
		return fmt.Errorf("the message goes on behind its JSON value, at byte %d; exactly one value is expected", first.InputOffset())
	}
	return fmt.Errorf("the message is no valid JSON: syntax error at byte %d of %d", syntax.Offset, len(body))
}

// decoder fills a value from a valid document and collects what does not fit.
type decoder struct {
	root     reflect.Type
	problems []Problem
	more     int
}

func (d *decoder) problem(path, format string, args ...any) {
	if len(d.problems) == maxProblems {
		d.more++
		return
	}
	d.problems = append(d.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// value fills v from raw, which is not null where null means absent.
func (d *decoder) value(raw []byte, path string, v reflect.Value) {
	t := v.Type()
	switch {
	case t == rawType:
		v.SetBytes(bytes.Clone(raw))
	case t == messageType:
		d.message(raw, path, v)
	case leaf(t):
		d.leaf(raw, path, v)
	case t.Kind() == reflect.Pointer:
		p := reflect.New(t.Elem())
		d.value(raw, path, p.Elem())
		v.Set(p)
	case t.Kind() == reflect.Slice:
		d.slice(raw, path, v)
	case t.Kind() == reflect.Map:
		d.dict(raw, path, v)
	default:
		d.object(raw, path, v)
	}
}

func (d *decoder) leaf(raw []byte, path string, v reflect.Value) {
	want, jsonKind := expected(v.Type())
	if got := kindOf(raw); got != jsonKind {
		d.problem(path, "expected %s, got %s", want, got)
	} else if v.Type() == stringType && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		v.SetString(string(raw[1 : len(raw)-1])) // the document is valid, and UTF-8
	} else if json.Unmarshal(raw, v.Addr().Interface()) != nil {
		d.problem(path, "expected %s", want)
	}
}

func (d *decoder) slice(raw []byte, path string, v reflect.Value) {
	if raw[0] != '[' {
		d.problem(path, "expected an array, got %s", kindOf(raw))
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, 4)
	for i, e := range elements(raw) {
		x := reflect.New(v.Type().Elem()).Elem()
		d.value(e, fmt.Sprintf("%s[%d]", path, i), x)
		out = reflect.Append(out, x)
	}
	v.Set(out)
}

// dict fills a map, whose names are free. A null is a value where any value may stand, and absent elsewhere.
func (d *decoder) dict(raw []byte, path string, v reflect.Value) {
	if raw[0] != '{' {
		d.problem(path, "expected an object, got %s", kindOf(raw))
		return
	}
	if v.Type() == rawDict {
		v.Set(reflect.ValueOf(d.raws(raw, path)))
		return
	}
	out := reflect.MakeMap(v.Type())
	seen := map[string]bool{}
	for name, m := range members(raw) {
		at := join(path, name)
		if seen[name] {
			d.problem(at, "given more than once")
		}
		seen[name] = true
		if m[0] == 'n' && v.Type().Elem() != rawType {
			continue
		}
		x := reflect.New(v.Type().Elem()).Elem()
		d.value(m, at, x)
		out.SetMapIndex(reflect.ValueOf(name), x)
	}
	v.Set(out)
}

var rawDict = reflect.TypeFor[map[string]json.RawMessage]()

// raws is dict for values of any kind, which are what a request has most of.
func (d *decoder) raws(raw []byte, path string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, m := range members(raw) {
		if _, seen := out[name]; seen {
			d.problem(join(path, name), "given more than once")
		}
		out[name] = bytes.Clone(m)
	}
	return out
}

func (d *decoder) object(raw []byte, path string, v reflect.Value) {
	if raw[0] != '{' {
		d.problem(path, "expected an object, got %s", kindOf(raw))
		return
	}
	fields := fieldsOf(v.Type())
	for name, m := range d.known(raw, path, fields) {
		if i := indexOf(fields, name); m[0] != 'n' {
			d.value(m, join(path, name), v.Field(fields[i].index))
		}
	}
}

// message checks the fields of a Message as of any object; its own decoder knows the forms of content.
func (d *decoder) message(raw []byte, path string, v reflect.Value) {
	if raw[0] != '{' {
		d.problem(path, "expected an object, got %s", kindOf(raw))
		return
	}
	before, m := len(d.problems)+d.more, v.Addr().Interface().(*Message)
	for name, e := range d.known(raw, path, fieldsOf(messageType)) {
		if name != "content" && e[0] != 'n' && e[0] != '"' {
			d.problem(join(path, name), "expected a string, got %s", kindOf(e))
		}
	}
	if before != len(d.problems)+d.more {
		return
	}
	if err := m.UnmarshalJSON(raw); err != nil {
		d.problem(join(path, "content"), "expected a string, or an array of objects each with a string \"type\"")
	}
}
