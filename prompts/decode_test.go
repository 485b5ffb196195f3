package prompts

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// minimal is a backend and a profile on which the tests build.
const minimal = "backends: {o: {dialect: openai, url: 'http://h/v1'}}\nprofiles: {p: {backend: o, model: m}}\n"

func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	list, ok := err.(Errors)
	if !ok {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	var out []string
	for _, p := range list {
		if p.File == "" || p.Message == "" {
			t.Errorf("a problem without file or message: %+v", p)
		}
		out = append(out, p.String())
	}
	return out
}

func sameProblems(t *testing.T, text string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s\ngot  %s\nwant %s", text, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		return
	}
	for i := range got {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got[i], want[i])
		}
	}
}

func TestConfigProblems(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"# nothing\n", nil},
		{minimal, nil},
		{"[]", []string{"emend.yaml:1: must be a mapping, not a list"}},
		{
			"a: [",
			[]string{"emend.yaml:1: is no valid YAML: did not find expected node content"},
		},
		{
			"\n\tx: 1",
			[]string{"emend.yaml:2: is no valid YAML: found character that cannot start any token"},
		},
		{
			"log: {}\n---\nlog: {}",
			[]string{"emend.yaml:2: is no valid YAML: a second document begins here; one file holds one"},
		},
		{"\xff: 1", []string{"emend.yaml: is no valid YAML"}},
		{
			"x: &a 1\ny: *a",
			[]string{
				"emend.yaml:1: anchors and aliases are not supported",
				"emend.yaml:2: anchors and aliases are not supported",
			},
		},
		{
			"log: !!map {}",
			[]string{"emend.yaml:1: explicit tags such as !!str are not supported"},
		},
		{"log:\n  level: !secret x", []string{"emend.yaml:2: explicit tags"}},
		{
			"options: " + strings.Repeat("[", 70) + strings.Repeat("]", 70),
			[]string{"emend.yaml:1: is nested more than 64 deep"},
		},
		{
			"? {a: b}\n: c",
			[]string{"emend.yaml:1: a name must be text, not a mapping"},
		},
		{
			"bakends: {}\nlog: {}\nlog: {}\n<<: {}",
			[]string{"emend.yaml:1: bakends: unknown field; did you mean backends?",
				"emend.yaml:3: log: is given more than once", "emend.yaml:4: <<: unknown field; known are ack_wait, audit, backends, catalog_grace"},
		},
		{
			"nats: {url: 5, replicas: two, single_replica: on, inboxes: _INBOX.>}",
			[]string{
				"emend.yaml:1: nats.inboxes: must be a list, not text",
				"emend.yaml:1: nats.replicas: must be a whole number from 1 to 5, not text",
				"emend.yaml:1: nats.single_replica: must be true or false, not text",
				"emend.yaml:1: nats.url: must be text, not a number; put it in quotes"},
		},
		{
			"nats: {space: 'A b', domain: 'x y', replicas: 7, inboxes: [], single_replica: yes}",
			[]string{
				"emend.yaml:1: nats.domain: must be A-Z",
				"emend.yaml:1: nats.inboxes: has 0 entries; allowed are 1 to 100",
				"emend.yaml:1: nats.replicas: is 7; it must be a whole number from 1 to 5",
				"emend.yaml:1: nats.single_replica: must be true or false, not text",
				"emend.yaml:1: nats.space: must be a-z, 0-9 and -"},
		},
		{
			"nats: {creds: a, nkey: b}",
			[]string{"emend.yaml:1: nats: creds and nkey are two ways to log in; give one"},
		},
		{
			"nats: {context: c, url: 'nats://x', cert: a}",
			[]string{"emend.yaml:1: nats: cert and key go together",
				"emend.yaml:1: nats.cert: has no effect beside context", "emend.yaml:1: nats.url: has no effect beside context"},
		},
		{
			"nats: {inboxes: ['a..b', 'x y', A, A, ~]}",
			[]string{
				"emend.yaml:1: nats.inboxes[0]: must be a subject",
				"emend.yaml:1: nats.inboxes[1]: must be",
				"emend.yaml:1: nats.inboxes[3]: stands twice",
				"emend.yaml:1: nats.inboxes[4]: must not be null",
			},
		},
		{
			"keep: {results: 7, events: 6hours, dead: 0s, events_max: 4GB, runs_max: 12B}",
			[]string{
				"emend.yaml:1: keep.dead: is 0s; it must be a duration from 1s to 3650d",
				"emend.yaml:1: keep.events: must be a duration from 1s to 3650d; a duration needs a number and a unit",
				"emend.yaml:1: keep.events_max: must be a size from 1MiB to 9223372036854775807B; a size needs a whole number and a unit",
				"emend.yaml:1: keep.results: must be a duration",
				"emend.yaml:1: keep.runs_max: is 12B; it must be a size from 1MiB"},
		},
		{
			"keep: {results: [1]}\nlog: {level: on, format: xml}",
			[]string{"emend.yaml:1: keep.results: must be a duration",
				"emend.yaml:2: log.format: must be one of auto, text, json", "emend.yaml:2: log.level: must be one of debug, info, warn, error"},
		},
		{
			"queue_ttl: 0s\ntransient_retries: 11\nmax_starts: 0x3\ndrain_timeout: 0s\ncatalog_grace: 2d",
			[]string{
				"emend.yaml:1: queue_ttl: is 0s", "emend.yaml:2: transient_retries: is 11; it must be a whole number from 0 to 10",
				"emend.yaml:3: max_starts: must be a whole number from 1 to 100, in decimal digits", "emend.yaml:5: catalog_grace: is 2d"},
		},
		{
			"transient_retries: 2.0",
			[]string{"emend.yaml:1: transient_retries: must be a whole number from 0 to 10, not a number"},
		},
		{
			"queues:\n  Team: {}\n  b: {weight: 0, in_flight: 0, allow: [model, settings, settings]}\n  c: 5",
			[]string{
				"emend.yaml:2: queues.Team: the name must be a-z",
				"emend.yaml:3: queues.b.allow[0]: must be one of messages, settings, output, profile",
				"emend.yaml:3: queues.b.allow[2]: stands twice",
				"emend.yaml:3: queues.b.in_flight: is 0", "emend.yaml:3: queues.b.weight: is 0",
				"emend.yaml:4: queues.c: must be a mapping, not a number"},
		},
		{"profiles:\n  x: {backend: nope}\n  y: {model: ''}", []string{
			"emend.yaml:2: profiles.x.backend: there is no backend nope", "emend.yaml:2: profiles.x.model: is missing: the model",
			"emend.yaml:3: profiles.y.backend: is missing", "emend.yaml:3: profiles.y.model: must not be empty"}},
		{
			minimal + "log: {level: {}}",
			[]string{"emend.yaml:3: log.level: must be one of debug, info, warn, error, not a mapping"},
		},
	} {
		_, err := loadConfig(c.text)
		sameProblems(t, c.text, problemsOf(t, err), c.want)
	}
}

