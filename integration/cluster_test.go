package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/consumer"
	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// cluster is a site on three servers whose streams have three replicas.
type cluster struct {
	*site
	nodes []*devnats.Server
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	routes := freePorts(t, 3)
	c := &cluster{site: &site{T: t, mock: newMock(t), dir: t.TempDir(), log: &logs{}}}
	var others []*url.URL
	for _, port := range routes {
		others = append(others, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	for i, port := range routes {
		node, err := devnats.Start(devnats.Options{StoreDir: t.TempDir(), Configure: func(o *server.Options) {
			o.ServerName = fmt.Sprintf("n%d", i)
			o.Cluster = server.ClusterOpts{Name: "emend-test", Host: "127.0.0.1", Port: port, NoAdvertise: true}
			o.Routes = others
		}})
		c.must(err)
		t.Cleanup(node.Stop)
		c.nodes = append(c.nodes, node)
	}
	c.server = c.nodes[0]
	var err error
	c.names, err = subjects.New(subjects.DefaultSpace)
	c.must(err)
	c.write("emend.yaml", fmt.Sprintf(base, c.mock.http.URL+"/v1")+"nats: {replicas: 3}\nack_wait: 4s\n")
	for name, text := range files {
		c.write(name, text)
	}
	c.eventually("the cluster has a leader", func() bool {
		return c.nodes[0].Server().JetStreamIsLeader() || c.nodes[1].Server().JetStreamIsLeader() || c.nodes[2].Server().JetStreamIsLeader()
	})
	c.nc, c.js = c.dial()
	return c
}

// freePorts are ports of loopback that nobody listens on now, each given once: they lie below those that systems give to
// outgoing connections, one of which could take a port before its server does.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for tries := 0; len(ports) < n; tries++ {
		port := 12_000 + rand.N(20_000)
		if _, given := givenPorts.LoadOrStore(port, true); given {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			ports = append(ports, port)
			err = l.Close()
		}
		if err != nil && tries > 100 {
			t.Fatal(err)
		}
	}
	return ports
}

var givenPorts sync.Map

// dial connects to whichever node is there, and goes on to another when it leaves.
func (c *cluster) dial() (*nats.Conn, jetstream.JetStream) {
	c.Helper()
	var urls []string
	for _, n := range c.nodes {
		urls = append(urls, n.URL())
	}
	nc, err := nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	c.must(err)
	c.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	c.must(err)
	return nc, js
}

// stepDown makes another node lead a stream or consumer; nothing if there is no leader at the moment.
func (c *cluster) stepDown(what string) {
	_, _ = c.nc.Request("$JS.API."+what, nil, time.Second)
}

// Leaders step down under load, then a node dies: every run has one result, and none is lost.
func TestClusterUnderHarm(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for range 2 {
		nc, _ := c.dial()
		c.workerOn(nc)
	}
	const runs = 300
	published := make(chan error, 1)
	go func() { published <- c.publishAll(runs) }()
	n, d := c.names, c.names.Durable("mock", "default")
	for range 4 {
		for _, what := range []string{"STREAM.LEADER.STEPDOWN." + n.ResultsStream(), "STREAM.LEADER.STEPDOWN." + n.RunsStream(),
			"CONSUMER.LEADER.STEPDOWN." + n.RunsStream() + "." + d, "STREAM.LEADER.STEPDOWN.KV_" + n.StateBucket()} {
			c.stepDown(what)
		}
	}
	c.nodes[2].Stop()
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	c.eventually("every run has its result", func() bool { return c.holds(n.ResultsStream()) == runs })
	c.eventually("the queue is empty", func() bool { return c.holds(n.RunsStream()) == 0 })
	for i := range runs {
		id := fmt.Sprintf("c-%d", i)
		if r := c.settledResult(id); r.Status != schemas.StatusSucceeded {
			t.Errorf("run %s: %s %+v", id, r.Status, r.Error)
		}
	}
	if got := c.holds(n.DeadStream()); got != 0 {
		t.Errorf("%d dead letters", got)
	}
}

// holds is how many messages a stream has, -1 while it has no leader to tell.
func (c *cluster) holds(stream string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s, err := c.js.Stream(ctx, stream)
	if err != nil {
		return -1
	}
	return int(s.CachedInfo().State.Msgs)
}

// settledResult reads a stored result, again while there is no leader.
func (c *cluster) settledResult(id string) *schemas.Result {
	c.Helper()
	var data []byte
	c.eventually("the result of "+id+" can be read", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s, err := c.js.Stream(ctx, c.names.ResultsStream())
		if err != nil {
			return false
		}
		m, err := s.GetLastMsgForSubject(ctx, c.names.Result("default", id))
		if err == nil {
			data = m.Data
		}
		return err == nil
	})
	return c.decode(data)
}

// publishAll publishes runs with confirmation, again until each is stored: an id makes that safe.
func (c *cluster) publishAll(runs int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	for i := range runs {
		id, text := fmt.Sprintf("c-%d", i), []byte(body("rate", "fine"))
		for {
			_, err := c.client().Publish(ctx, "mock", c.key(id), text, "")
			if err == nil || errors.Is(err, consumer.ErrDuplicate) {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("publish %s: %w", id, err)
			}
		}
	}
	return nil
}

// TestWorkerPartitionedWhileItRuns: one of two workers of a cluster is cut off with calls open. The other takes its runs over
// when their leases are past; what it answers when it is back is superseded, and it sends neither nak nor term.
func TestWorkerPartitionedWhileItRuns(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	acks := c.watchAcks()
	d, nc, back := c.line()
	c.workerOn(nc)
	const runs = 8
	for i := range runs {
		c.publish(fmt.Sprint("c-", i), body("rate", fmt.Sprint(holdMark, i)))
	}
	for range runs {
		receive(c.site, "the first worker calls", c.mock.arrived)
	}
	other, _ := c.dial()
	c.workerOn(other)
	d.cut()
	for range runs {
		receive(c.site, "the second worker calls", c.mock.arrived)
	}
	d.mend()
	receive(c.site, "the first worker is back", back)
	c.mock.release()
	told := 0
	for i := range runs {
		r := c.settledResult(fmt.Sprint("c-", i))
		if r.Status != schemas.StatusSucceeded || r.Counts.Calls != 1 {
			t.Errorf("run %s: %s %+v, %+v", r.ID, r.Status, r.Error, r.Counts)
		}
		told += r.Counts.Calls + c.event(r.ID, schemas.EventSuperseded).Totals.Counts.Calls
	}
	if c.calls(2 * runs); told != 2*runs {
		t.Errorf("%d calls are told of %d", told, 2*runs)
	}
	c.eventually("the queue is empty", func() bool { return c.holds(c.names.RunsStream()) == 0 })
	acks.none(c.site, "-NAK")
	acks.none(c.site, "+TERM")
}
