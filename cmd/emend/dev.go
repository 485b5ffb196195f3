package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/prompts"
)

// dev runs an embedded server and a worker, and reloads definitions as they are saved.
func (a *app) dev() *cobra.Command {
	var f natsFlags
	o := serveOptions{embedded: true, text: true}
	c := &cobra.Command{Use: "dev", Short: "An embedded server and a worker; reloads definitions as they are saved", Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := context.WithCancel(c.Context())
			defer stop()
			var err error
			if o.listener, err = a.devPage(ctx, o.http, c.Flags().Changed("http")); err != nil {
				return err
			}
			o.page = pageFlags{token: rand.Text(), content: true}
			followed := make(chan struct{})
			started := false
			err = a.work(ctx, f, o, func(at string, w *consumer.Worker) {
				started = true
				a.greet(at, o.dir, f)
				if o.listener != nil {
					fmt.Fprintf(a.out, "What it does, in a browser: %s\n", o.page.link(o.listener.Addr().String()))
				}
				go func() {
					defer close(followed)
					a.follow(ctx, w, f, o.dir)
				}()
			})
			stop()
			if started {
				<-followed
			}
			return err
		}}
	c.Flags().StringVar(&o.dir, "dir", ".", "the `FOLDER` with emend.yaml and prompts/")
	c.Flags().IntVar(&o.port, "port", 4222, "the server's port on 127.0.0.1; 0 picks one")
	c.Flags().StringVar(&o.http, "http", devHTTP, "serve the page, health and metrics on this `ADDRESS`; empty for nowhere")
	c.Flags().StringVar(&o.store, "store", "", "where the server keeps its streams (default: a temporary folder)")
	c.Flags().StringVar(&o.level, "log-level", "", "debug, info, warn or error")
	c.Flags().StringVar(&f.space, "space", "", "the first token of all subjects")
	return c
}

// devHTTP is where dev serves the page, if nobody else is there.
const devHTTP = "127.0.0.1:8322"

// devPage listens where the page is served; when the place that nobody chose is taken, somewhere else.
func (a *app) devPage(ctx context.Context, addr string, chosen bool) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := listen(ctx, "--http", addr)
	if err != nil && !chosen {
		return listen(ctx, "--http", "127.0.0.1:0")
	}
	return l, err
}

// greet prints what can be typed in another shell.
func (a *app) greet(at, dir string, f natsFlags) {
	snap, err := prompts.LoadDir(dir, f.option())
	if err != nil {
		return
	}
	fmt.Fprintf(a.out, "NATS on %s; from another shell in this folder:\n", at)
	for _, p := range snap.Prompts() {
		profile, ok := snap.Profiles()[p.Profile]
		if !ok || judges(snap, p) {
			continue
		}
		ref := fmt.Sprintf("%s@%d", p.ID, p.Version)
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(p.Inputs)), func(n string) bool { return !p.Inputs[n].Needed() })
		fmt.Fprintf(a.out, "  %s\n", a.again("run", append([]string{"--nats", at, ref}, strings.Fields(each(names, " %s=..."))...)...))
		fmt.Fprintf(a.out, "  nats --server %s --timeout 2m req %s.ask.%s.%s '{\"prompt\": %q, \"inputs\": {%s}}'\n", at, snap.Config().NATS.Space,
			profile.Backend, snap.Config().QueueNames()[0], ref, strings.TrimPrefix(each(names, ", %q: \"...\""), ", "))
	}
	for _, p := range snap.Pipelines() {
		ref := fmt.Sprintf("%s@%d", p.Name, p.Version)
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(p.Inputs)), func(n string) bool { return !p.Inputs[n].Needed() })
		fmt.Fprintf(a.out, "  %s\n", a.again("run", append([]string{"--nats", at, "--pipeline", ref, "document=@..."}, strings.Fields(each(names, " %s=..."))...)...))
	}
}

// judges says that a prompt is there to judge: it takes a candidate, and checks name it.
func judges(snap *prompts.Snapshot, p prompts.Prompt) bool {
	_, takes := p.Inputs["candidate"]
	_, named := snap.Judges()[fmt.Sprintf("%s@%d", p.ID, p.Version)]
	return takes && named
}

func each(names []string, format string) string {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, format, n)
	}
	return b.String()
}

// lookEvery is how often the working folder is looked at for saved files.
const lookEvery = 500 * time.Millisecond

// follow reloads when a file of the folder has changed.
func (a *app) follow(ctx context.Context, w *consumer.Worker, f natsFlags, dir string) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	seen := stamp(dir)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := stamp(dir)
		if now == seen {
			continue
		}
		seen = now
		a.swap(w, f, dir)
	}
}

func (a *app) swap(w *consumer.Worker, f natsFlags, dir string) {
	reloading.Lock()
	defer reloading.Unlock()
	snap, err := prompts.LoadDir(dir, f.option())
	if err == nil {
		err = swap(w, snap)
	}
	if err == nil {
		fmt.Fprintf(a.out, "reloaded %s\n", counted(len(snap.Prompts()), "prompt"))
		return
	}
	fmt.Fprintf(a.err, "%s\n%v\n", a.colour(red, "not reloaded, the old definitions stay:"), err)
}

// stamp changes when a definition is saved, made or removed.
func stamp(dir string) string {
	var latest time.Time
	n := 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		switch filepath.Ext(path) {
		case ".yaml", ".yml", ".json":
		default:
			return nil
		}
		if info, err := os.Stat(path); err == nil {
			n++
			if info.ModTime().After(latest) {
				latest = info.ModTime()
			}
		}
		return nil
	})
	return fmt.Sprint(n, latest.UnixNano())
}
