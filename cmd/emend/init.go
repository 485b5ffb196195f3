package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// starter is the working folder that init writes.
//
//go:embed all:starter
var starter embed.FS

// initCmd writes a working folder.
func (a *app) initCmd() *cobra.Command {
	return &cobra.Command{Use: "init DIR", Short: "Write a working folder: emend.yaml, a prompt, its schema, a sample, a scripted model", Args: exactly("the folder to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := writeStarter(args[0]); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"dir": args[0]})
			}
			fmt.Fprintf(a.out, "%s is ready. It runs on a scripted model until you name a real one in emend.yaml:\n"+
				"  cd %s\n  emend check\n  emend try extract-invoice document=@sample.txt\n  emend dev\n", args[0], args[0])
			return nil
		}}
}

// writeStarter copies the folder and overwrites nothing.
func writeStarter(dir string) error {
	return fs.WalkDir(starter, "starter", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("starter", path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		b, err := starter.ReadFile(path)
		if err != nil {
			return err
		}
		return writeNew(to, b)
	})
}

func writeNew(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; emend init overwrites nothing", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}
