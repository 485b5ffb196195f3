package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"emend/engine/provider/scripted"
)

// mock is a server on loopback that speaks every provider's wire with scripted answers.
func (a *app) mock() *cobra.Command {
	var script, addr string
	c := &cobra.Command{Use: "mock", Short: "A server with scripted answers and faults that speaks every provider's wire", Args: atMost(0),
		Long: "Plays a script (docs/definitions.md, \"Scripts\") on the wires of OpenAI, Anthropic, Gemini and Ollama, and prints the url that a\n" +
			"backend of each dialect needs; without a script every answer is {\"ok\":true}. GET /stats counts the calls.", RunE: func(c *cobra.Command, _ []string) error {
			return a.runMock(c.Context(), script, addr)
		}}
	c.Flags().StringVar(&script, "script", "", "the script's `FILE`")
	c.Flags().StringVar(&addr, "listen", "127.0.0.1:8080", "the `ADDRESS`; port 0 picks one")
	return c
}

func (a *app) runMock(ctx context.Context, script, addr string) error {
	var text []byte
	if script != "" {
		b, err := os.ReadFile(script)
		if err != nil {
			return err
		}
		text = b
	}
	s, err := scripted.Parse(text)
	if err != nil {
		return errors.New(script + ": " + strings.ReplaceAll(err.Error(), "\n", "\n"+script+": ")) // each fault has its line
	}
	l, err := listen(ctx, "--listen", addr)
	if err != nil {
		return err
	}
	handler := s.Handler()
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	if err := a.printBases(scripted.Bases("http://" + l.Addr().String())); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return failed(err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		_ = srv.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return failed(err)
	}
	if a.json {
		return a.printJSON(handler.Stats())
	}
	return nil
}

// printBases tells where each dialect finds the mock: a line each, or one JSON object of urls by dialect.
func (a *app) printBases(bases []scripted.Base) error {
	if a.json {
		urls := map[string]string{}
		for _, b := range bases {
			urls[b.Dialect] = b.URL
		}
		return a.printJSON(urls)
	}
	for _, b := range bases {
		fmt.Fprintf(a.out, "%-10s %s\n", b.Dialect, b.URL)
	}
	return nil
}
