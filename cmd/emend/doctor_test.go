package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"emend/internal/devnats"
)

// A user without rights is told which permission is missing, and not that something timed out.
func TestDoctorNamesTheMissingPermission(t *testing.T) {
	srv, err := devnats.Start(devnats.Options{Configure: func(o *server.Options) {
		o.Users = []*server.User{{Username: "poor", Password: "hunter2", Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"emend.>", "$JS.API.STREAM.INFO.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>", "emend.ask.>"}},
		}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	url := strings.Replace(srv.URL(), "nats://", "nats://poor:hunter2@", 1)
	r := emend(t, "", "doctor", "--no-calls", "--dir", dir, "--nats", url)
	if r.code != exitFailed {
		t.Errorf("exit %d", r.code)
	}
	for _, want := range []string{"$JS.API.CONSUMER", "emend.submit", "ermission"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the doctor does not say %q:\n%s%s", want, r.out, r.err)
		}
	}
	if strings.Contains(r.out+r.err, "hunter2") {
		t.Error("the password is shown")
	}
	if r := emend(t, "", "doctor", "--no-calls", "--dir", dir, "--nats", strings.Replace(url, "hunter2", "wrong", 1)); r.code != exitFailed || !strings.Contains(r.out, "refused the credentials") {
		t.Errorf("a wrong password: %+v", r)
	}
}

func TestDoctorMakesOneTinyCallPerProfile(t *testing.T) {
	srv, err := devnats.Start(devnats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	model := newMock(t, "default: {replies: [{text: ok}]}\n")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends:\n  good: {dialect: openai, url: '"+model+"'}\n  bad: {dialect: openai, url: '"+model+"', key: {env: EMEND_NOT_SET}}\n"+
		"profiles:\n  p: {backend: good, model: m}\n  q: {backend: bad, model: m}\n")
	r := emend(t, "", "doctor", "--dir", dir, "--nats", srv.URL())
	if r.code != exitFailed || !strings.Contains(r.out, "ok   call p") || !strings.Contains(r.out, "FAIL call q") || !strings.Contains(r.out, "EMEND_NOT_SET") || !strings.Contains(r.out, "emend streams apply") {
		t.Errorf("%+v", r)
	}
	if r := emend(t, "", "streams", "apply", "--dir", dir, "--nats", srv.URL()); r.code != exitOK {
		t.Errorf("%+v", r)
	}
	if r := emend(t, "", "--json", "doctor", "--no-calls", "--dir", dir, "--nats", srv.URL()); r.code != exitOK || !strings.HasPrefix(r.out, "[{") {
		t.Errorf("%+v", r)
	}
}
