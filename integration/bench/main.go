// Command bench measures what Emend costs beside the least a worker can do: a bare loop that pulls, POSTs, publishes the
// answer with a dedupe id and an awaited PubAck, and acks. Both work off the same number of queued requests, in turn,
// on the same nats-server and the same model, each in a process of its own; CPU and memory are the kernel's figures of
// that process. Then both get one request at a time, in turn, which tells how long one takes alone. `make bench` runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

var (
	runs    = flag.Int("runs", 10000, "requests a measurement")
	pairs   = flag.Int("pairs", 5, "measurements of each, in turn")
	alone   = flag.Int("alone", 300, "requests that each gets one at a time")
	out     = flag.String("o", "build/bench.json", "where the figures go")
	profile = flag.String("profile", "", "a `FOLDER` for CPU and heap profiles; the figures are then not to be trusted")
	scaled  = flag.String("scale", "", "in place of the pairs: `CASES` of "+strings.Join(cases, ","))
	mode    = flag.String("mode", "", "internal: server, cluster or bare")
	addr    = flag.String("nats", "", "internal: server of the bare loop")
	model   = flag.String("model", "", "internal: model of the bare loop")
	sharing = flag.Int("sharing", 1, "internal: how many bare loops share the queue")
)

// concurrency of both workers.
const concurrency = 64

func main() {
	flag.Parse()
	var err error
	switch *mode {
	case "server":
		err = serveOne()
	case "cluster":
		err = serveCluster()
	case "bare":
		err = bare(*addr, *model)
	default:
		err = measureAll()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// stopped gets the signals that end a process.
func stopped() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c
}

func measureAll() error {
	if *scaled != "" {
		return scale(*scaled, *out)
	}
	return bench()
}

func bench() error {
	b, err := newBed(released)
	if err != nil {
		return err
	}
	defer b.close()
	r := report{Machine: machine(), At: time.Now().UTC().Truncate(time.Second)}
	fmt.Printf("%s\n%d runs of 0.5 KB a measurement, concurrency %d, instant model over loopback, schema verdict and all events on\n\n", r.Machine, *runs, concurrency)
	fmt.Println(heading)
	workers := []*worker{bareWorker(), emendWorker(b.dir)}
	for i := range *pairs {
		pair, err := b.pair(workers, i)
		if err != nil {
			return err
		}
		for j, w := range workers {
			fmt.Println(pair[j].row(w.name))
		}
		r.Bare, r.Emend = append(r.Bare, pair[0]), append(r.Emend, pair[1])
	}
	r.sum()
	fmt.Print(r.text())
	return r.write(*out)
}
