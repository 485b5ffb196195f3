package prompts

import (
	"math"
	"regexp"
	"time"

	"emend/engine/provider/dialects"
	"emend/internal/quota"
)

const (
	maxSpan   = Duration(3650 * day)
	anySize   = Size(math.MaxInt64)
	oneSecond = Duration(time.Second)
)

// Names of the files.
var (
	subjectName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	looseName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	queryName   = regexp.MustCompile(`^[A-Za-z0-9._~$-]{1,64}$`)
	envName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	inboxPrefix = regexp.MustCompile(`^[^\s.*>]+(\.[^\s.*>]+)*$`)
	inboxName   = regexp.MustCompile(`^[^\s.]+(\.[^\s.]+)*$`)
)

const (
	subjectWords = "a-z, 0-9 and -, beginning with a letter, at most 63"
	looseWords   = "A-Z a-z 0-9 . _ -, beginning with a letter or digit, at most 63"
)

var secretObject = &object{name: "secret", doc: "Where a credential is; it is read when a call is made.",
	scalar: "write {env: NAME} or {file: PATH}; the value itself never stands here", also: checkSecret,
	fields: []field{
		{name: "env", kind: text{pattern: envName, what: "the name of an environment variable"}, doc: "the environment variable that holds it"},
		{name: "file", kind: text{}, doc: "the file that holds it"},
	}}

var natsObject = &object{name: "nats", doc: "How to reach NATS, and the names that Emend uses there.", also: checkNATS,
	fields: []field{
		{name: "url", kind: text{empty: true}, doc: "servers, comma-separated", def: "nats://localhost:4222"},
		{name: "context", kind: text{empty: true}, doc: "a context of the nats CLI, in place of url and credentials"},
		{name: "creds", kind: text{empty: true}, doc: "a credentials file"},
		{name: "nkey", kind: text{empty: true}, doc: "a file with the seed of an nkey"},
		{name: "ca", kind: text{empty: true}, doc: "a PEM file of certificate authorities"},
		{name: "cert", kind: text{empty: true}, doc: "a PEM file with the client's certificate; needs key"},
		{name: "key", kind: text{empty: true}, doc: "a PEM file with the client's private key; needs cert"},
		{name: "space", kind: text{pattern: subjectName, what: subjectWords}, doc: "the first token of every subject and stream name", def: "emend"},
		{name: "domain", kind: text{empty: true, pattern: looseName, what: looseWords}, doc: "a JetStream domain"},
		{name: "replicas", kind: whole{1, 5}, doc: "replicas of every stream and bucket", def: "1"},
		{name: "single_replica", kind: boolean{}, doc: "one replica on a clustered server is meant"},
		{name: "inboxes", kind: list{of: text{pattern: inboxName, what: "a subject, * and > allowed"}, min: 1, max: 100, unique: true},
			doc: "subjects that a reply may go to", def: `["_INBOX.>"]`},
		{name: "inbox_prefix", kind: text{pattern: inboxPrefix, what: "a subject without wildcards"},
			doc: "what the inboxes of commands and workers begin with, for users that may subscribe to nothing else; absent means _INBOX"},
	}}

var keepObject = &object{name: "keep", doc: "How much the streams hold, and for how long.", fields: []field{
	{name: "results", kind: span{oneSecond, maxSpan}, doc: "age of results", def: "7d"},
	{name: "events", kind: span{oneSecond, maxSpan}, doc: "age of events", def: "6h"},
	{name: "events_max", kind: amount{1 << 20, anySize}, doc: "size of all events; the oldest go first", def: "4GiB"},
	{name: "runs_max", kind: amount{1 << 20, anySize}, doc: "size of all queued runs; beyond it a publish is refused", def: "50GiB"},
	{name: "dead", kind: span{oneSecond, maxSpan}, doc: "age of dead letters", def: "30d"},
	{name: "reviews", kind: span{oneSecond, maxSpan}, doc: "how long a run waits for a person before it is forgotten", def: "30d"},
	{name: "reuse", kind: span{oneSecond, maxSpan}, doc: "age of outputs of stages that later pipeline runs may reuse", def: "7d"},
}}