func TestBackendProblems(t *testing.T) {
	for _, c := range []struct {
		backend string
		want    []string
	}{
		{"{dialect: openai, url: https://h/v1}", nil},
		{"{dialect: scripted}", nil},
		{"{}", []string{".dialect: is missing: the wire that the endpoint speaks"}},
		{
			"{dialect: opena, url: 'http://h'}",
			[]string{".dialect: must be one of openai"},
		},
		{"{dialect: openai}", []string{".url: is missing: the base URL"}},
		{ // a limit of zero would be a backend that nobody may call
			"{dialect: scripted, requests_per_minute: 0, tokens_per_minute: 0, daily_budget: 0}",
			[]string{".daily_budget: is 0", ".requests_per_minute: is 0", ".tokens_per_minute: is 0"},
		},
		{"{dialect: openai, url: 'ftp://h'}", []string{".url: must be a URL"}},
		{"{dialect: openai, url: '://'}", []string{".url: must be a URL"}},
		{
			"{dialect: openai, url: 'https://u:s3cret@h'}",
			[]string{".url: must hold no user or password"},
		},
		{
			"{dialect: openai, url: 'https://h?key=s3cret'}",
			[]string{".url: must hold no query"},
		},
		{
			"{dialect: openai, url: 'https://h', key: s3cret}",
			[]string{".key: write {env: NAME} or {file: PATH}; the value itself never stands here"},
		},
		{
			"{dialect: openai, url: 'https://h', key: {}}",
			[]string{".key: must be {env: NAME} or {file: PATH}"},
		},
		{
			"{dialect: openai, url: 'https://h', key: {env: A, file: b}}",
			[]string{".key: must be {env: NAME} or {file: PATH}, not both"},
		},
		{
			"{dialect: openai, url: 'https://h', key: {env: 'A B'}}",
			[]string{".key.env: must be the name of an environment variable"},
		},
		{
			"{dialect: openai, url: 'https://h', key: {value: x}}",
			[]string{
				".key: must be {env: NAME} or {file: PATH}",
				".key.value: unknown field; known are env, file",
			},
		},
		{
			"{dialect: openai, url: 'https://h', key_header: X-Key}",
			[]string{".key_header: has no effect without key"},
		},
		{
			"{dialect: openai, url: 'https://h', key: {env: A}, key_header: 'X Key'}",
			[]string{".key_header: must be a header's name"},
		},
		{
			"{dialect: openai, url: 'https://h', key: {env: A}, key_header: Host}",
			[]string{".key_header: Host is set by the client"},
		},
		{
			"{dialect: openai, url: 'https://h', key: {env: A}, headers: {authorization: {env: B}}}",
			[]string{".headers.authorization: carries the key"},
		},
		{
			"{dialect: openai, url: 'https://h', headers: {Authorization: Bearer abc}}",
			[]string{".headers.Authorization: holds a credential in clear"},
		},
		{
			"{dialect: openai, url: 'https://h', headers: {Authorization: {env: B}}}",
			nil,
		},
		{
			"{dialect: openai, url: 'https://h', headers: {X-A: a, x-a: b}}",
			[]string{".headers: X-A stands twice, in different case"},
		},
		{
			"{dialect: openai, url: 'https://h', headers: {Content-Type: a, 'b c': d, E: 5, F: [], G: \"a\\nb\"}}",
			[]string{
				".headers.Content-Type: is set by the client", ".headers.E: must be text", ".headers.F: must be text",
				".headers.G: must be one line without control characters", ".headers.b c: the name must be a header's name"},
		},
		{
			"{dialect: openai, url: 'https://h', key: [s3cret]}",
			[]string{".key: must be a mapping, not a list"},
		},
		{
			"{dialect: openai, url: 'https://h', permits: 8, admitted: 4}",
			[]string{".admitted: is 4; it must be 0 or at least permits (8)"},
		},
		{
			"{dialect: openai, url: 'https://h', permits: -1, call_timeout: 0s, max_body: 5B}",
			[]string{".call_timeout: is 0s", ".max_body: is 5B", ".permits: is -1"},
		},
		{
			"{dialect: openai, url: 'https://h', on_trouble: retry, native: always}",
			[]string{
				".native: must be one of auto, none, require",
				".on_trouble: must be one of wait, fail",
			},
		},
		{
			"{dialect: openai, url: 'https://h', extra_statuses: [529, 200, 529, x]}",
			[]string{".extra_statuses[1]: is 200", ".extra_statuses[2]: stands twice",
				".extra_statuses[3]: must be a whole number from 400 to 599, not text"},
		},
		{
			"{dialect: openai, url: 'https://h', options: {strikt: auto, cache: maybe, body: {model: x}}}",
			[]string{".options.body: model is a member",
				".options.cache: must be one of none, cache_control", ".options.strikt: dialect openai has no such option"},
		},
		{
			"{dialect: openai, url: 'https://h', options: {body: {x: 0x10}}}",
			[]string{".options.body.x: the number has no JSON form"},
		},
		{
			"{dialect: openai, url: 'https://h', options: []}",
			[]string{".options: must be a mapping, not a list"},
		},
		{
			"{dialect: scripted, options: {script: nothere.yaml}}",
			[]string{".options.script: file nothere.yaml cannot be read: file does not exist"},
		},
		{
			"{dialect: scripted, options: {script: '../x.yaml'}}",
			[]string{".options.script: file ../x.yaml cannot be read"},
		},
	} {
		_, err := loadConfig("backends:\n  o: " + c.backend)
		want := make([]string, len(c.want))
		for i, w := range c.want {
			want[i] = "emend.yaml:2: backends.o" + w
		}
		got := problemsOf(t, err)
		for _, g := range got {
			if strings.Contains(g, "s3cret") || strings.Contains(g, "Bearer abc") {
				t.Errorf("a problem shows a value: %s", g)
			}
		}
		sameProblems(t, c.backend, got, want)
	}
}

