package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/engine"
	"emend/prompts"
)

// reloadCmd has all workers read their definitions again.
func (a *app) reloadCmd() *cobra.Command {
	var f natsFlags
	var dir string
	c := &cobra.Command{Use: "reload", Short: "Have all workers read their definitions again", Args: atMost(0),
		Long: "What SIGHUP does to one worker, for all of a space: each reads its folder again and takes the definitions over whole, or\n" +
			"refuses them and keeps the old ones. Runs under way keep theirs.",
		RunE: func(c *cobra.Command, _ []string) error {
			return f.ask(c.Context(), asking{dir: dir, name: "reload"}, func(ctx context.Context, client *consumer.Client) error {
				told, err := client.Reload(ctx)
				return a.printReloaded(told, err)
			})
		}}
	f.register(c)
	c.Flags().StringVar(&dir, "dir", ".", "the working `FOLDER`, for its emend.yaml")
	return c
}

// printReloaded exits 1 unless every worker has taken the definitions over.
func (a *app) printReloaded(told []consumer.Reloaded, err error) error {
	if a.json {
		if jerr := a.printJSON(map[string]any{"workers": told}); jerr != nil {
			return jerr
		}
	}
	refused := 0
	for _, r := range told {
		text := a.colour(green, "reloaded, "+counted(r.Prompts, "prompt"))
		if r.Error != "" {
			refused++
			text = a.colour(red, "refused, the old definitions stay: "+r.Error)
		}
		if !a.json {
			fmt.Fprintf(a.out, "%s %s\n", a.colour(bold, r.Worker), text)
		}
	}
	switch {
	case err != nil:
		return failed(err)
	case len(told) == 0:
		return failed(errors.New("no worker answers"))
	case refused > 0:
		return failed(fmt.Errorf("%d of %d workers refused", refused, len(told)))
	}
	return nil
}

// reloading serialises reloads of one worker, from a signal and from NATS.
var reloading sync.Mutex

// reload swaps the definitions, those of a catalog or, for 0, of a folder; a bad set is refused and the old stays.
func reload(w *consumer.Worker, log zerolog.Logger, catalog int, load func() (*prompts.Snapshot, error)) error {
	reloading.Lock()
	defer reloading.Unlock()
	snap, err := load()
	if err == nil {
		err = swap(w, snap)
	}
	if err != nil {
		w.Refused(catalog, err)
		log.Error().Err(err).Msg("the new definitions are refused; the old stay")
		return err
	}
	log.Info().Int("prompts", len(snap.Prompts())).Int("catalog", snap.Config().Catalog).Msg("definitions reloaded")
	return nil
}

// swap gives a worker new definitions.
func swap(w *consumer.Worker, snap *prompts.Snapshot) error {
	old, now := w.Engine().Snapshot().Config().NATS, snap.Config().NATS
	if old.Space != now.Space || old.Domain != now.Domain {
		return errors.New("nats.space and nats.domain are another's: a worker takes them at its start only")
	}
	eng, err := engine.New(snap, engine.WithTrouble(), engine.WithGates(w.Engine()))
	if err != nil {
		return err
	}
	w.Reload(eng)
	prompts.Forget()
	return nil
}
