package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/engine"
	"emend/prompts"
	"emend/schemas"
)

// doctorWithin bounds one check.
const doctorWithin = 60 * time.Second

// doctor looks at everything that a worker will need.
func (a *app) doctor() *cobra.Command {
	var f natsFlags
	var dir string
	var skipCalls bool
	c := &cobra.Command{Use: "doctor", Short: "Check keys, TLS, one tiny call per profile, NATS and the rights there", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			snap, err := prompts.LoadDir(dir, f.option())
			if err != nil {
				return err
			}
			d := &examination{app: a}
			d.nats(c.Context(), snap.Config())
			if !skipCalls {
				d.backends(c.Context(), snap)
			}
			return d.end()
		}}
	f.register(c)
	c.Flags().StringVar(&dir, "dir", ".", "the `FOLDER` with emend.yaml and prompts/")
	c.Flags().BoolVar(&skipCalls, "no-calls", false, "make no model call")
	return c
}

// finding is one line of the doctor's.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

type examination struct {
	app      *app
	findings []finding
}

func (d *examination) note(check string, err error, good string) {
	f := finding{Check: check, OK: err == nil, Detail: good}
	if err != nil {
		f.Detail = err.Error()
	}
	d.findings = append(d.findings, f)
	if d.app.json {
		return
	}
	mark := d.app.colour(green, "ok  ")
	if err != nil {
		mark = d.app.colour(red, "FAIL")
	}
	fmt.Fprintf(d.app.out, "%s %-28s %s\n", mark, check, f.Detail)
}

func (d *examination) end() error {
	bad := 0
	for _, f := range d.findings {
		if !f.OK {
			bad++
		}
	}
	if d.app.json {
		if err := d.app.printJSON(d.findings); err != nil {
			return err
		}
	}
	if bad > 0 {
		return failed(fmt.Errorf("%d of %d checks failed", bad, len(d.findings)))
	}
	return nil
}

// nats checks the connection, the server and the rights, by doing what a worker does.
func (d *examination) nats(ctx context.Context, cfg prompts.Config) {
	refused := make(chan error, 16)
	nc, err := connect(cfg.NATS, "doctor", false)
	if err != nil {
		d.note("nats", err, "")
		return
	}
	defer nc.Close()
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			select {
			case refused <- err:
			default:
			}
		}
	})
	d.note("nats", nil, fmt.Sprintf("%s, nats-server %s", safeURL(nc.ConnectedUrl()), nc.ConnectedServerVersion()))
	if old := consumer.OldServer(nc); old != "" {
		d.note("nats version", errors.New(old), "")
	}
	d.rights(ctx, nc, cfg, refused)
}

// rights asks for everything that a worker asks for; a permission that is missing is told by the server, by name.
func (d *examination) rights(ctx context.Context, nc *nats.Conn, cfg prompts.Config, refused chan error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, changes, err := plan(ctx, nc, cfg)
	if err == nil && len(changes) > 0 {
		err = fmt.Errorf("%d changes are needed: emend streams plan shows them, emend streams apply makes them", len(changes))
	}
	select {
	case denied := <-refused:
		err = fmt.Errorf("the account lacks a permission: %w", denied)
	default:
	}
	d.note("jetstream", err, "streams, durables and buckets are as needed")
	for _, subject := range consumer.Subscriptions(cfg) {
		d.note("subscribe "+subject, mayListen(nc, subject, refused), "")
	}
}

func mayListen(nc *nats.Conn, subject string, refused chan error) error {
	sub, err := nc.SubscribeSync(subject)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.FlushTimeout(5 * time.Second); err != nil {
		return err
	}
	select {
	case denied := <-refused:
		return denied
	default:
		return nil
	}
}

// backends makes one tiny call per profile.
func (d *examination) backends(ctx context.Context, snap *prompts.Snapshot) {
	eng, err := engine.New(snap)
	if err != nil {
		d.note("backends", err, "")
		return
	}
	defer eng.Close()
	one, none := int64(16), 0
	for name := range snap.Profiles() {
		ctx, cancel := context.WithTimeout(ctx, doctorWithin)
		r, err := eng.Run(ctx, engine.RunRequest{Profile: name, Settings: &engine.Settings{MaxOutputTokens: &one}, TransientRetries: &none,
			Output: &engine.OutputContract{Mode: schemas.ModeNone}, Messages: []engine.Message{{Role: schemas.RoleUser, Content: "Answer with: ok"}}})
		cancel()
		good := ""
		if r != nil {
			good = fmt.Sprintf("%s answered in %s", r.Source.Model, r.Duration.Round(time.Millisecond))
		}
		d.note("call "+name, err, good)
	}
}
