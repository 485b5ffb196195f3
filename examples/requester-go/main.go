// Command requester-go publishes a few runs and collects their results, with nothing but nats.go: a requester needs no code of
// Emend's. NATS_URL, EMEND_BACKEND and EMEND_PROMPT say where and what.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	if err := request(cmp.Or(os.Getenv("NATS_URL"), nats.DefaultURL), cmp.Or(os.Getenv("EMEND_BACKEND"), "scripted"), cmp.Or(os.Getenv("EMEND_PROMPT"), "total@1"), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// result is what this program reads of one.
type result struct {
	ID     string          `json:"id"`
	Status string          `json:"status"`
	Output json.RawMessage `json:"output"`
	Error  struct {
		Category string `json:"category"`
		Message  string `json:"message"`
	} `json:"error"`
}

// request runs the prompt over every document. An id that is derived from the work makes a second start of this program
// harmless: a run that is queued is refused by the server, one that has ended gives its stored result and costs nothing.
func request(url, backend, prompt string, documents []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	nc, err := nats.Connect(url, nats.Name("requester-go"))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	inbox := nc.NewInbox()
	replies, err := nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	for i, document := range documents {
		body, err := json.Marshal(map[string]any{"prompt": prompt, "inputs": map[string]string{"document": document}})
		if err != nil {
			return err
		}
		m := nats.NewMsg(fmt.Sprintf("emend.run.%s.default.invoice-%d", backend, i))
		m.Data, m.Header = body, nats.Header{"Emend-Reply-To": {inbox}}
		_, err = js.PublishMsg(ctx, m) // returns when the run is stored
		var api *jetstream.APIError
		if errors.As(err, &api) && strings.Contains(api.Description, "per subject") {
			fmt.Printf("invoice-%d is queued already\n", i)
		} else if err != nil {
			return fmt.Errorf("publish invoice-%d: %w", i, err)
		}
	}
	for range documents {
		m, err := replies.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("wait for a result: %w", err)
		}
		var r result
		if err := json.Unmarshal(m.Data, &r); err != nil {
			return err
		}
		switch r.Status {
		case "succeeded", "unverified", "invalid", "rejected":
			fmt.Printf("%s %s %s\n", r.ID, r.Status, r.Output)
		default:
			fmt.Printf("%s %s %s: %s\n", r.ID, r.Status, r.Error.Category, r.Error.Message)
		}
	}
	return nil
}
