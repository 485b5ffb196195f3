package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/internal/web"
)

// pageFlags say who may do what on the page, and under which names it answers.
type pageFlags struct {
	tokenFile string
	content   bool
	hosts     []string
	// token is what the file held, or was minted.
	token string
}

func (f *pageFlags) register(c *cobra.Command, prefix string) {
	c.Flags().StringVar(&f.tokenFile, prefix+"token-file", "", "a `FILE` with the token that permits more than reading")
	c.Flags().BoolVar(&f.content, prefix+"content", false, "show requests, answers and candidates to who holds the token")
	c.Flags().StringSliceVar(&f.hosts, prefix+"host", nil, "a host `NAME` under which the page may be asked for, such as that of a proxy")
}

// minToken is the least length of a token, in bytes: one that is shorter can be guessed.
const minToken = 16

// load reads the token's file.
func (f *pageFlags) load() error {
	if f.tokenFile == "" {
		if f.content && f.token == "" {
			return errors.New("content is shown to who holds a token only: give a token file as well")
		}
		return nil
	}
	b, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return fmt.Errorf("the page's token: %w", err)
	}
	f.token = string(bytes.TrimSpace(b))
	if len(f.token) < minToken {
		return fmt.Errorf("the page's token in %s has %d bytes; give at least %d, such as `openssl rand -hex 16` makes", f.tokenFile, len(f.token), minToken)
	}
	return nil
}

// page makes the page of a space over a client.
func (f *pageFlags) page(client *consumer.Client, space string) (*web.Page, func()) {
	console := consumer.NewConsole(client)
	p := web.New(console, web.Options{Token: f.token, Content: f.content, Hosts: f.hosts, Title: space})
	return p, func() { p.Close(); console.Close() }
}

// dashboard serves the page apart from any worker.
func (a *app) dashboard() *cobra.Command {
	var f natsFlags
	var p pageFlags
	var dir, listen string
	var readOnly bool
	c := &cobra.Command{Use: "dashboard", Short: "Serve the page: overview, runs, dead letters, reviews", Args: atMost(0),
		Long: "Serves the page of a space on this machine, with the rights of the NATS user that it connects as. The link that it prints\n" +
			"holds a token that permits to cancel, replay, purge and decide; without the token the page is read-only.",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := p.prepare(readOnly); err != nil {
				return err
			}
			return f.ask(c.Context(), asking{dir: dir, name: "dashboard", goOn: true}, func(ctx context.Context, client *consumer.Client) error {
				return a.showPage(ctx, client, &p, listen)
			})
		}}
	f.register(c)
	p.register(c, "")
	c.Flags().StringVar(&dir, "dir", ".", "the working `FOLDER`, for its emend.yaml")
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8322", "the `ADDRESS` to serve on; port 0 picks one")
	c.Flags().BoolVar(&readOnly, "read-only", false, "nobody may change anything")
	return c
}

// prepare reads or mints the token.
func (f *pageFlags) prepare(readOnly bool) error {
	switch {
	case readOnly && (f.content || f.tokenFile != ""):
		return errors.New("--read-only goes with neither --content nor --token-file: what they permit needs a token")
	case !readOnly && f.tokenFile == "":
		f.token = rand.Text()
	}
	return f.load()
}

func (a *app) showPage(ctx context.Context, client *consumer.Client, f *pageFlags, addr string) error {
	l, err := listen(ctx, "--listen", addr)
	if err != nil {
		return err
	}
	page, end := f.page(client, client.Space())
	defer end()
	server := &http.Server{Handler: page, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { end(); _ = server.Close() })
	defer stop()
	fmt.Fprintf(a.out, "the page of space %s: %s\n", client.Space(), f.link(l.Addr().String()))
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return failed(err)
	}
	return nil
}

// link is where the page is, with a token that was minted: a browser keeps what follows the # to itself.
func (f *pageFlags) link(addr string) string {
	if f.token == "" || f.tokenFile != "" {
		return "http://" + addr + "/"
	}
	return "http://" + addr + "/#token=" + f.token
}
