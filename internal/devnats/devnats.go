// Package devnats runs a nats-server with JetStream inside the process: for `emend dev`, `emend demo`, `emend serve
// --embedded` and tests.
package devnats

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Options of an embedded server.
type Options struct {
	// StoreDir keeps the streams; "" makes a temporary folder that Stop removes.
	StoreDir string
	// Port on 127.0.0.1; 0 picks a free one. Ignored with NoListen.
	Port int
	// NoListen opens no port: only Connect reaches the server. It works inside a testing/synctest bubble, if the server's
	// clock of file accesses (package ats) is registered outside of it.
	NoListen bool
	// MaxPayload in bytes; 0 is the server's default of 1 MiB.
	MaxPayload int32
	// Configure changes the server's options last, for clusters and accounts in tests; nil changes nothing.
	Configure func(*server.Options)
}

// Server is a running embedded nats-server.
type Server struct {
	ns   *server.Server
	temp string
}

// readyWithin bounds the start of the server.
const readyWithin = 20 * time.Second

// Start starts a server and waits until it accepts connections.
func Start(o Options) (*Server, error) {
	if err := portFree(o); err != nil {
		return nil, err
	}
	s := &Server{}
	dir := o.StoreDir
	if dir == "" {
		temp, err := os.MkdirTemp("", "emend-nats-")
		if err != nil {
			return nil, fmt.Errorf("embedded nats-server: %w", err)
		}
		dir, s.temp = temp, temp
	}
	ns, err := server.NewServer(options(o, dir))
	if err != nil {
		s.removeTemp()
		return nil, fmt.Errorf("embedded nats-server: %w", err)
	}
	s.ns = ns
	ns.Start()
	if !ns.ReadyForConnections(readyWithin) {
		s.Stop()
		return nil, errors.New("embedded nats-server: not ready within " + readyWithin.String() + "; is the port or the store folder in use?")
	}
	return s, nil
}

// portFree finds out at once what the server would only tell by never getting ready.
func portFree(o Options) error {
	if o.NoListen || o.Port == 0 {
		return nil
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.Port))
	if err != nil {
		return fmt.Errorf("embedded nats-server: 127.0.0.1:%d is not free; stop what listens there, or choose another with --port: %w", o.Port, err)
	}
	return l.Close()
}

// nominalStore is the space that streams may reserve, not what is there.
const nominalStore = 1 << 50

func options(o Options, dir string) *server.Options {
	opts := &server.Options{ServerName: "emend-embedded", Host: "127.0.0.1", Port: o.Port, JetStream: true, StoreDir: dir,
		NoLog: true, NoSigs: true, DontListen: o.NoListen, MaxPayload: o.MaxPayload, NoSystemAccount: false}
	// The streams reserve what keep allows them (50 GiB of queued requests by default); a laptop need not have it free.
	opts.JetStreamMaxStore = nominalStore
	if o.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	if o.Configure != nil {
		o.Configure(opts)
	}
	return opts
}

// URL is where clients connect; "" with NoListen.
func (s *Server) URL() string { return s.ns.ClientURL() }

// Connect opens a connection inside the process, without a socket.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append([]nats.Option{nats.InProcessServer(s.ns)}, opts...)...)
}

// Server is the server itself, for tests that do it harm.
func (s *Server) Server() *server.Server { return s.ns }

// Stop shuts the server down and removes a temporary store. It may be called more than once.
func (s *Server) Stop() {
	if s.ns != nil {
		s.ns.Shutdown()
		s.ns.WaitForShutdown()
	}
	s.removeTemp()
}

func (s *Server) removeTemp() {
	if s.temp != "" {
		os.RemoveAll(s.temp)
	}
}
