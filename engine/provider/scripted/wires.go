package scripted

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"emend/engine/provider"
	"emend/schemas"
)

// wire is one provider's form of requests, answers and faults. A script is the same for all.
type wire struct {
	// name is the dialect's.
	name string
	// base is the path of its base URL, path that of its one call, for messages.
	base, path string
	// serves tells by the path of a POST.
	serves func(path string) bool
	// read takes a request apart; its error is what is wrong with it.
	read func(path string, body provider.Value) (*request, error)
	// answer writes a completion.
	answer func(e *provider.Encoder, a *answer)
	// fault writes an error body.
	fault func(e *provider.Encoder, f fault)
	// words are its finish reasons by those that a script uses, which are OpenAI's; any other goes out as it is.
	words map[string]string
}

var wires = []*wire{&openaiWire, &anthropicWire, &geminiWire, &ollamaWire}

// Base is where a dialect finds a server: the url of its backend.
type Base struct{ Dialect, URL string }

// Bases lists the base URLs of a server at an origin such as http://127.0.0.1:8080, one for each wire.
func Bases(origin string) []Base {
	out := make([]Base, len(wires))
	for i, w := range wires {
		out[i] = Base{Dialect: w.name, URL: origin + w.base}
	}
	return out
}

// wireOf returns the wire that a path speaks, or nil.
func wireOf(path string) *wire {
	for _, w := range wires {
		if w.serves(path) {
			return w
		}
	}
	return nil
}

func ends(suffix string) func(string) bool {
	return func(path string) bool { return strings.HasSuffix(path, suffix) }
}

// request is what a script looks at.
type request struct {
	model    string
	messages []message
	// tool is the name of the tool that the request forces.
	tool string
}

type message struct{ role, text string }

// readRequest reads a body on its wire.
func (w *wire) readRequest(path string, raw []byte) (*request, error) {
	body, ok := provider.Parse(raw)
	if !ok || body.Kind() != provider.Object || len(raw) > maxRequest {
		return nil, fmt.Errorf("the body must be one JSON object of at most %d bytes", maxRequest)
	}
	req, err := w.read(path, body)
	if err == nil && len(req.messages) == 0 {
		return nil, fmt.Errorf("the request must hold an array of messages")
	}
	return req, err
}

// answer is a completion in no wire's form.
type answer struct {
	model string
	// n numbers the reply, for its id.
	n int64
	// text and finish are the content and why it ended, in the wire's word.
	text, finish string
	refusal      string
	null         bool
	usage        Usage
	tool         string
}

// fault is an error in no wire's form.
type fault struct {
	status                    int
	code, message, retryAfter string
	model                     string
	n                         int64
}

// answerOf is what a reply says to a request.
func (w *wire) answerOf(r *Reply, req *request, n int64) (*answer, string) {
	a := &answer{model: req.model, n: n, refusal: r.Refusal, null: r.NullContent, tool: req.tool}
	a.text, a.finish = r.content(req)
	if word, ok := w.words[a.finish]; ok {
		a.finish = word
	}
	a.usage = r.usage(req, a.text)
	switch {
	case r.Refusal != "":
		return a, OutcomeRefusal
	case r.NullContent:
		return a, OutcomeNull
	}
	return a, OutcomeAnswer
}

// content returns the text of an answer and its finish reason.
func (r *Reply) content(req *request) (text, finish string) {
	finish = "stop"
	switch {
	case r.Echo:
		for _, m := range req.messages {
			if m.role == schemas.RoleUser {
				text = m.text
			}
		}
	case r.Text != nil:
		text = *r.Text
	case r.Refusal == "" && !r.NullContent:
		text = `{"ok":true}`
	}
	if r.Truncate != nil && *r.Truncate < len(text) {
		n := *r.Truncate
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text, finish = text[:n], "length"
	}
	if r.Finish != "" {
		finish = r.Finish
	}
	return text, finish
}

// usage is what a reply reports: by default a quarter of the bytes.
func (r *Reply) usage(req *request, text string) Usage {
	if r.Usage != nil {
		return *r.Usage
	}
	in, out := int64(0), int64(len(text)+3)/4
	for _, m := range req.messages {
		in += int64(len(m.text)+3) / 4
	}
	return Usage{Input: &in, Output: &out}
}

// render makes the reply's wire form.
func (w *wire) render(r *Reply, req *request, n int64) output {
	out := output{status: r.Status, header: http.Header{"Content-Type": {"application/json"}}}
	if out.status == 0 {
		out.status = http.StatusOK
	}
	f := fault{status: out.status, code: r.ErrorCode, message: "scripted", retryAfter: r.RetryAfter, model: req.model, n: n}
	switch {
	case r.Drop:
		return output{drop: true, outcome: OutcomeDropped}
	case r.Body != nil:
		out.body, out.outcome = []byte(*r.Body), OutcomeRaw
	case out.status > 299:
		out.body, out.outcome = w.faultBody(f), fmt.Sprintf("status %d", out.status)
	case r.ErrorCode != "":
		out.body, out.outcome = w.faultBody(f), OutcomeFault
	default:
		a, outcome := w.answerOf(r, req, n)
		var e provider.Encoder
		e.Grow(len(a.text) + 512)
		w.answer(&e, a)
		out.body, out.outcome = e.Bytes(), outcome
	}
	if r.Malformed {
		out.body, out.outcome = out.body[:len(out.body)/2], OutcomeMalformed
	}
	if r.RetryAfter != "" {
		out.header.Set("Retry-After", r.RetryAfter)
	}
	for name, value := range r.Headers {
		out.header.Set(name, value)
	}
	return out
}

func (w *wire) faultBody(f fault) []byte {
	var e provider.Encoder
	w.fault(&e, f)
	return e.Bytes()
}

func (w *wire) faultOutput(f fault) output {
	return output{status: f.status, header: http.Header{"Content-Type": {"application/json"}}, body: w.faultBody(f)}
}

func jsonOutput(status int, v any) output {
	body, err := schemas.Marshal(v)
	if err != nil {
		return openaiWire.faultOutput(fault{status: http.StatusInternalServerError, code: "internal", message: "no JSON form"})
	}
	return output{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: body}
}
