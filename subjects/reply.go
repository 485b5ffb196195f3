package subjects

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CheckReplyTo says what is wrong with a reply subject that a requester gave. It must be a literal subject that one of
// the allowed inbox patterns matches, and never one of the server's or of this space: a requester could otherwise have
// a worker publish where its own permissions do not reach.
func (n Names) CheckReplyTo(subject string, allowed []string) error {
	if err := literal(subject); err != nil {
		return err
	}
	t := strings.Split(subject, ".")
	if strings.HasPrefix(t[0], "$") || t[0] == n.space {
		return fmt.Errorf("reply subject %s: subjects of the server and of %s are refused", quote(subject), n.space)
	}
	for _, pattern := range allowed {
		if matches(strings.Split(pattern, "."), t) {
			return nil
		}
	}
	return fmt.Errorf("reply subject %s matches none of the allowed inboxes (%s)", quote(subject), strings.Join(allowed, ", "))
}

func literal(subject string) error {
	if subject == "" || len(subject) > MaxReply {
		return fmt.Errorf("reply subject of %d bytes: it must have 1 to %d", len(subject), MaxReply)
	}
	for _, c := range []byte(subject) {
		if c <= ' ' || c >= 0x7f {
			return errors.New("reply subject " + quote(subject) + ": it must be printable ASCII without white space")
		}
		if c == '*' || c == '>' {
			return errors.New("reply subject " + quote(subject) + ": it must be literal, without wildcards")
		}
	}
	if slices.Contains(strings.Split(subject, "."), "") {
		return errors.New("reply subject " + quote(subject) + ": it has an empty token")
	}
	return nil
}

// matches applies a NATS pattern: * is one token, a last > one or more.
func matches(pattern, tokens []string) bool {
	for i, p := range pattern {
		if p == ">" && i == len(pattern)-1 {
			return len(tokens) > i
		}
		if i >= len(tokens) || (p != "*" && p != tokens[i]) {
			return false
		}
	}
	return len(pattern) == len(tokens)
}
