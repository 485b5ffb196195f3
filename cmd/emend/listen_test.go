package main

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"emend/prompts"
)

// Whoever wants an address that is taken is told which flag chooses another.
func TestATakenAddressNamesItsFlag(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	addr, dir := l.Addr().String(), t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends: {a: {dialect: scripted}}\nprofiles: {p: {backend: a, model: m}}\n")
	for _, args := range [][]string{
		{"mock", "--listen", addr},
		{"dev", "--dir", dir, "--port", "0", "--http", addr},
		{"serve", "--dir", dir, "--embedded", "--port", "0", "--http", addr},
	} {
		flag := args[len(args)-2]
		if r := emend(t, "", args...); r.code != exitFailed || !strings.Contains(r.err, addr+" is not free") || !strings.Contains(r.err, "choose another with "+flag) {
			t.Errorf("%v: %+v", args, r)
		}
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	if r := emend(t, "", "dev", "--dir", dir, "--http", "", "--port", port); r.code != exitFailed || !strings.Contains(r.err, "choose another with --port") {
		t.Errorf("dev --port: %+v", r)
	}
	if r := emend(t, "", "mock", "--listen", "nowhere"); r.code != exitFailed || !strings.Contains(r.err, "--listen: ") {
		t.Errorf("no address: %+v", r)
	}
}

// A key that is not there is told with its category once, and its message once.
func TestAMissingKeyIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends: {a: {dialect: openai, url: 'https://api.openai.com/v1', key: {env: EMEND_NOT_SET}}}\nprofiles: {p: {backend: a, model: m}}\n")
	write(t, filepath.Join(dir, "prompts", "x@1.yaml"), "profile: p\nmessages: [{user: hi}]\n")
	const want = `emend: transport: backend "a": the key cannot be had: environment variable EMEND_NOT_SET is empty or not set; set it where the worker runs` + "\n"
	if r := emend(t, "", "try", "--dir", dir, "x"); r.code != exitFailed || r.err != want {
		t.Errorf("%d %q", r.code, r.err)
	}
}

// Lines for people have their milliseconds.
func TestLogLinesHaveMilliseconds(t *testing.T) {
	at := map[string]bool{}
	var lines strings.Builder
	a := &app{streams: streams{err: &lines, tty: true}}
	log, err := a.logger(prompts.Log{Format: "text"}, "info")
	if err != nil {
		t.Fatal(err)
	}
	for len(at) < 3 { // the clock goes on
		lines.Reset()
		log.Info().Msg("x")
		stamp, _, _ := strings.Cut(lines.String(), " ")
		at[stamp[strings.LastIndexByte(stamp, '.')+1:]] = true
	}
	lines.Reset()
	a.tty = false
	if log, err = a.logger(prompts.Log{Format: "json"}, "info"); err != nil {
		t.Fatal(err)
	}
	log.Info().Msg("x")
	if !regexp.MustCompile(`"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)"`).MatchString(lines.String()) {
		t.Errorf("%s", lines.String())
	}
}
