// Command worker-go is a worker whose model is Go code: anything that can answer a conversation, behind the same queue, contract,
// repair and events as a provider. Here it is a function that counts words, wrongly at first.
package main

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"emend/consumer"
	"emend/engine"
	"emend/prompts"
)

//go:embed all:definitions
var embedded embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := work(ctx, cmp.Or(os.Getenv("NATS_URL"), nats.DefaultURL)); err != nil {
		log.Fatal(err)
	}
}

// counter is the model. The engine calls it once for each generation, concurrently, and owns repair; what it retries inside is
// its own matter.
type counter struct{}

// Generate answers the conversation's latest turn.
func (counter) Generate(_ context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
	text := r.Messages[1].Content // the prompt's user message stays first, whatever corrections follow
	if len(r.Messages) == 2 {
		return &engine.GenerateResponse{Text: fmt.Sprintf(`{"words": "%d"}`, len(strings.Fields(text)))}, nil // a string: against the schema
	}
	return &engine.GenerateResponse{Text: fmt.Sprintf(`{"words": %d}`, len(strings.Fields(text)))}, nil
}

// work serves until it is told to stop, and drains.
func work(ctx context.Context, url string) error {
	files, err := fs.Sub(embedded, "definitions")
	if err != nil {
		return err
	}
	snapshot, err := prompts.LoadFS(files)
	if err != nil {
		return err
	}
	eng, err := engine.New(snapshot, engine.WithLLMClient(counter{}), engine.WithTrouble())
	if err != nil {
		return err
	}
	defer eng.Close()
	nc, err := nats.Connect(url, nats.Name("worker-go"), nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer nc.Close()
	w, err := consumer.NewWorker(nc, eng, consumer.Options{Log: zerolog.New(os.Stderr), Ready: func() { fmt.Println("serving") }})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}