var logObject = &object{name: "log", doc: "What a worker logs.", fields: []field{
	{name: "level", kind: text{oneOf: []string{"debug", "info", "warn", "error"}}, doc: "the least level", def: "info"},
	{name: "format", kind: text{oneOf: []string{"auto", "text", "json"}}, doc: "auto is text on a terminal, JSON elsewhere", def: "auto"},
}}

var tracesObject = &object{name: "traces", doc: "Where a worker sends the traces of its runs.", fields: []field{
	{name: "endpoint", kind: text{}, doc: "the URL of an OTLP/HTTP receiver, such as http://collector:4318; absent sends none, unless OTEL_EXPORTER_OTLP_ENDPOINT names one"},
	{name: "ratio", kind: number{0, 1}, doc: "how many of the runs that come without a trace begin one; a requester's own decision is kept", def: "1"},
	{name: "propagate", kind: boolean{}, doc: "whether providers are sent the trace context (traceparent)"},
}}

var backendObject = &object{name: "backend", doc: "One model endpoint. Its key in backends is its name in subjects.", also: checkBackend,
	fields: []field{
		{name: "dialect", kind: text{oneOf: dialects.Names()}, doc: "the wire that the endpoint speaks", required: true},
		{name: "url", kind: text{}, doc: "the base URL, such as https://api.openai.com/v1; dialects without a network need none"},
		{name: "key", kind: secretObject, doc: "the credential, {env: NAME} or {file: PATH}; absent sends none"},
		{name: "key_header", kind: text{pattern: headerName, what: "a header's name"}, doc: "the header that carries the key; absent means the dialect's own. Authorization carries Bearer KEY, or a key with a scheme of its own as it is"},
		{name: "headers", kind: dict{of: headerValue, name: headerName, what: "a header's name"}, doc: "headers of every call; secret ones as {env: NAME} or {file: PATH}"},
		{name: "query", kind: dict{of: text{empty: true}, name: queryName, what: "a parameter's name"}, doc: "parameters in the URL of every call, such as api-version; never a credential"},
		{name: "tls", kind: tlsObject, doc: "authorities, a client certificate and a server name of its own"},
		{name: "proxy", kind: textOr{text: text{}, other: secretObject, literal: "Literal", form: "Secret"},
			doc: "the URL of a proxy, or none for no proxy; absent means the environment's (HTTPS_PROXY). One with a password as {env: NAME} or {file: PATH}"},
		{name: "permits", kind: whole{0, 100_000}, doc: "calls under way at once; 0 is no bound", def: "16", keepZero: true},
		{name: "admitted", kind: whole{0, 1_000_000}, doc: "runs that hold a place at once, at least permits; 0 is as many as the queues' in_flight", def: "0", keepZero: true},
		{name: "call_timeout", kind: span{Duration(time.Millisecond), Duration(day)}, doc: "time limit of one call, never retried", def: "120s"},
		{name: "on_trouble", kind: text{oneOf: []string{OnTroubleWait, OnTroubleFail}}, doc: "whether runs wait while the backend is in trouble, or fail", def: OnTroubleWait},
		{name: "native", kind: text{oneOf: []string{NativeAuto, NativeNone, NativeRequire}},
			doc: "whether a schema goes out as the provider's own constraint; require refuses a schema that its strict subset cannot carry", def: NativeAuto},
		{name: "extra_statuses", kind: list{of: whole{400, 599}, max: 50, unique: true}, doc: "statuses that are retried besides 429, 500, 502, 503 and 504"},
		{name: "max_body", kind: amount{1 << 10, 1 << 30}, doc: "the largest reply that is read", def: "16MiB"},
		{name: "prices", kind: text{pattern: looseName, what: looseWords}, doc: "whose prices its models have: a provider of the price table, or none; absent means the one whose API is at url"},
		{name: "requests_per_minute", kind: whole{1, quota.MaxRate}, doc: "calls that it takes in any minute, over all workers; absent is no bound"},
		{name: "tokens_per_minute", kind: whole{1, quota.MaxRate}, doc: "tokens that it takes in a minute, over all workers, by an estimate before each call; absent is no bound"},
		{name: "daily_budget", kind: budgetKind, doc: "US dollars that its calls may cost in a day (UTC), over all workers; what could exceed it fails with category budget"},
		{name: "options", kind: options{}, doc: "what only this dialect knows"},
	}}

