// Command worker-go is a worker whose model is Go code: anything that can answer a conversation, behind the same queue, contract,
// repair and events as a provider. Here it is a function that counts words, wrongly at first; a validator in Go counts them again.
package main

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
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

// Generate answers the conversation: first with a text in place of a number, which the schema refuses; when that is mended, with one
// too many, which the validator rejects; and once it is told so, with the right number.
func (counter) Generate(_ context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
	words := count(r.Messages[1].Content) // the prompt's user message stays first, whatever corrections follow
	switch last := r.Messages[len(r.Messages)-1].Content; {
	case len(r.Messages) == 2:
		return &engine.GenerateResponse{Text: fmt.Sprintf(`{"words": "%d"}`, words)}, nil
	case !strings.Contains(last, miscounted):
		words++
	}
	return &engine.GenerateResponse{Text: fmt.Sprintf(`{"words": %d}`, words)}, nil
}

func count(text string) int { return len(strings.Fields(text)) }

// miscounted is the code of a rejection.
const miscounted = "miscounted"

// recount is what the prompt's checks name as go: recount. It judges every answer that the schema accepts; its reason is what the
// model is told, out of the prompt's retries.
func recount(_ context.Context, c engine.CandidateView) (engine.Vote, error) {
	var answer struct{ Words int }
	if err := json.Unmarshal(c.Value, &answer); err != nil {
		return engine.Vote{}, err // no decision
	}
	if want := count(c.Messages[1].Content); answer.Words != want {
		return engine.Vote{Reject: []engine.Reason{{Code: miscounted, Guidance: fmt.Sprintf("The text has %d words.", want)}}}, nil
	}
	return engine.Vote{}, nil
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
	logger := zerolog.New(os.Stderr)
	eng, err := engine.New(snapshot, engine.WithLLMClient(counter{}), engine.WithTrouble(),
		engine.WithValidators(engine.Validator{Name: "recount", Validate: recount}),
		engine.WithValidatorFailures(func(_ context.Context, validator string, err error) {
			logger.Error().Str("validator", validator).Err(err).Msg("a validator came to no decision")
		}))
	if err != nil {
		return err
	}
	defer eng.Close()
	nc, err := nats.Connect(url, nats.Name("worker-go"), nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer nc.Close()
	w, err := consumer.NewWorker(nc, eng, consumer.Options{Log: logger, Ready: func() { fmt.Println("serving") }})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}
