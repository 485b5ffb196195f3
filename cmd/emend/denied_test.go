package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// restricted starts a server with a worker and the users of docs/security.md: team, its reviewer with no more rights than
// its page gives, and blind, who may publish and sees no inbox. It returns a URL per user.
func restricted(t *testing.T, dir string) func(user string) string {
	t.Helper()
	n, err := subjects.New(subjects.DefaultSpace)
	if err != nil {
		t.Fatal(err)
	}
	q := "default"
	team := []string{n.Run("rehearsal", q, "*"), n.GetOf(q), n.CancelOf(q), n.Reviews(q), n.Decide(q), n.DeadLetters(q)}
	user := func(name string, publish []string, subscribe ...string) *server.User {
		return &server.User{Username: name, Password: "pw", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe}}}
	}
	srv, err := devnats.Start(devnats.Options{Configure: func(o *server.Options) {
		o.Users = []*server.User{{Username: "worker", Password: "pw"}, user("team", team, "_INBOX.team.>", n.EventFilter(q, "*")),
			user("silent", team, "_INBOX.team.>"), user("mute", []string{n.GetOf(q)}, "_INBOX.team.>")}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	at := func(user string) string { return strings.Replace(srv.URL(), "nats://", "nats://"+user+":pw@", 1) }
	line := background(t, "serve", "--dir", dir, "--nats", at("worker"))
	line(`"serving"`)
	return at
}

// The commands of requesters and reviewers work with the rights that docs/security.md gives, and name what is missing.
func TestCommandsWithTheRightsOfOneQueue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	at := restricted(t, dir)
	as := func(user string, args ...string) ran {
		return emend(t, "", append(args, "--dir", dir, "--nats", at(user))...)
	}
	mine := func(user string, args ...string) ran {
		return as(user, append(args, "--inbox-prefix", "_INBOX.team")...)
	}
	if r := mine("team", "run", "extract-invoice", "document=invoice", "--id", "one"); r.code != exitOK || !strings.Contains(r.out, "repair: targeted") {
		t.Errorf("run: %+v", r)
	}
	if r := mine("team", "get", "one"); r.code != exitOK || !strings.Contains(r.out, "one succeeded") {
		t.Errorf("get: %+v", r)
	}
	if r := mine("team", "cancel", "one"); r.code != exitFailed || !strings.Contains(r.err, "had ended as succeeded") {
		t.Errorf("cancel: %+v", r)
	}
	if r := mine("team", "review", "ls"); r.code != exitOK {
		t.Errorf("review ls: %+v", r)
	}
	if r := mine("team", "dead", "ls"); r.code != exitOK {
		t.Errorf("dead ls: %+v", r)
	}
	if r := mine("silent", "run", "extract-invoice", "document=invoice"); r.code != exitOK || !strings.Contains(r.out, "succeeded") {
		t.Errorf("a run needs no right to see events: %+v", r)
	}
	for _, c := range []struct {
		r    ran
		says []string
	}{
		{as("team", "run", "extract-invoice", "document=invoice"), []string{"subscribe to its inbox _INBOX.", "grant subscribe on _INBOX.>", "--inbox-prefix"}},
		{as("team", "get", "one"), []string{"subscribe to its inbox", "--inbox-prefix"}},
		{as("team", "dead", "ls"), []string{"subscribe to its inbox", "--inbox-prefix"}},
		{as("team", "status"), []string{"subscribe to its inbox", "--inbox-prefix"}},
		{mine("team", "status"), []string{"publish on $SRV.STATS.emend", "grant publish"}},
		{mine("silent", "watch"), []string{"subscribe to emend.event.*.*.*", "grant subscribe"}},
		{mine("mute", "run", "extract-invoice", "document=invoice"), []string{"publish on emend.run.rehearsal.default.", "grant publish"}},
		{as("team", "get", "one", "--inbox-prefix", "a.*"), []string{"without wildcards"}},
	} {
		for _, want := range c.says {
			if c.r.code == exitOK || !strings.Contains(c.r.err, want) {
				t.Errorf("lacks %q: %+v", want, c.r)
			}
		}
	}
}

// The prefix may stand in emend.yaml.
func TestInboxPrefixOfTheConfiguration(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	at := restricted(t, dir)
	other := t.TempDir()
	write(t, filepath.Join(other, "emend.yaml"), fmt.Sprintf("nats: {url: '%s', inbox_prefix: _INBOX.team}\nbackends:\n  a: {dialect: scripted}\n", at("team")))
	t.Setenv("NATS_URL", "")
	if r := emend(t, "", "get", "nobody", "--dir", other, "--json"); r.code != exitFailed || !strings.Contains(r.out, schemas.StateNotFound) {
		t.Errorf("%+v", r)
	}
}

func TestDeniedOf(t *testing.T) {
	inbox := "_INBOX.me.abc"
	violation := func(text string) error { return fmt.Errorf("%w: %s", nats.ErrPermissionViolation, text) }
	for _, c := range []struct {
		err  error
		want string
	}{
		{violation(`Permissions Violation for Publish to "a.b"`), "publish on a.b: grant publish"},
		{violation(`Permissions Violation for Subscription to "_INBOX.me.xyz.*"`), "grant subscribe on _INBOX.me.>"},
		{violation(`Permissions Violation for Subscription to "_INBOX.other.*"`), "subscribe to _INBOX.other.*: grant subscribe on it"},
		{violation("something else"), ""},
		{nats.ErrSlowConsumer, ""},
	} {
		switch got := deniedOf(c.err, inbox); {
		case c.want == "" && got != nil, c.want != "" && (got == nil || !strings.Contains(got.Error(), c.want)):
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
