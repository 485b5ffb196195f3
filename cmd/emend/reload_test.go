package main

import (
	"path/filepath"
	"strings"
	"testing"

	"emend/consumer"
)

func TestReloadFromTheShell(t *testing.T) {
	dir, at := batchSpace(t)
	if r := at("reload"); r.code != exitOK || !strings.Contains(r.out, "reloaded, 1 prompt") {
		t.Errorf("%+v", r)
	}
	write(t, filepath.Join(dir, "prompts/work@2.yaml"), "profile: nowhere\nmessages: [{user: x}]\n")
	r := at("reload")
	if r.code != exitFailed || !strings.Contains(r.out, "refused, the old definitions stay") || !strings.Contains(r.out, "there is no profile") || !strings.Contains(r.err, "1 of 1 workers refused") {
		t.Errorf("%+v", r)
	}
	if r := at("status"); r.code != exitOK || !strings.Contains(r.out, "refused the definitions of its folder ") || !strings.Contains(r.out, "prompts/work@2.yaml:1: profile: there is no profile") {
		t.Errorf("status: %+v", r)
	}
	if r := at("reload", "--json"); r.code != exitFailed || !strings.Contains(r.out, `"workers":[{"worker":"`) {
		t.Errorf("%+v", r)
	}
	write(t, filepath.Join(dir, "prompts/work@2.yaml"), "profile: fast\nmessages: [{user: x}]\n")
	if r := at("reload"); r.code != exitOK {
		t.Errorf("mended: %+v", r)
	}
	if r := at("status"); strings.Contains(r.out, "refused") {
		t.Errorf("status: %+v", r)
	}
	b := "nats: {space: other}\nbackends: {model: {dialect: openai, url: 'http://127.0.0.1:1/v1'}}\nprofiles: {fast: {backend: model, model: m}}\n"
	write(t, filepath.Join(dir, "emend.yaml"), b)
	if r := at("reload", "--space", "emend"); r.code != exitFailed || !strings.Contains(r.out, "nats.space and nats.domain") {
		t.Errorf("%+v", r)
	}
}

func TestReloadWithoutWorkers(t *testing.T) {
	a := &app{streams: streams{out: &strings.Builder{}}}
	if err := a.printReloaded(nil, nil); err == nil || !strings.Contains(err.Error(), "no worker answers") {
		t.Errorf("%v", err)
	}
	if err := a.printReloaded([]consumer.Reloaded{{Worker: "w", Prompts: 2}}, nil); err != nil {
		t.Errorf("%v", err)
	}
}
