package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/engine/rehearse"
	"emend/prompts"
	"emend/subjects"
)

// apply stores a folder's definitions as the next catalog of the space.
func (a *app) apply() *cobra.Command {
	var f natsFlags
	var skip bool
	c := &cobra.Command{Use: "apply [DIR]", Short: "Store a folder's definitions as a numbered catalog that all workers follow", Args: atMost(1),
		Long: "Checks the folder and plays its prompts' tests, and stores exactly the files that its definitions are made of. Workers that `serve --catalog` take it up for runs that\n" +
			"start from then on. A folder with faults, or with tests that fail, is refused. Keys are not in a catalog: they stay in the workers' environment and files.",
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return a.applyDir(c.Context(), f, dir, skip)
		}}
	f.register(c)
	c.Flags().BoolVar(&skip, "skip-tests", false, "store it without playing the tests")
	return c
}

func (a *app) applyDir(ctx context.Context, f natsFlags, dir string, skip bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	snap, packed, err := prompts.Pack(root.FS(), f.option())
	if err != nil {
		return err
	}
	if !skip {
		if err := a.testsPass(ctx, snap, dir); err != nil {
			return err
		}
	}
	ctx, cancel := within(ctx, askWithin)
	defer cancel()
	return f.catalogs(ctx, snap.Config().NATS, true, func(catalogs *consumer.Catalogs) error {
		newest, err := catalogs.Latest(ctx)
		if err != nil && !errors.Is(err, consumer.ErrNoCatalog) {
			return failed(err)
		}
		number, changed, err := catalogs.Apply(ctx, packed, newest.Number)
		if err != nil {
			return failed(err)
		}
		return a.printApplied(number, changed, len(packed), snap)
	})
}

// testsPass shows the tests that fail, and is an error then; what passes is not worth a line.
func (a *app) testsPass(ctx context.Context, snap *prompts.Snapshot, dir string) error {
	played, err := rehearse.Tests(ctx, snap)
	if err != nil {
		return err
	}
	bad := 0
	for _, o := range played {
		if o.OK {
			continue
		}
		bad++
		if !a.json {
			a.showTest(o, false)
		}
	}
	if bad > 0 {
		return fmt.Errorf("nothing is stored: %d of %d tests fail (%s shows them); --skip-tests stores it all the same", bad, len(played), a.again("prompts test", "--dir", dir))
	}
	return nil
}

func (a *app) printApplied(number int, changed bool, size int, snap *prompts.Snapshot) error {
	switch {
	case a.json:
		return a.printJSON(map[string]any{"catalog": number, "changed": changed, "bytes": size, "prompts": len(snap.Prompts())})
	case !changed:
		fmt.Fprintf(a.out, "catalog %d holds this already\n", number)
	default:
		fmt.Fprintf(a.out, "catalog %d: %s, %d bytes\n", number, counted(len(snap.Prompts()), "prompt"), size)
	}
	return nil
}

// catalogs opens the space's catalogs on a connection of its own.
func (f *natsFlags) catalogs(ctx context.Context, cfg prompts.NATS, create bool, do func(*consumer.Catalogs) error) error {
	cfg = f.over(cfg)
	nc, err := connect(cfg, "catalog", false)
	if err != nil {
		return err
	}
	defer nc.Close()
	names, err := subjects.New(cfg.Space)
	if err != nil {
		return err
	}
	js, err := consumer.JetStream(nc, cfg)
	if err != nil {
		return err
	}
	catalogs, err := consumer.OpenCatalogs(ctx, js, names, create, cfg.Replicas)
	if err != nil {
		return failed(err)
	}
	return do(catalogs)
}

// catalogCmd looks at what was applied.
func (a *app) catalogCmd() *cobra.Command {
	c := &cobra.Command{Use: "catalog", Short: "Look at the applied catalogs"}
	c.AddCommand(a.catalogLs(), a.catalogGet())
	return c
}

func (a *app) catalogLs() *cobra.Command {
	var f natsFlags
	c := &cobra.Command{Use: "ls", Short: "List the kept catalogs, oldest first", Args: atMost(0), RunE: func(c *cobra.Command, _ []string) error {
		ctx, cancel := within(c.Context(), askWithin)
		defer cancel()
		return f.catalogs(ctx, prompts.NATS{}, false, func(catalogs *consumer.Catalogs) error {
			list, err := catalogs.List(ctx)
			if err != nil {
				return failed(err)
			}
			return a.printCatalogs(list)
		})
	}}
	f.register(c)
	return c
}

func (a *app) printCatalogs(list []consumer.Catalog) error {
	if a.json {
		return a.printJSON(list)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CATALOG\tAPPLIED\tBYTES")
	for _, c := range list {
		fmt.Fprintf(w, "%d\t%s\t%d\n", c.Number, c.At.Local().Format(time.DateTime), len(c.Packed))
	}
	return w.Flush()
}

func (a *app) catalogGet() *cobra.Command {
	var f natsFlags
	var number int
	var out string
	c := &cobra.Command{Use: "get", Short: "Write a catalog's files into a folder: to look at, or to apply again", Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if out == "" {
				return errors.New("give -o FOLDER: where the files go")
			}
			ctx, cancel := within(c.Context(), askWithin)
			defer cancel()
			return f.catalogs(ctx, prompts.NATS{}, false, func(catalogs *consumer.Catalogs) error {
				found, err := catalogs.Latest(ctx)
				if number > 0 {
					found, err = catalogs.Get(ctx, number)
				}
				if err != nil {
					return failed(err)
				}
				return a.unpack(found, out)
			})
		}}
	f.register(c)
	c.Flags().IntVar(&number, "number", 0, "the catalog's `NUMBER` (default: the newest)")
	c.Flags().StringVarP(&out, "output", "o", "", "a `FOLDER` that is new or empty")
	return c
}

func (a *app) unpack(c consumer.Catalog, dir string) error {
	files, err := prompts.Unpack(c.Packed)
	if err != nil {
		return failed(err)
	}
	if there, err := os.ReadDir(dir); err == nil && len(there) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	}
	if err := os.CopyFS(filepath.Clean(dir), files); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "catalog %d is in %s\n", c.Number, dir)
	return nil
}
