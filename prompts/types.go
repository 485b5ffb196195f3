package prompts

import (
	"encoding/json"
	"maps"
	"slices"

	"emend/internal/prices"
	"emend/schemas"
)

// Words of a backend and a queue.
const (
	// OnTroubleWait hands a run back while its backend is in trouble; OnTroubleFail settles it as failed at once.
	OnTroubleWait = "wait"
	OnTroubleFail = "fail"
	// NativeAuto sends a schema as the provider's native constraint, NativeNone never does, NativeRequire refuses a
	// schema that the provider's strict subset cannot carry.
	NativeAuto    = "auto"
	NativeNone    = "none"
	NativeRequire = "require"
	// What a queue lets its requesters set.
	AllowMessages = "messages"
	AllowSettings = "settings"
	AllowOutput   = "output"
	AllowProfile  = "profile"
	// AllowAttempts lets them have the content of attempts in results (attempts: full).
	AllowAttempts = "attempts"
	// AuditFields shows places and expectations in events, AuditFull the offending values too.
	AuditFields = "fields"
	AuditFull   = "full"
)

// MaxTransientRetries bounds the extra attempts per generation, MaxRepairAttempts the corrective calls (seed 000),
// MaxStageRetries the further stage attempts (seed 004).
const (
	MaxTransientRetries = 10
	MaxRepairAttempts   = 3
	MaxStageRetries     = 10
)

// Config is emend.yaml.
type Config struct {
	NATS     NATS               `yaml:"nats"`
	Keep     Keep               `yaml:"keep"`
	Backends map[string]Backend `yaml:"backends"`
	// Queues by name; a configuration without any has one named default.
	Queues   map[string]Queue   `yaml:"queues"`
	Profiles map[string]Profile `yaml:"profiles"`
	// QueueTTL bounds how long a run may wait from its publication.
	QueueTTL Duration `yaml:"queue_ttl"`
	// TransientRetries are extra attempts per generation; nil means the default, 0 none.
	TransientRetries *int     `yaml:"transient_retries"`
	DrainTimeout     Duration `yaml:"drain_timeout"`
	// CatalogGrace is how long a run with an unknown prompt, version or profile waits for a newer catalog.
	CatalogGrace Duration `yaml:"catalog_grace"`
	// MaxStarts is how many unclean starts a run may have before it is abandoned.
	MaxStarts int `yaml:"max_starts"`
	// AckWait is the lease of a run: without a heartbeat for so long it is delivered to another worker.
	AckWait Duration `yaml:"ack_wait"`
	// Governance holds the defaults of prompts with outputs.
	Governance Governance `yaml:"output_governance"`
	Escalation Escalation `yaml:"escalation"`
	// Audit is fields or full: whether events may show what a candidate holds.
	Audit string `yaml:"audit"`
	Log   Log    `yaml:"log"`
	// Traces are sent over OTLP.
	Traces Traces `yaml:"traces"`
	// Prices is a file with a price table.
	Prices string        `yaml:"prices"`
	prices *prices.Table `yaml:"-"`
	// Catalog is the number of the catalog that the definitions come from, 0 for files.
	Catalog int `yaml:"-"`
	// Pipelines are the names of the pipelines, sorted; they are set when a snapshot is made.
	Pipelines []string `yaml:"-"`
}

// BackendNames lists the backends, sorted.
func (c Config) BackendNames() []string { return slices.Sorted(maps.Keys(c.Backends)) }

// QueueNames lists the queues, sorted.
func (c Config) QueueNames() []string { return slices.Sorted(maps.Keys(c.Queues)) }

// InboxesOf are the subjects that a reply to a queue's requests may go to.
func (c Config) InboxesOf(queue string) []string {
	if q := c.Queues[queue]; q.Inboxes != nil {
		return q.Inboxes
	}
	return c.NATS.Inboxes
}

// AllInboxes are the subjects that a reply may go to at all: those of NATS and of every queue.
func (c Config) AllInboxes() []string {
	out := slices.Clone(c.NATS.Inboxes)
	for _, name := range c.QueueNames() {
		out = append(out, c.Queues[name].Inboxes...)
	}
	return out
}