func TestDefaults(t *testing.T) {
	s, err := loadConfig(minimal)
	if err != nil {
		t.Fatal(err)
	}
	c, retries := s.Config(), 2
	want := Config{
		NATS: NATS{
			URL:      "nats://localhost:4222",
			Space:    "emend",
			Replicas: 1,
			Inboxes:  []string{"_INBOX.>"},
		},
		Keep: Keep{
			Results:   Duration(7 * day),
			Events:    Duration(day / 4),
			EventsMax: 4 << 30,
			RunsMax:   50 << 30,
			Dead:      Duration(30 * day),
			Reviews:   Duration(30 * day),
			Reuse:     Duration(7 * day),
		},
		Escalation: Escalation{Sink: "none"},
		Audit:      AuditFields,
		Queues:     map[string]Queue{"default": {Weight: 1, InFlight: 64}},
		Profiles:   map[string]Profile{"p": {Backend: "o", Model: "m"}},
		Backends: map[string]Backend{"o": {
			Name:        "o",
			Dialect:     "openai",
			URL:         "http://h/v1",
			Permits:     16,
			CallTimeout: 120 * oneSecond,
			OnTrouble:   "wait",
			Native:      "auto",
			MaxBody:     16 << 20,
		}},
		QueueTTL: Duration(day), TransientRetries: &retries, DrainTimeout: 30 * oneSecond, CatalogGrace: 60 * oneSecond, MaxStarts: 3, AckWait: 30 * oneSecond,
		Log: Log{Level: "info", Format: "auto"}, Traces: Traces{Ratio: 1},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	s, err = loadConfig("backends: {o: {dialect: openai, url: 'http://h/v1', permits: 0}}\ntransient_retries: 0\ndrain_timeout: 0s\nqueues: {a: {allow: []}, b: {allow: ~}}")
	if err != nil {
		t.Fatal(err)
	}
	c = s.Config()
	if c.Backends["o"].Permits != 0 || *c.TransientRetries != 0 || c.DrainTimeout != 0 || c.Queues["a"].Allow == nil || c.Queues["b"].Allow != nil {
		t.Errorf("a zero that is given was replaced: %+v", c)
	}
	if c.Queues["a"].Allows(AllowSettings) || !c.Queues["b"].Allows(AllowSettings) {
		t.Error("an empty allow list allows nothing, an absent one everything")
	}
}

func TestJSONOf(t *testing.T) {
	for text, want := range map[string]string{
		"{b: 1.50, a: [1e30, 100000000000000000000, -0.0], c: true, d: null, e: 'x<y', f: \"\\u2028\", g: 2024-01-01, h: TRUE}": `{"b":1.50,"a":[1e30,100000000000000000000,-0.0],"c":true,"d":null,"e":"x<y","f":"\u2028","g":"2024-01-01","h":true}`,
		"{a: 0x10}":       "",
		"{a: .inf}":       "",
		"{a: 1_000}":      "",
		"{a: 1, a: 2}":    "",
		"{a: {[b]: c}}":   "",
		"[{}, [], '', ~]": `[{},[],"",null]`,
	} {
		r := newReport("f")
		got := string(jsonOf(r, parseYAML(r, []byte(text)), ""))
		if want == "" && len(r.problems) != 1 || want != "" && (got != want || len(r.problems) > 0) {
			t.Errorf("%s: %s, %v", text, got, r.problems)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%s gives invalid JSON: %s", text, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, file := range []string{
		"testdata/good/emend.yaml",
		"testdata/good/prompts/extract-invoice@2.yaml",
		"testdata/good/prompts/translate@1.yaml",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("messages: [{user: '{{range .x}}'}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"emend.yaml", "prompts/x@1.yaml"} {
			files := folder{"emend.yaml": minimal}
			files[name] = string(text)
			_, err := LoadFS(files.fs())
			for _, p := range problemsOf(t, err) {
				if len(p) > 64<<10 {
					t.Errorf("a problem has %d bytes", len(p))
				}
			}
		}
	})
}
