// Command requester-go publishes a few runs and collects their results, with nothing but nats.go: a requester needs no code of
// Emend's. NATS_URL, EMEND_BACKEND and EMEND_PROMPT say where and what.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
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
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: requester-go DOCUMENT...")
		os.Exit(2)
	}
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

// idOf is the id of a document's run, from its content: another document is another run.
func idOf(document string) string {
	return fmt.Sprintf("invoice-%x", sha256.Sum256([]byte(document)))[:20]
}

// request runs the prompt over every document, and fails if a run did. An id that is derived from the work makes a second start of this program
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
	sent := map[string]bool{}
	for _, document := range documents {
		id := idOf(document)
		if sent[id] {
			continue // the same document twice
		}
		sent[id] = true
		body, err := json.Marshal(map[string]any{"prompt": prompt, "inputs": map[string]string{"document": document}})
		if err != nil {
			return err
		}
		m := nats.NewMsg(fmt.Sprintf("emend.run.%s.default.%s", backend, id))
		m.Data, m.Header = body, nats.Header{"Emend-Reply-To": {inbox}}
		_, err = js.PublishMsg(ctx, m) // returns when the run is stored
		var api *jetstream.APIError
		if errors.As(err, &api) && strings.Contains(api.Description, "per subject") {
			fmt.Printf("%s is queued already\n", id)
			delete(sent, id) // whoever published it gets the result
		} else if err != nil {
			return fmt.Errorf("publish %s: %w", id, err)
		}
	}
	failures := 0
	for range sent {
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
			failures++
			fmt.Printf("%s %s %s: %s\n", r.ID, r.Status, r.Error.Category, r.Error.Message)
		}
	}
	if failures > 0 {
		return fmt.Errorf("%d of %d runs failed", failures, len(sent))
	}
	return nil
}
