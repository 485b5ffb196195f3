package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Names of the bare loop.
const (
	bareStream  = "BARE"
	bareResults = "BARE_RESULTS"
)

// bare is the least a worker can do: pull, POST, publish with dedupe id and awaited PubAck, ack.
func bare(url, model string) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := js.CreateOrUpdateConsumer(ctx, bareStream, jetstream.ConsumerConfig{Durable: "bare", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: concurrency * *sharing})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: concurrency}}
	work := make(chan jetstream.Msg)
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for m := range work {
				if err := one(ctx, js, client, model, m); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "bare:", err)
				}
			}
		})
	}
	consuming, err := c.Consume(func(m jetstream.Msg) { work <- m }, jetstream.PullMaxMessages(concurrency))
	if err != nil {
		return err
	}
	<-ctx.Done()
	consuming.Stop()
	<-consuming.Closed()
	close(work)
	workers.Wait()
	return nil
}

func one(ctx context.Context, js jetstream.JetStream, client *http.Client, model string, m jetstream.Msg) error {
	body := fmt.Appendf(nil, `{"model":"m","messages":[{"role":"system","content":"You extract invoice data. Answer with JSON only."},{"role":"user","content":%q}]}`, m.Data())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, model+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return err
	}
	id := strings.TrimPrefix(m.Subject(), "bare.run.")
	if _, err := js.Publish(ctx, "bare.result."+id, answer, jetstream.WithMsgID(id)); err != nil {
		return err
	}
	return m.Ack()
}
