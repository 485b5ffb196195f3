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
	c := &cobra.Command{Use: "doctor", Short: "Check keys, TLS, one tiny call per profile, NATS and the rights there", Args: atMost(0),
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
	nc, err := connect(cfg.NATS, "doctor", false)
	if err != nil {
		d.note("nats", err, "")
		return
	}
	defer nc.Close()
	d.note("nats", nil, fmt.Sprintf("%s, nats-server %s", safeURL(nc.ConnectedUrl()), nc.ConnectedServerVersion()))
	if old := consumer.OldServer(nc); old != "" {
		d.note("nats version", errors.New(old), "")
	}
	if d.rights(nc, cfg) {
		d.streams(ctx, nc, cfg)
	}
}

// rights asks for everything that a worker asks for. The server tells a missing permission by name, and only that way:
// a request without the right to make it just times out. It reports whether nothing is missing.
func (d *examination) rights(nc *nats.Conn, cfg prompts.Config) bool {
	r, err := consumer.RightsOf(cfg)
	if err != nil {
		d.note("rights", err, "")
		return false
	}
	missing := 0
	try := func(subject string, do func() error) {
		if err := permitted(nc, do); err != nil {
			missing++
			d.note("right "+subject, err, "")
		}
	}
	for _, s := range r.Publish {
		try("publish "+s, func() error { return consumer.Probe(nc, s, true) })
	}
	for _, s := range r.Store {
		try("publish "+s, func() error { return consumer.Probe(nc, s, false) })
	}
	for _, s := range r.Subscribe {
		try("subscribe "+s, func() error {
			sub, err := nc.SubscribeSync(s)
			if err != nil {
				return err
			}
			return errors.Join(nc.FlushTimeout(flushWithin), sub.Unsubscribe())
		})
	}
	if missing == 0 {
		d.note("rights", nil, fmt.Sprintf("%d subjects may be used", len(r.Publish)+len(r.Store)+len(r.Subscribe)))
	}
	return missing == 0
}

const flushWithin = 5 * time.Second

// permitted does something and returns what the server has against it. The server's word comes before the answer to the
// flush, and the connection keeps it.
func permitted(nc *nats.Conn, do func() error) error {
	before := nc.LastError()
	if err := errors.Join(do(), nc.FlushTimeout(flushWithin)); err != nil {
		return err
	}
	if err := nc.LastError(); err != nil && err != before && errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	return nil
}

func (d *examination) streams(ctx context.Context, nc *nats.Conn, cfg prompts.Config) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, changes, err := plan(ctx, nc, cfg)
	if err == nil && len(changes) > 0 {
		err = fmt.Errorf("%d changes are needed: %s shows them, %s makes them", len(changes), d.app.again("streams plan"), d.app.again("streams apply"))
	}
	d.note("streams", err, "streams, durables and buckets are as needed")
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
