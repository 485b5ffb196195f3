package main

import (
	"strings"
	"testing"
)

// A word that is no command is an error at every level, and never a help page with exit 0.
func TestUnknownCommands(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"review", "aprove", "x"}, `unknown command "aprove" of emend review; did you mean approve?`},
		{[]string{"prompts", "tests"}, `unknown command "tests" of emend prompts; did you mean test?`},
		{[]string{"catalog", "lss"}, "did you mean ls?"},
		{[]string{"dead", "x-y-z"}, `unknown command "x-y-z" of emend dead; see emend dead --help`},
		{[]string{"streams", "aply"}, "did you mean apply?"},
		{[]string{"serv"}, `unknown command "serv" for "emend"`},
	} {
		if r := emend(t, "", c.args...); r.code != exitUsage || !strings.Contains(r.err, c.want) || r.out != "" {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
	for _, name := range []string{"review", "prompts", "catalog", "dead", "streams"} {
		if r := emend(t, "", name); r.code != exitOK || !strings.Contains(r.out, "Available Commands:") {
			t.Errorf("%s alone: %+v", name, r)
		}
	}
}
