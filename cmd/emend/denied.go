package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"emend/consumer"
)

// deniedError says which right the server's user lacks, and what to do about it.
type deniedError struct{ verb, subject, hint string }

func (e *deniedError) Error() string {
	return fmt.Sprintf("the NATS server does not let this user %s %s: %s", e.verb, e.subject, e.hint)
}

// deniedWords are how the server names a right that is missing; nats.go hands them on as they are.
var deniedWords = regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]+)"`)

// deniedOf reads the server's word; nil when err is something else. inbox is a new inbox of the connection.
func deniedOf(err error, inbox string) *deniedError {
	m := deniedWords.FindStringSubmatch(err.Error())
	if m == nil || !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	e := &deniedError{verb: "publish on", subject: m[2], hint: "grant publish on it (docs/security.md lists the rights)"}
	if strings.EqualFold(m[1], "publish") {
		return e
	}
	e.verb, e.hint = "subscribe to", "grant subscribe on it (docs/security.md lists the rights)"
	prefix := inbox[:strings.LastIndexByte(inbox, '.')+1]
	if strings.HasPrefix(m[2], prefix) {
		e.verb = "subscribe to its inbox"
		e.hint = fmt.Sprintf("grant subscribe on %s>, or give --inbox-prefix (nats.inbox_prefix in emend.yaml) with the prefix that its rights name, such as _INBOX.<queue>", prefix)
	}
	return e
}

// asking is one command's connection. A request that the server refuses is never answered, so a refusal ends the command.
type asking struct {
	dir, name string
	// limit bounds the command; 0 is no limit.
	limit time.Duration
	// spares are the first tokens of subjects behind the space that the command can do without.
	spares []string
	// goOn says that a missing right ends what needs it, not the command; it is told.
	goOn bool
}

// ask connects and calls do with a context that ends with the limit or with the first right that is missing; what is
// missing is then the error.
func (f *natsFlags) ask(ctx context.Context, q asking, do func(context.Context, *consumer.Client) error) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	cfg := f.over(natsOf(q.dir))
	told := comingAndGoing(func(err error) {
		fmt.Fprintf(os.Stderr, "emend: the connection to NATS is lost (%v); trying until it is there again\n", cmp.Or(err, io.EOF))
	}, func(url string) { fmt.Fprintf(os.Stderr, "emend: connected to NATS again at %s\n", url) })
	nc, err := connect(cfg, q.name, false, append(told, nats.ErrorHandler(func(nc *nats.Conn, _ *nats.Subscription, err error) {
		switch d := deniedOf(err, nc.NewInbox()); {
		case d == nil:
			fmt.Fprintf(os.Stderr, "emend: NATS: %v\n", err)
		case q.goOn:
			fmt.Fprintf(os.Stderr, "emend: %v\n", d)
		case !q.spared(cfg.Space, d.subject):
			giveUp(d)
		}
	}))...)
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := consumer.NewClient(nc, cfg.Space, cfg.Domain)
	if err != nil {
		return err
	}
	within, cancel := within(ctx, q.limit)
	defer cancel()
	err = do(within, client)
	if d, ok := errors.AsType[*deniedError](context.Cause(ctx)); ok {
		return failed(d)
	}
	return err
}

func (q asking) spared(space, subject string) bool {
	for _, token := range q.spares {
		if strings.HasPrefix(subject, space+"."+token+".") {
			return true
		}
	}
	return false
}
