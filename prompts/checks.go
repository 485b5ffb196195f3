package prompts

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"emend/engine/provider/dialects"
	"emend/schemas"
)

// checkSecret: a secret stands in one place.
func checkSecret(r *report, at string, v any) {
	s := v.(Secret)
	if s.Env != "" && s.File != "" {
		r.once(at, "must be {env: NAME} or {file: PATH}, not both")
	}
	if s.IsZero() && r.given(at) {
		r.once(at, "must be {env: NAME} or {file: PATH}")
	}
}

func checkNATS(r *report, at string, v any) {
	n := v.(NATS)
	if (n.Cert == "") != (n.Key == "") {
		r.once(at, "cert and key go together; give both or neither")
	}
	if n.Creds != "" && n.NKey != "" {
		r.once(at, "creds and nkey are two ways to log in; give one")
	}
	if n.Context == "" {
		return
	}
	for _, name := range []string{"url", "creds", "nkey", "ca", "cert", "key"} {
		if r.given(join(at, name)) {
			r.once(join(at, name), "has no effect beside context, which brings its own; remove one of them")
		}
	}
}

// checkBackend checks what the dialect decides, and the headers.
func checkBackend(r *report, at string, v any) {
	b := v.(Backend)
	entry, err := dialects.Lookup(b.Dialect)
	if err != nil {
		return // the table has said so
	}
	if b.URL != "" || entry.URL == "" {
		checkURL(r, join(at, "url"), b.URL)
	}
	for _, e := range split(entry.CheckOptions(b.Options)) {
		path, message, _ := strings.Cut(e.Error(), ": ")
		if r.bad[join(at, path)] {
			continue
		}
		for one := range strings.SplitSeq(message, "\n") {
			r.fault(join(at, path), "%s", one)
		}
	}
	if b.Permits > 0 && b.Admitted > 0 && b.Admitted < b.Permits {
		r.once(join(at, "admitted"), "is %d; it must be 0 or at least permits (%d)", b.Admitted, b.Permits)
	}
	if b.KeyHeader != "" && b.Key.IsZero() {
		r.once(join(at, "key_header"), "has no effect without key; add key: {env: NAME}, or remove it")
	}
	checkHeaders(r, at, b, entry.KeyHeader())
	checkProxy(r, join(at, "proxy"), b.Proxy)
}

func split(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// ownHeaders are set by the client or decide how it reads.
var ownHeaders = []string{"Host", "Content-Length", "Content-Type", "Content-Encoding", "Accept-Encoding", "Transfer-Encoding", "Connection"}

func checkHeaders(r *report, at string, b Backend, usual string) {
	key := http.CanonicalHeaderKey(cmp.Or(b.KeyHeader, usual))
	if slices.Contains(ownHeaders, key) {
		r.once(join(at, "key_header"), "%s is set by the client", key)
	}
	seen := map[string]bool{}
	for name := range b.Headers {
		path, canonical := join(join(at, "headers"), name), http.CanonicalHeaderKey(name)
		switch {
		case seen[canonical]:
			r.once(join(at, "headers"), "%s stands twice, in different case", canonical)
		case slices.Contains(ownHeaders, canonical):
			r.once(path, "is set by the client")
		case canonical == key && !b.Key.IsZero():
			r.once(path, "carries the key; give it once, as key")
		case canonical == "Authorization" && b.Headers[name].Secret.IsZero():
			r.once(path, "holds a credential in clear; use key: {env: NAME}, or {env: NAME} here")
		}
		seen[canonical] = true
	}
}

func checkURL(r *report, at, s string) {
	if s == "" {
		r.once(at, "is missing: the base URL, such as https://api.openai.com/v1")
		return
	}
	switch u, err := url.Parse(s); {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		r.once(at, "must be a URL that begins with http:// or https:// and has a host")
	case u.User != nil:
		r.once(at, "must hold no user or password; use key or headers")
	case u.RawQuery != "" || u.Fragment != "":
		r.once(at, "must hold no query or fragment; give parameters as query")
	}
}

// checkConfig: what a profile names must exist.
func checkConfig(r *report, _ string, v any) {
	c := v.(Config)
	if r.bad["backends"] {
		return // what they are is not known
	}
	for name, p := range c.Profiles {
		if _, ok := c.Backends[p.Backend]; !ok {
			r.once("profiles."+name+".backend", "there is no backend %s%s", p.Backend, nearest(p.Backend, c.BackendNames()))
		}
	}
}

func checkInput(r *report, at string, v any) {
	in := v.(Input)
	if in.Default == nil {
		return
	}
	if in.Required != nil && *in.Required {
		r.once(join(at, "required"), "contradicts default: an input with a default need not be given")
	}
	if size := sizeOf(in.Default); in.Max > 0 && size > in.Max {
		r.once(join(at, "default"), "has %d bytes, more than max (%s)", size, in.Max)
	}
}

// checkPrompt checks the contract and the names of tests; templates and inputs are compiled later.
func checkPrompt(r *report, _ string, v any) {
	p := v.(Prompt)
	seen := map[string]bool{}
	for i, t := range p.Tests {
		if seen[t.Name] {
			r.once(join(index("tests", i), "name"), "stands twice; tests have names of their own")
		}
		seen[t.Name] = true
		if len(t.Answers) == 0 && !reflect.ValueOf(t.Expect).IsZero() {
			r.once(join(index("tests", i), "expect"), "is never looked at: the test has no answers, so nothing is played; give answers, or remove expect")
		}
	}
	o := p.Output
	if r.bad["output.mode"] {
		return
	}
	if p.Outputs != nil {
		return // the short form brings mode, schema and budget
	}
	for _, e := range contractFaults(o.Mode, o.Schema.File != "" || o.Schema.Inline != nil, o.RepairAttempts, o.Repair != (schemas.Repair{})) {
		r.once("output."+e.field, "%s", e.message)
	}
}