var headerValue = textOr{text: text{empty: true}, other: secretObject, literal: "Literal", form: "Secret"}

var queueObject = &object{name: "queue", doc: "A token of run and result subjects with its share of the workers.", fields: []field{
	{name: "weight", kind: whole{1, 1000}, doc: "its share of a worker's places", def: "1"},
	{name: "in_flight", kind: whole{1, 100_000}, doc: "its runs under way at once, over all workers, per backend", def: "64"},
	{name: "allow", kind: list{of: text{oneOf: []string{AllowMessages, AllowSettings, AllowOutput, AllowProfile, AllowAttempts}}, max: 5, unique: true},
		doc: "what its requests may set, `attempts` being the word full of theirs; absent allows everything, an empty list nothing"},
	{name: "daily_budget", kind: budgetKind, doc: "US dollars that its runs may cost in a day (UTC), over all workers and backends"},
	{name: "inboxes", kind: list{of: text{pattern: inboxName, what: "a subject, * and > allowed"}, min: 1, max: 100, unique: true},
		doc: "subjects that a reply to its requests may go to, in place of nats.inboxes: so that no requester's results reach another's inbox"},
}}

// budgetKind is an amount of US dollars: a limit of zero is none that a run could meet.
var budgetKind = number{0.000001, 1_000_000}

var profileObject = &object{name: "profile", doc: "A backend, a model and its settings.", fields: []field{
	{name: "backend", kind: text{pattern: subjectName, what: subjectWords}, doc: "a name of backends", required: true},
	{name: "model", kind: text{}, doc: "the model as the backend calls it", required: true},
	{name: "settings", kind: settingsObject, doc: "settings of a generation; a prompt's and a request's go over them"},
	{name: "call_timeout", kind: span{Duration(time.Millisecond), Duration(day)}, doc: "time limit of one call in place of the backend's"},
}}

var configObject = &object{name: "emend.yaml", doc: "The configuration of workers and clients.",
	later: []string{"validation_policy"}, also: checkConfig,
	fields: []field{
		{name: "nats", kind: natsObject, doc: "how to reach NATS"},
		{name: "keep", kind: keepObject, doc: "what the streams hold"},
		{name: "backends", kind: dict{of: backendObject, name: subjectName, what: subjectWords}, doc: "model endpoints by name"},
		{name: "queues", kind: dict{of: queueObject, name: subjectName, what: subjectWords}, doc: "queues by name; without any there is one named default"},
		{name: "profiles", kind: dict{of: profileObject, name: looseName, what: looseWords}, doc: "profiles by name"},
		{name: "prices", kind: text{}, doc: "a price table beside this file, in the form of internal/prices/prices.json; its models go before the built-in ones"},
		{name: "queue_ttl", kind: span{oneSecond, maxSpan}, doc: "how long a run may wait from its publication", def: "24h"},
		{name: "transient_retries", kind: whole{0, MaxTransientRetries}, doc: "extra attempts per generation", def: "2"},
		{name: "drain_timeout", kind: span{0, Duration(day)}, doc: "how long runs may finish when a worker stops", def: "30s"},
		{name: "catalog_grace", kind: span{0, Duration(day)}, doc: "how long a run with an unknown prompt or profile waits for newer definitions", def: "60s"},
		{name: "max_starts", kind: whole{1, 100}, doc: "unclean starts of a run before it is abandoned", def: "3"},
		{name: "ack_wait", kind: span{oneSecond, Duration(time.Hour)}, doc: "the lease of a run: a worker that is silent for so long loses it to another", def: "30s"},
		{name: "output_governance", kind: governanceObject, doc: "defaults for prompts with outputs"},
		{name: "escalation", kind: escalationObject, doc: "who looks at answers that stay invalid"},
		{name: "audit", kind: text{oneOf: []string{AuditFields, AuditFull}},
			doc: "what events show of a finding: place and expectation, or the offending value too", def: AuditFields},
		{name: "log", kind: logObject, doc: "what a worker logs"},
		{name: "traces", kind: tracesObject, doc: "where traces go"},
	}}
