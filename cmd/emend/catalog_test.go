package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
	"emend/schemas"
)

// Two workers follow the catalogs of a space: the first is waited for, a new prompt is served by both, a bad folder is
// refused by apply, and a bad archive by every worker.
func TestWorkersFollowCatalogs(t *testing.T) {
	srv, err := devnats.Start(devnats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	at := func(args ...string) ran { return emend(t, "", append(args, "--nats", srv.URL())...) }
	if r := at("catalog", "ls"); r.code != exitFailed || !strings.Contains(r.err, "emend apply") {
		t.Errorf("before the first: %+v", r)
	}
	one := background(t, "serve", "--catalog", "--nats", srv.URL(), "--worker-id", "one")
	one("waiting for the first")
	if r := at("apply", dir); r.code != exitOK || !strings.Contains(r.out, "catalog 1: 1 prompt,") {
		t.Fatalf("apply: %+v", r)
	}
	one(`"serving"`)
	two := background(t, "serve", "--catalog", "--nats", srv.URL(), "--worker-id", "two")
	two(`"serving"`)
	if r := at("apply", dir); r.code != exitOK || !strings.Contains(r.out, "catalog 1 holds this already") {
		t.Errorf("apply again: %+v", r)
	}
	b, err := os.ReadFile(filepath.Join(dir, "prompts/extract-invoice@1.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "prompts/extract-invoice@2.yaml"), string(b))
	write(t, filepath.Join(dir, "notes.txt"), "no part of the definitions")
	if r := at("apply", dir); r.code != exitOK || !strings.Contains(r.out, "catalog 2: 2 prompts") {
		t.Fatalf("apply the second: %+v", r)
	}
	one("definitions reloaded")
	two("definitions reloaded")
	served := map[string]bool{}
	for range 20 {
		r := at("run", "--json", "--backend", "rehearsal", "extract-invoice@2", "document=x")
		var res schemas.Result
		if err := json.Unmarshal([]byte(r.out), &res); err != nil || res.Status != schemas.StatusSucceeded || res.Source.Catalog != 2 {
			t.Fatalf("%v: %+v", err, r)
		}
		served[res.Source.Worker] = true
	}
	t.Run("bad ones", func(t *testing.T) { badCatalogs(t, srv, dir, one) })
	t.Run("look and take back", func(t *testing.T) { catalogsBack(t, at) })
}

func badCatalogs(t *testing.T, srv *devnats.Server, dir string, one func(string) string) {
	write(t, filepath.Join(dir, "prompts/extract-invoice@3.yaml"), "profile: nowhere\nmessages: [{user: hi}]\n")
	if r := emend(t, "", "apply", dir, "--nats", srv.URL()); r.code != exitUsage || !strings.Contains(r.err, "extract-invoice@3.yaml:1: profile: there is no profile") {
		t.Errorf("a folder with faults: %+v", r)
	}
	failing := "profile: rehearsal\nmessages: [{user: hi}]\noutput: {mode: json}\ntests: [{name: wrong, answers: ['no'], expect: {status: succeeded}}]\n"
	write(t, filepath.Join(dir, "prompts/extract-invoice@3.yaml"), failing)
	if r := emend(t, "", "apply", dir, "--nats", srv.URL()); r.code != exitUsage || !strings.Contains(r.out, "FAIL extract-invoice@3 \"wrong\"") || !strings.Contains(r.err, "1 of 3 tests fail") {
		t.Errorf("a folder whose tests fail: %+v", r)
	}
	if r := emend(t, "", "apply", "--json", dir, "--nats", srv.URL()); r.code != exitUsage || !strings.Contains(r.out, "--skip-tests") {
		t.Errorf("a folder whose tests fail, for a machine: %+v", r)
	}
	if r := emend(t, "", "apply", "--skip-tests", dir, "--nats", srv.URL()); r.code != exitOK || !strings.Contains(r.out, "catalog 3: 3 prompts") {
		t.Errorf("without tests: %+v", r)
	}
	one("definitions reloaded")
	if err := os.Remove(filepath.Join(dir, "prompts/extract-invoice@3.yaml")); err != nil {
		t.Fatal(err)
	}
	nc, err := srv.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), "emend_catalog")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(t.Context(), "catalog", "no archive"); err != nil {
		t.Fatal(err)
	}
	one("the new definitions are refused; the old stay")
	if r := emend(t, "", "run", "--json", "--nats", srv.URL(), "--backend", "rehearsal", "extract-invoice@2", "document=x"); r.code != exitOK || !strings.Contains(r.out, `"catalog":3`) {
		t.Errorf("after a bad archive: %+v", r)
	}
	if r := emend(t, "", "status", "--nats", srv.URL()); r.code != exitOK || !strings.Contains(r.out, "one runs by catalog 3, 3 prompts, for ") || !strings.Contains(r.out, "  refused catalog 4 ") {
		t.Errorf("status: %+v", r)
	}
}

func catalogsBack(t *testing.T, at func(...string) ran) {
	if r := at("catalog", "ls"); r.code != exitOK || strings.Count(r.out, "\n") != 5 {
		t.Errorf("ls: %+v", r)
	}
	back := filepath.Join(t.TempDir(), "back")
	if r := at("catalog", "get", "--number", "1", "-o", back); r.code != exitOK {
		t.Fatalf("get: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(back, "notes.txt")); err == nil {
		t.Error("a file that is no part of the definitions was stored")
	}
	if r := emend(t, "", "check", back); r.code != exitOK {
		t.Errorf("what comes back is checked: %+v", r)
	}
	if r := at("catalog", "get", "--number", "1", "-o", back); r.code != exitUsage || !strings.Contains(r.err, "is not empty") {
		t.Errorf("get twice: %+v", r)
	}
	if r := at("catalog", "get", "--number", "99", "-o", back+"2"); r.code != exitFailed || !strings.Contains(r.err, "catalog 99 is not kept") {
		t.Errorf("get what is not there: %+v", r)
	}
	if r := at("apply", back); r.code != exitOK || !strings.Contains(r.out, "catalog 5: 1 prompt,") {
		t.Errorf("apply an old one: %+v", r)
	}
}
