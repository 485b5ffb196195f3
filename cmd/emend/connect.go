package main

import (
	"context"
	"errors"
	"fmt"
	neturl "net/url"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/synadia-io/orbit.go/natscontext"

	"emend/consumer"
	"emend/prompts"
	"emend/subjects"
)

// natsFlags say where NATS is: flags win over the environment (NATS_URL), which wins over emend.yaml.
type natsFlags struct {
	url, context, creds, space string
	domain, inboxPrefix        string
}

func (f *natsFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "nats", "", "NATS `URL` (default: NATS_URL, emend.yaml, nats://localhost:4222)")
	c.Flags().StringVar(&f.context, "context", "", "a context `NAME` of the nats CLI")
	c.Flags().StringVar(&f.creds, "creds", "", "a credentials `FILE`")
	c.Flags().StringVar(&f.space, "space", "", "the first token of all subjects (default: emend.yaml, emend)")
	c.Flags().StringVar(&f.domain, "domain", "", "a JetStream domain")
	c.Flags().StringVar(&f.inboxPrefix, "inbox-prefix", "", "the `PREFIX` of the inboxes that replies come to, where the user may subscribe (default: emend.yaml, _INBOX)")
}

// over returns the configuration with what the flags and the environment say.
func (f *natsFlags) over(cfg prompts.NATS) prompts.NATS {
	set := func(dst *string, v string) {
		if v != "" {
			*dst = v
		}
	}
	if f.context == "" {
		set(&cfg.URL, os.Getenv("NATS_URL"))
	} else {
		cfg.URL = ""
	}
	set(&cfg.URL, f.url)
	set(&cfg.Context, f.context)
	set(&cfg.Creds, f.creds)
	set(&cfg.Space, f.space)
	set(&cfg.Domain, f.domain)
	set(&cfg.InboxPrefix, f.inboxPrefix)
	if cfg.Space == "" {
		cfg.Space = subjects.DefaultSpace
	}
	return cfg
}

// options are those of every connection. wait keeps trying when the server is not there yet.
func options(cfg prompts.NATS, name string, wait bool) ([]nats.Option, error) {
	opts := []nats.Option{nats.Name("emend " + name), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.RetryOnFailedConnect(wait), nats.Timeout(5 * time.Second)}
	if cfg.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(cfg.InboxPrefix))
	}
	if cfg.Creds != "" {
		opts = append(opts, nats.UserCredentials(cfg.Creds))
	}
	if cfg.NKey != "" {
		nkey, err := nats.NkeyOptionFromSeed(cfg.NKey)
		if err != nil {
			return nil, fmt.Errorf("nats.nkey: %s holds no readable seed of a user's nkey", cfg.NKey) // the error may quote it
		}
		opts = append(opts, nkey)
	}
	if cfg.CA != "" {
		opts = append(opts, nats.RootCAs(cfg.CA))
	}
	if cfg.Cert != "" || cfg.Key != "" {
		opts = append(opts, nats.ClientCert(cfg.Cert, cfg.Key))
	}
	return opts, nil
}

// comingAndGoing tells when a connection is lost, and when it is there again: what waits for it is silent meanwhile.
func comingAndGoing(lost func(error), back func(url string)) []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() { // else it was closed on purpose
				lost(err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { back(nc.ConnectedUrlRedacted()) }),
	}
}

// connect opens a connection that outlives server restarts.
func connect(cfg prompts.NATS, name string, wait bool, more ...nats.Option) (*nats.Conn, error) {
	if cfg.InboxPrefix != "" && !prompts.IsInboxPrefix(cfg.InboxPrefix) {
		return nil, fmt.Errorf("--inbox-prefix %q: write a subject without wildcards, such as _INBOX.team-a", short(cfg.InboxPrefix))
	}
	opts, err := options(cfg, name, wait)
	if err != nil {
		return nil, failed(err)
	}
	opts = append(opts, more...)
	if cfg.Context != "" {
		nc, _, err := natscontext.Connect(cfg.Context, opts...)
		if err != nil {
			return nil, failed(fmt.Errorf("connect with nats context %q: %w", cfg.Context, err))
		}
		return nc, nil
	}
	url := cfg.URL
	if url == "" {
		url = nats.DefaultURL
	}
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return nil, failed(connectError(url, err))
	}
	return nc, nil
}

func connectError(url string, err error) error {
	hint := "is a nats-server running there? `emend dev` starts one"
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		hint = "the server refused the credentials"
	case errors.Is(err, nats.ErrNoServers):
	default:
		hint = "check the address, TLS and credentials"
	}
	if _, ok := errors.AsType[*neturl.Error](err); ok {
		return fmt.Errorf("connect to NATS: the URL is not readable; write nats://host:port") // its text may hold a password
	}
	return fmt.Errorf("connect to NATS at %s: %w (%s)", safeURL(url), err, hint)
}

// failed marks an error that is neither usage nor configuration; a queue that the space does not have is usage.
func failed(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, consumer.ErrNoQueue) {
		return &exitError{code: exitUsage, err: err}
	}
	return &exitError{code: exitFailed, err: err}
}

// pending marks an error of a run that goes on.
func pending(err error) error { return &exitError{code: exitPending, err: err} }

// natsOf reads the NATS section of a folder's emend.yaml; a folder without one has the defaults.
func natsOf(dir string) prompts.NATS {
	if _, err := os.Stat(dir + "/emend.yaml"); err != nil {
		return prompts.NATS{}
	}
	snap, err := prompts.LoadDir(dir)
	if err != nil {
		return prompts.NATS{}
	}
	return snap.Config().NATS
}

// within bounds a command that waits for a run; 0 waits for ever.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
