package subjects

import (
	"strings"
	"testing"
)

func TestCheckReplyTo(t *testing.T) {
	n := names(t, "emend")
	inbox := []string{"_INBOX.>"}
	for _, c := range []struct {
		subject string
		allowed []string
		want    string // "" is accepted
	}{
		{"_INBOX.abc", inbox, ""},
		{"_INBOX.abc.def", inbox, ""},
		{"_R_.x.y", []string{"_INBOX.>", "_R_.>"}, ""},
		{"team.a.inbox", []string{"team.*.inbox"}, ""},
		{"anything", []string{">"}, ""},
		{"x.y", []string{"x.y"}, ""},
		{"", inbox, "of 0 bytes"},
		{"_INBOX", inbox, "matches none of the allowed inboxes (_INBOX.>)"},
		{"_INBOXES.a", inbox, "matches none"},
		{"other.abc", inbox, "matches none"},
		{"_INBOX.abc", nil, "matches none"},
		{"team.a.b.inbox", []string{"team.*.inbox"}, "matches none"},
		{"team.a", []string{"team.*.inbox"}, "matches none"},
		{"a.b", []string{"a.>.c"}, "matches none"},
		{"_INBOX.*", inbox, "without wildcards"},
		{"_INBOX.>", inbox, "without wildcards"},
		{"_INBOX.a*b", inbox, "without wildcards"},
		{"_INBOX..a", inbox, "empty token"},
		{"_INBOX.a.", inbox, "empty token"},
		{"._INBOX", inbox, "empty token"},
		{"_INBOX.a b", inbox, "printable ASCII"},
		{"_INBOX.a\r\nPUB x", inbox, "printable ASCII"},
		{"_INBOX.\x7f", inbox, "printable ASCII"},
		{"_INBOX.\u00a0", inbox, "printable ASCII"},
		{"_INBOX." + strings.Repeat("a", MaxReply), inbox, "it must have 1 to 512"},
		{"$JS.API.STREAM.DELETE.x", []string{">"}, "subjects of the server and of emend are refused"},
		{"$SYS.x", []string{">"}, "are refused"},
		{"emend.run.a.b.c", []string{">"}, "are refused"},
		{"emend", []string{">"}, "are refused"},
		{"emends.run", []string{">"}, ""},
	} {
		err := n.CheckReplyTo(c.subject, c.allowed)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q with %v: %v", c.subject, c.allowed, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q with %v: error %v, want one with %q", c.subject, c.allowed, err, c.want)
		}
	}
}

func FuzzCheckReplyTo(f *testing.F) {
	n := names(f, "emend")
	for _, s := range []string{"_INBOX.a", "$JS.x", "emend.get", "a..b", "*", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n.CheckReplyTo(s, []string{">"}) != nil {
			return
		}
		if s == "" || len(s) > MaxReply || strings.ContainsAny(s, " \t\r\n*>") || strings.HasPrefix(s, "$") ||
			strings.Contains("."+s+".", "..") || strings.HasPrefix(s+".", "emend.") {
			t.Errorf("accepted %q", s)
		}
	})
}
