package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"gopkg.in/yaml.v3"

	"emend/internal/devnats"
)

// What is exported as code makes what Emend needs: a server that got it has nothing left to be planned.
func TestExportedStreamsAreThoseThatAreNeeded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	srv, err := devnats.Start(devnats.Options{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop()
	nc, err := srv.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	var code struct {
		Streams   []jetstream.StreamConfig
		Consumers map[string][]jetstream.ConsumerConfig
	}
	r := emend(t, "", "streams", "export", "--dir", dir)
	if err := json.Unmarshal([]byte(r.out), &code); err != nil || r.code != exitOK {
		t.Fatalf("%v %+v", err, r)
	}
	for _, s := range code.Streams {
		if _, err := js.CreateStream(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	for stream, consumers := range code.Consumers {
		for _, c := range consumers {
			if _, err := js.CreateConsumer(t.Context(), stream, c); err != nil {
				t.Errorf("%s: %v", c.Durable, err)
			}
		}
	}
	if r := emend(t, "", "streams", "plan", "--dir", dir, "--nats", srv.URL()); r.code != exitOK || !strings.Contains(r.out, "everything is as it should be") {
		t.Errorf("%+v", r)
	}
}

func TestStreamsForKubernetesSayTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	r := emend(t, "", "streams", "export", "--dir", dir, "--format", "nack", "--space", "team-b")
	if r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	specs := map[string]map[string]any{}
	for in := yaml.NewDecoder(strings.NewReader(r.out)); ; {
		var x struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct{ Name string }
			Spec       map[string]any
		}
		if err := in.Decode(&x); err == io.EOF {
			break
		} else if err != nil || x.APIVersion != "jetstream.nats.io/v1beta2" {
			t.Fatalf("%v %+v", err, x)
		}
		specs[x.Kind+" "+x.Metadata.Name] = x.Spec
	}
	runs := specs["Stream team-b-runs"]
	if runs["name"] != "TEAM_B_RUNS" || runs["retention"] != "workqueue" || runs["discardPerSubject"] != true || runs["discard"] != "new" || runs["maxMsgsPerSubject"] != 1 {
		t.Errorf("%v", runs)
	}
	if s := specs["Stream kv-team-b-state"]; s["allowDirect"] != false || s["allowRollup"] != true || s["maxAge"] != "48h0m0s" {
		t.Errorf("%v", s)
	}
	if c := specs["Consumer team-b-runs-rehearsal-default"]; c["streamName"] != "TEAM_B_RUNS" || c["filterSubject"] != "team-b.run.rehearsal.default.*" || c["ackWait"] != "30s" {
		t.Errorf("%v", specs)
	}
	if r := emend(t, "", "streams", "export", "--dir", dir, "--format", "terraform"); r.code != exitUsage || !strings.Contains(r.err, "write json or nack") {
		t.Errorf("%+v", r)
	}
}