// NATS says how to reach NATS, and under which names.
type NATS struct {
	URL string `yaml:"url"`
	// Context is a context of the nats CLI; it takes the place of URL and the credentials.
	Context string `yaml:"context"`
	// Creds, NKey, CA, Cert and Key are file paths.
	Creds string `yaml:"creds"`
	NKey  string `yaml:"nkey"`
	CA    string `yaml:"ca"`
	Cert  string `yaml:"cert"`
	Key   string `yaml:"key"`
	// Space is the first token of every subject.
	Space    string `yaml:"space"`
	Domain   string `yaml:"domain"`
	Replicas int    `yaml:"replicas"`
	// SingleReplica says that one replica on a clustered server is meant.
	SingleReplica bool `yaml:"single_replica"`
	// Inboxes are the subjects that a reply may go to.
	Inboxes []string `yaml:"inboxes"`
	// InboxPrefix begins the inboxes of Emend's own connections, for users that may subscribe to nothing else.
	InboxPrefix string `yaml:"inbox_prefix"`
}

// IsInboxPrefix reports whether inboxes may begin so: a subject without wildcards.
func IsInboxPrefix(s string) bool { return inboxPrefix.MatchString(s) }

// Keep bounds what the streams hold.
type Keep struct {
	Results   Duration `yaml:"results"`
	Events    Duration `yaml:"events"`
	EventsMax Size     `yaml:"events_max"`
	RunsMax   Size     `yaml:"runs_max"`
	Dead      Duration `yaml:"dead"`
	Reviews   Duration `yaml:"reviews"`
	Reuse     Duration `yaml:"reuse"`
}

// Log says what the worker logs.
type Log struct {
	// Level is debug, info, warn or error.
	Level string `yaml:"level"`
	// Format is auto (text on a terminal, JSON elsewhere), text or json.
	Format string `yaml:"format"`
}

// Traces says where a worker sends the traces of its runs.
type Traces struct {
	// Endpoint is the URL of an OTLP/HTTP receiver; "" leaves it to OpenTelemetry's environment variables.
	Endpoint string `yaml:"endpoint"`
	// Ratio of runs that begin a trace when they come without one.
	Ratio float64 `yaml:"ratio"`
	// Propagate sends the trace context on to providers.
	Propagate bool `yaml:"propagate"`
}

// Backend is one model endpoint under a name of the operator's choice.
type Backend struct {
	// Name is its key in Config.Backends; it is set when a snapshot is made.
	Name    string `yaml:"-"`
	Dialect string `yaml:"dialect"`
	URL     string `yaml:"url"`
	// Key is the credential's place; a zero one sends none.
	Key Secret `yaml:"key"`
	// KeyHeader carries the key; "" means the dialect's own header.
	KeyHeader string           `yaml:"key_header"`
	Headers   map[string]Value `yaml:"headers"`
	// Query goes into the URL of every call.
	Query map[string]string `yaml:"query"`
	// TLS and Proxy are the backend's own; zero ones are the system's authorities and the environment's proxy. A proxy is a
	// URL, or none.
	TLS   TLS   `yaml:"tls"`
	Proxy Value `yaml:"proxy"`
	// Permits bounds the calls under way, Admitted the runs that hold a place; 0 is no bound.
	Permits  int `yaml:"permits"`
	Admitted int `yaml:"admitted"`
	// CallTimeout bounds one provider call and is never retried.
	CallTimeout Duration `yaml:"call_timeout"`
	OnTrouble   string   `yaml:"on_trouble"`
	Native      string   `yaml:"native"`
	// ExtraStatuses are retried besides 429, 500, 502, 503 and 504.
	ExtraStatuses []int `yaml:"extra_statuses"`
	// Prices is a provider of the price table, or "none"; "" finds it by the URL.
	Prices string `yaml:"prices"`
	// RequestsPerMinute and TokensPerMinute bound its calls over all workers; 0 is no bound.
	RequestsPerMinute int64 `yaml:"requests_per_minute"`
	TokensPerMinute   int64 `yaml:"tokens_per_minute"`
	// DailyBudget bounds what its calls may cost in a day, in US dollars; 0 is no bound.
	DailyBudget float64 `yaml:"daily_budget"`
	// MaxBody bounds a reply.
	MaxBody Size `yaml:"max_body"`
	// Options are the dialect's own.
	Options map[string]any `yaml:"options"`
}

