//go:build foreign

package foreign

import (
	"testing"
	"time"

	"emend/engine/provider"
)

// want is what a call must come to: a candidate with a finish, or an error of a kind.
type want struct {
	text, finish       string
	kind               provider.Kind
	status             int
	permanent, account bool
	wait               time.Duration
	input, output      int64 // 0 where they are not looked at
}

func (w want) check(t *testing.T, what string, resp *provider.Response, pe *provider.Error) {
	t.Helper()
	if pe != nil {
		if pe.Kind != w.kind || pe.Status != w.status || pe.Permanent != w.permanent || pe.Account != w.account || pe.RetryAfter != w.wait {
			t.Errorf("%s: got %+v\nwant %+v", what, pe, w)
		}
		return
	}
	if w.kind != "" || resp.Text != w.text || resp.Finish != w.finish || resp.Model != "" && resp.Model != "m-1" {
		t.Errorf("%s: got %+v\nwant %+v", what, resp, w)
	}
	if w.input != 0 && (resp.Tokens == nil || *resp.Tokens.Input != w.input || *resp.Tokens.Output != w.output) {
		t.Errorf("%s: tokens %+v", what, resp.Tokens)
	}
}

const total = `{"total":7}`

// answers are what the fixtures of testdata/servers/aimock.json must come to. aimock counts no tokens of Ollama's, and knows
// none of its stop reasons, codes or filters; Anthropic's stop reasons have no filter.
var answers = map[string]struct {
	all    want
	except map[string]want
}{
	"plain":       {want{text: total, finish: provider.FinishStop, input: 12, output: 7}, map[string]want{"ollama": {text: total, finish: provider.FinishStop}}},
	"think first": {want{text: total, finish: provider.FinishStop}, nil},
	"cut short":   {want{text: `{"tot`, finish: provider.FinishLength}, map[string]want{"ollama": {text: `{"tot`, finish: provider.FinishStop}}},
	"filter me": {want{kind: provider.KindFiltered, status: 200}, map[string]want{
		"anthropic": {text: "x", finish: provider.FinishOther}, "ollama": {text: "x", finish: provider.FinishStop}}},
	"say nothing": {want{finish: provider.FinishStop}, nil},
	"call a tool": {want{kind: provider.KindMalformed, status: 200}, map[string]want{"ollama": {finish: provider.FinishStop}}},
	"busy now":    {want{kind: provider.KindStatus, status: 429, wait: 3 * time.Second}, nil},
	"bad key":     {want{kind: provider.KindStatus, status: 401, account: true}, nil},
	"used up":     {want{kind: provider.KindStatus, status: 429, permanent: true, account: true, wait: time.Second}, nil},
	"bad request": {want{kind: provider.KindStatus, status: 400, permanent: true}, nil},
	"down":        {want{kind: provider.KindStatus, status: 503}, nil},
	"unknown":     {want{kind: provider.KindStatus, status: 404, account: true}, nil},
}

// faults are aimock's, asked for by header.
var faults = map[string]want{
	"Ratelimit":  {kind: provider.KindStatus, status: 429, wait: time.Second},
	"Drop":       {kind: provider.KindStatus, status: 500},
	"Malformed":  {kind: provider.KindMalformed, status: 200},
	"Disconnect": {kind: provider.KindTransport},
}

// TestAimock runs every adapter against @copilotkit/aimock, which speaks the four wires.
func TestAimock(t *testing.T) {
	const listens = "listening on "
	line := node(t, listens, "@copilotkit/aimock/dist/cli.js", []string{"-p", "0", "-h", "127.0.0.1", "-f", "testdata/servers/aimock.json"})
	origin := after(line, listens)
	for _, name := range wireNames(t) {
		for text, c := range answers {
			w, ok := c.except[name]
			if !ok {
				w = c.all
			}
			resp, pe := call(t, name, origin, text, nil, nil)
			w.check(t, name+", "+text, resp, pe)
		}
		for fault, w := range faults {
			resp, pe := call(t, name, origin, "plain", nil, map[string][]string{"X-AIMock-Chaos-" + fault: {"1"}})
			w.check(t, name+", "+fault, resp, pe)
		}
	}
	t.Run("a forced tool", func(t *testing.T) {
		resp, pe := call(t, "anthropic", origin, "call a tool", map[string]any{"native_form": "tool"}, nil)
		want{text: total, finish: provider.FinishTool}.check(t, "anthropic, forced", resp, pe)
		if pe == nil && !resp.Arguments {
			t.Error("the arguments of the forced tool are not named")
		}
	})
}
