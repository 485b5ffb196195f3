// Command engine-go is the engine alone, without NATS: one run in this process, its answer judged and mended. The definitions are
// part of the program; the model is a script, so that it runs anywhere.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"

	"emend/engine"
	"emend/engine/event"
	"emend/prompts"
)

//go:embed all:definitions
var embedded embed.FS

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: engine-go DOCUMENT")
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, document string) error {
	files, err := fs.Sub(embedded, "definitions")
	if err != nil {
		return err
	}
	snapshot, err := prompts.LoadFS(files)
	if err != nil {
		return err // every fault of the files, with file and line
	}
	eng, err := engine.New(snapshot)
	if err != nil {
		return err
	}
	defer eng.Close()
	res, err := eng.Run(ctx, engine.RunRequest{Prompt: "total", Inputs: map[string]any{"document": document},
		Observer: event.Func(func(_ context.Context, e event.Event) { fmt.Fprintf(os.Stderr, "%T\n", e) })})
	if gen, ok := errors.AsType[*engine.GenerationError](err); ok {
		return fmt.Errorf("the model gave no answer after %d attempts: %w", gen.Attempts, err)
	}
	if err != nil {
		return err
	}
	// An answer that stays invalid is a result as well: look at the status before the output.
	fmt.Printf("%s %s (%d calls)\n", res.Status, res.RawOutput, res.Counts.Calls)
	return nil
}
