package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"emend/internal/devnats"
)

// clusterSize is how many servers a cluster has, and how many replicas its streams.
const clusterSize = 3

// serveCluster runs three servers in one process until it is told to stop.
func serveCluster() error {
	stop := stopped()
	ports, err := freePorts(clusterSize)
	if err != nil {
		return err
	}
	var routes []*url.URL
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var nodes []*devnats.Server
	defer func() {
		for _, n := range nodes {
			n.Stop()
		}
	}()
	for i, port := range ports {
		n, err := devnats.Start(devnats.Options{Configure: func(o *server.Options) {
			o.ServerName, o.Routes = fmt.Sprintf("n%d", i), routes
			o.Cluster = server.ClusterOpts{Name: "bench", Host: "127.0.0.1", Port: port, NoAdvertise: true}
		}})
		if err != nil {
			return err
		}
		nodes = append(nodes, n)
	}
	if err := led(nodes, time.Minute); err != nil {
		return err
	}
	fmt.Println(nodes[0].URL())
	<-stop
	return nil
}

// led waits until one of the servers leads JetStream.
func led(nodes []*devnats.Server, within time.Duration) error {
	for until := time.Now().Add(within); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		for _, n := range nodes {
			if n.Server().JetStreamIsLeader() {
				return nil
			}
		}
	}
	return errors.New("the cluster has no leader")
}

func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