// Queue is a token of run and result subjects, with its share and its permissions.
type Queue struct {
	Weight   int `yaml:"weight"`
	InFlight int `yaml:"in_flight"`
	// Allow lists what a request may set; nil allows everything, an empty list nothing.
	Allow []string `yaml:"allow"`
	// Inboxes are the subjects that a reply may go to, in place of NATS.Inboxes; nil leaves those.
	Inboxes []string `yaml:"inboxes"`
	// DailyBudget bounds what its runs may cost in a day, in US dollars; 0 is no bound.
	DailyBudget float64 `yaml:"daily_budget"`
}

// Allows reports whether requests of this queue may set what, one of the Allow constants.
func (q Queue) Allows(what string) bool { return q.Allow == nil || slices.Contains(q.Allow, what) }

// Profile is a backend, a model and its settings, under a name.
type Profile struct {
	Backend  string           `yaml:"backend"`
	Model    string           `yaml:"model"`
	Settings schemas.Settings `yaml:"settings"`
	// CallTimeout replaces the backend's; 0 leaves it.
	CallTimeout Duration `yaml:"call_timeout"`
	// Endpoint stands in for a backend in the engine library: an endpoint of this profile alone, unlimited unless it
	// says otherwise (seed 003). It has no subject, so NATS does not reach it, and no file can name one.
	Endpoint *Backend `yaml:"-"`
}

// Prompt is one version of a prompt definition.
type Prompt struct {
	// ID and Version come from the file's name, <id>@<version>.yaml.
	ID      string `yaml:"-"`
	Version int    `yaml:"-"`
	// File is where it was read, "" for one made by a program.
	File        string           `yaml:"-"`
	Description string           `yaml:"description"`
	Profile     string           `yaml:"profile"`
	Inputs      map[string]Input `yaml:"inputs"`
	Messages    []Template       `yaml:"messages"`
	Output      Output           `yaml:"output"`
	Settings    schemas.Settings `yaml:"settings"`
	// TransientRetries replaces the configuration's; nil leaves it.
	TransientRetries *int `yaml:"transient_retries"`
	// Retries are further stage attempts (seed 004).
	Retries int `yaml:"retries"`
	// MaxCost bounds what all calls of a run may cost, in US dollars; 0 is no bound. A request may ask for less.
	MaxCost float64 `yaml:"max_cost"`
	// Checks are rules and judges, in order; ValidationRules are rules under seed 002's name.
	Checks           []CheckSpec      `yaml:"checks"`
	ValidationRules  []Rule           `yaml:"validation_rules"`
	ValidationPolicy ValidationPolicy `yaml:"validation_policy"`
	// Outputs is seed 002's short form of a json_schema contract, in the order of the fields.
	Outputs []OutputField `yaml:"outputs"`
	// Governance is nil when the block does not stand.
	Governance *Governance `yaml:"output_governance"`
	Tests      []Test      `yaml:"tests"`
}

// Input is one declared input of a prompt.
type Input struct {
	// Max bounds its JSON text in bytes (a string's text without quotes); 0 leaves the default.
	Max Size `yaml:"max"`
	// Default is a JSON value; an input without one is required unless Required says otherwise.
	Default     json.RawMessage `yaml:"default"`
	Required    *bool           `yaml:"required"`
	Description string          `yaml:"description"`
}

// Needed reports whether a request must give the input.
func (i Input) Needed() bool {
	if i.Required != nil {
		return *i.Required
	}
	return i.Default == nil
}

// Template is one message of a prompt before it is rendered.
type Template struct {
	// Role is developer, system, user or assistant.
	Role string
	// Text is a template: {{ .name }}, if, range.
	Text string
	// Cache is a prompt-cache lifetime; 0 asks for nothing.
	Cache Duration
}

// Output is a prompt's output contract.
type Output struct {
	// Mode is none (the default), basic, json or json_schema.
	Mode   string    `yaml:"mode"`
	Schema SchemaRef `yaml:"schema"`
	// RepairAttempts is the number of corrective calls, 0 to 3.
	RepairAttempts int `yaml:"repair_attempts"`
	// DuplicateKeys is reject or last_wins.
	DuplicateKeys string `yaml:"duplicate_keys"`
	// OnExhausted is return, escalate or fail.
	OnExhausted string         `yaml:"on_exhausted"`
	Repair      schemas.Repair `yaml:"repair"`
}

// SchemaRef is a JSON Schema: the name of a file beside the prompts, or the schema itself.
type SchemaRef struct {
	File   string
	Inline json.RawMessage
}
