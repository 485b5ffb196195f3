package devnats

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func connected(t *testing.T, nc *nats.Conn, err error) *nats.Conn {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// TestBothWaysIn: a socket on the loopback alone, and a connection inside the process, reach the same server.
func TestBothWaysIn(t *testing.T) {
	s := start(t, Options{MaxPayload: 4096})
	if !strings.HasPrefix(s.URL(), "nats://127.0.0.1:") {
		t.Errorf("clients connect to %q", s.URL())
	}
	nc, err := nats.Connect(s.URL())
	outside := connected(t, nc, err)
	nc, err = s.Connect(nats.Name("inside"))
	inside := connected(t, nc, err)
	if inside.MaxPayload() != 4096 || outside.ConnectedServerId() != inside.ConnectedServerId() || s.Server().ID() != inside.ConnectedServerId() {
		t.Errorf("max_payload %d, servers %s and %s", inside.MaxPayload(), outside.ConnectedServerId(), inside.ConnectedServerId())
	}
}

func TestNoListenOpensNoPort(t *testing.T) {
	s := start(t, Options{NoListen: true})
	nc, err := s.Connect()
	if _, err := connected(t, nc, err).RTT(); err != nil || s.Server().Addr() != nil {
		t.Errorf("%v, listens on %v", err, s.Server().Addr())
	}
}

// TestStoreStays: a store folder of one's own outlives the server, a temporary one does not; Stop may be called twice.
func TestStoreStays(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []uint64{1, 2} {
		s := start(t, Options{NoListen: true, StoreDir: dir})
		nc, err := s.Connect()
		js, err2 := jetstream.New(connected(t, nc, err))
		if err2 != nil {
			t.Fatal(err2)
		}
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}, MaxBytes: 50 << 30}); err != nil {
			t.Fatal(err)
		}
		if ack, err := js.Publish(t.Context(), "kept", nil); err != nil || ack.Sequence != want {
			t.Errorf("stored at %v, %v", ack, err)
		}
		s.Stop()
		s.Stop()
	}
	s := start(t, Options{NoListen: true})
	if _, err := os.Stat(s.temp); err != nil {
		t.Error(err)
	}
	s.Stop()
	if _, err := os.Stat(s.temp); !os.IsNotExist(err) {
		t.Errorf("the temporary store is left: %v", err)
	}
}

// TestBadOptions: what the server refuses is an error at once, and leaves no folder.
func TestBadOptions(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if s, err := Start(Options{Configure: func(o *server.Options) { o.Cluster.Name, o.ServerName = "has space", "has space" }}); err == nil {
		s.Stop()
		t.Error("a name with a space was taken")
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestBusyPort: the error comes at once and says what to look at.
func TestBusyPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	s, err := Start(Options{Port: l.Addr().(*net.TCPAddr).Port})
	if err == nil {
		s.Stop()
		t.Fatal("started on a port in use")
	}
	if !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
}
