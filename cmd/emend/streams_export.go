package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"emend/consumer"
	"emend/prompts"
	"emend/subjects"
)

// streamsExport prints the topology for those who manage streams as code.
func (a *app) streamsExport() *cobra.Command {
	var f natsFlags
	var dir, format string
	c := &cobra.Command{Use: "export", Short: "Print streams and durables as code: for the nats CLI (json) or Kubernetes (nack)", Args: atMost(0),
		Long: "Prints what `emend streams apply` would make, for operators who make streams by other means; no server is asked.\n" +
			"json: {streams, consumers}, each as `nats stream add --config` and `nats consumer add --config` read them.\n" +
			"nack: Stream and Consumer resources of jetstream.nats.io/v1beta2. Serve with --manage-streams=false then.",
		RunE: func(*cobra.Command, []string) error {
			snap, err := prompts.LoadDir(dir, f.option())
			if err != nil {
				return err
			}
			names, err := subjects.New(snap.Config().NATS.Space)
			if err != nil {
				return err
			}
			t := consumer.NewTopology(names, snap.Config(), 0)
			streams := append(t.Streams(), t.Buckets()...)
			switch format {
			case "json":
				return a.printJSON(map[string]any{"streams": streams, "consumers": map[string]any{names.RunsStream(): t.Consumers()}})
			case "nack":
				return a.printNACK(streams, names.RunsStream(), t.Consumers())
			}
			return fmt.Errorf("--format %q: write json or nack", short(format))
		}}
	c.Flags().StringVar(&f.space, "space", "", "the first token of all subjects (default: emend.yaml, emend)")
	c.Flags().StringVar(&dir, "dir", ".", "the `FOLDER` with emend.yaml")
	c.Flags().StringVar(&format, "format", "json", "json or nack")
	return c
}

// resource is one of Kubernetes.
type resource struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec any `yaml:"spec"`
}

// nackStream is the spec of a Stream of jetstream.nats.io/v1beta2, as far as Emend needs it.
type nackStream struct {
	Name              string   `yaml:"name"`
	Description       string   `yaml:"description,omitempty"`
	Subjects          []string `yaml:"subjects"`
	Retention         string   `yaml:"retention"`
	Storage           string   `yaml:"storage"`
	Replicas          int      `yaml:"replicas"`
	Discard           string   `yaml:"discard"`
	DiscardPerSubject bool     `yaml:"discardPerSubject,omitempty"`
	MaxMsgsPerSubject int64    `yaml:"maxMsgsPerSubject"`
	MaxBytes          int64    `yaml:"maxBytes"`
	MaxAge            string   `yaml:"maxAge,omitempty"`
	DuplicateWindow   string   `yaml:"duplicateWindow,omitempty"`
	AllowRollup       bool     `yaml:"allowRollup,omitempty"`
	DenyDelete        bool     `yaml:"denyDelete,omitempty"`
	AllowDirect       bool     `yaml:"allowDirect"`
	PreventDelete     bool     `yaml:"preventDelete"`
}

// nackConsumer is the spec of a Consumer of jetstream.nats.io/v1beta2, as far as Emend needs it.
type nackConsumer struct {
	StreamName    string `yaml:"streamName"`
	DurableName   string `yaml:"durableName"`
	FilterSubject string `yaml:"filterSubject"`
	DeliverPolicy string `yaml:"deliverPolicy"`
	AckPolicy     string `yaml:"ackPolicy"`
	AckWait       string `yaml:"ackWait"`
	MaxDeliver    int    `yaml:"maxDeliver"`
	MaxAckPending int    `yaml:"maxAckPending"`
	ReplayPolicy  string `yaml:"replayPolicy"`
	PreventDelete bool   `yaml:"preventDelete"`
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// resourceName is a name that Kubernetes takes.
func resourceName(parts ...string) string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(strings.Join(parts, "-")), "-"), "-")
}

func (a *app) printNACK(streams []jetstream.StreamConfig, runs string, consumers []jetstream.ConsumerConfig) error {
	out := yaml.NewEncoder(a.out)
	out.SetIndent(2)
	for _, s := range streams {
		r := resource{APIVersion: "jetstream.nats.io/v1beta2", Kind: "Stream", Spec: nackStreamOf(s)}
		r.Metadata.Name = resourceName(s.Name)
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	for _, c := range consumers {
		r := resource{APIVersion: "jetstream.nats.io/v1beta2", Kind: "Consumer", Spec: nackConsumer{StreamName: runs, DurableName: c.Durable, FilterSubject: c.FilterSubject,
			DeliverPolicy: "all", AckPolicy: "explicit", AckWait: c.AckWait.String(), MaxDeliver: c.MaxDeliver, MaxAckPending: c.MaxAckPending, ReplayPolicy: "instant", PreventDelete: true}}
		r.Metadata.Name = resourceName(runs, c.Durable)
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return out.Close()
}

func nackStreamOf(s jetstream.StreamConfig) nackStream {
	out := nackStream{Name: s.Name, Description: s.Description, Subjects: s.Subjects, Retention: "limits", Storage: "file", Replicas: s.Replicas, Discard: "old",
		DiscardPerSubject: s.DiscardNewPerSubject, MaxMsgsPerSubject: s.MaxMsgsPerSubject, MaxBytes: s.MaxBytes, MaxAge: span(s.MaxAge), DuplicateWindow: span(s.Duplicates),
		AllowRollup: s.AllowRollup, DenyDelete: s.DenyDelete, AllowDirect: s.AllowDirect, PreventDelete: true}
	if s.Retention == jetstream.WorkQueuePolicy {
		out.Retention = "workqueue"
	}
	if s.Discard == jetstream.DiscardNew {
		out.Discard = "new"
	}
	return out
}

// span is a duration, "" for none.
func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
