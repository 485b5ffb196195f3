package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"emend/consumer"
	"emend/prompts"
	"emend/subjects"
)

// lookForCatalog is how often a worker without a catalog looks for the first.
const lookForCatalog = 2 * time.Second

// workOnCatalogs is the life of a worker that takes its definitions from the space's catalogs: it waits for the first, and
// follows each that is applied. NATS is where flags and environment say.
func (a *app) workOnCatalogs(ctx context.Context, f natsFlags, o serveOptions, ready func(url string, w *consumer.Worker)) error {
	cfg := f.over(prompts.NATS{})
	log, err := a.logger(o.log(prompts.Log{}), o.level)
	if err != nil {
		return err
	}
	if o.watch, err = newWatcher(ctx, o); err != nil {
		return err
	}
	defer o.watch.serve(log)()
	nc, at, stop, err := a.link(ctx, cfg, o, log)
	if err != nil {
		return err
	}
	defer stop()
	names, err := subjects.New(cfg.Space)
	if err != nil {
		return err
	}
	js, err := consumer.JetStream(nc, cfg)
	if err != nil {
		return err
	}
	open := func(ctx context.Context) (*consumer.Catalogs, error) {
		return consumer.OpenCatalogs(ctx, js, names, false, 0)
	}
	catalogs, first, err := awaitCatalog(ctx, open, log)
	if err != nil || catalogs == nil {
		return err
	}
	snap, err := f.load(first)
	if err != nil {
		return failed(fmt.Errorf("catalog %d: %w", first.Number, err))
	}
	warnOfKeys(ctx, snap, log)
	following, enough := context.WithCancel(ctx)
	defer enough()
	return a.serveOn(ctx, o, snap, log, nc, func(w *consumer.Worker) func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			follow(following, catalogs, first.Number, log, func(c consumer.Catalog) {
				_ = reload(w, log, c.Number, func() (*prompts.Snapshot, error) { return f.load(c) })
			})
		}()
		return func() { enough(); <-done }
	}, func(w *consumer.Worker) {
		if ready != nil {
			ready(at, w)
		}
	})
}

// follow keeps watching, whatever the server does.
func follow(ctx context.Context, catalogs *consumer.Catalogs, after int, log zerolog.Logger, do func(consumer.Catalog)) {
	for ctx.Err() == nil {
		err := catalogs.Follow(ctx, after, func(c consumer.Catalog) {
			after = c.Number
			do(c)
		})
		if err != nil {
			log.Warn().Err(err).Msg("the catalogs cannot be followed; trying again")
			pause(ctx, lookForCatalog)
		}
	}
}

// awaitCatalog returns the newest catalog, waiting for the first; nil when ctx is done before there is one.
func awaitCatalog(ctx context.Context, open func(context.Context) (*consumer.Catalogs, error), log zerolog.Logger) (*consumer.Catalogs, consumer.Catalog, error) {
	for said := false; ; said = true {
		catalogs, err := open(ctx)
		var newest consumer.Catalog
		if err == nil {
			newest, err = catalogs.Latest(ctx)
		}
		switch {
		case err == nil:
			return catalogs, newest, nil
		case ctx.Err() != nil:
			return nil, newest, nil
		case !errors.Is(err, consumer.ErrNoCatalog):
			return nil, newest, failed(err)
		case !said:
			log.Info().Msg(err.Error() + "; waiting for the first")
		}
		pause(ctx, lookForCatalog)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// load reads the definitions of a catalog; flags and environment still say where NATS is.
func (f *natsFlags) load(c consumer.Catalog) (*prompts.Snapshot, error) {
	files, err := prompts.Unpack(c.Packed)
	if err != nil {
		return nil, err
	}
	return prompts.LoadFS(files, f.option(), prompts.WithCatalog(c.Number))
}
