package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// load is what workers of Emend are put to.
type load struct {
	name string
	// workers are processes; each has places at each of backends, whose model answers after delay.
	workers, backends, places int
	delay                     time.Duration
	// runs are measured, backlog more are queued behind them.
	runs, backlog, replicas int
	// model is the address of one that is there already; "" starts one. seen is called when all runs were seen under way.
	model string
	seen  func()
	// beside says that the bare loop is put to the same.
	beside bool
}

// moved is what a load came to.
type moved struct {
	Name string  `json:"name"`
	Rate float64 `json:"runs_per_s"`
	// RSS is the largest of a worker.
	RSS float64 `json:"rss_mib"`
	// Share is what the slowest backend had done, of an even share, when half of all was done.
	Share float64 `json:"least_share"`
	// Server is the CPU of the nats-server.
	Server float64 `json:"server_cpu_ms_per_run"`
	// CPU is that of all workers, their start in it.
	CPU float64 `json:"cpu_ms_per_run"`
}

// site is a bed with a model that takes its time, and the definitions of a load.
type site struct {
	*bed
	load
	space, dir string
	slow       *process
}

// open starts the model and makes the streams.
func (b *bed) open(l load) (*site, error) {
	s := &site{bed: b, load: l, space: "scale-" + l.name, dir: filepath.Join(b.dir, "scale-"+l.name)}
	var err error
	if s.load.model == "" {
		s.slow, s.load.model, err = b.slowModel(l)
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.define(s.load.model), s.run("streams", "apply")); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// slowModel starts a model that takes a load's time.
func (b *bed) slowModel(l load) (*process, string, error) {
	script := filepath.Join(b.dir, l.name+".yaml")
	text := fmt.Sprintf("default: {replies: [{delay: %s, json: {number: A-1043, total: 56.75, pad: %q}}]}\n", l.delay, strings.Repeat("x", 400))
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		return nil, "", err
	}
	return beginTelling(exec.Command(b.bin, "mock", "--listen", "127.0.0.1:0", "--script", script), "slow-model")
}

func (s *site) stop() error {
	if s.slow == nil {
		return nil
	}
	return s.slow.end()
}

func (s *site) close() error {
	up := strings.ToUpper(strings.ReplaceAll(s.space, "-", "_"))
	return errors.Join(s.stop(), s.drop(up+"_RUNS", up+"_RESULTS", up+"_EVENTS", up+"_DEAD", up+"_REVIEWS"))
}

func (s *site) command(args ...string) *exec.Cmd {
	return exec.Command(s.bin, append(args, "--dir", s.dir, "--nats", s.nats)...)
}

func (s *site) run(args ...string) error {
	if text, err := s.command(args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return nil
}

// define writes the definitions: a backend and a profile each.
func (s *site) define(url string) error {
	var backends, profiles strings.Builder
	for i := range s.backends {
		fmt.Fprintf(&backends, "  b%d: {dialect: openai, url: %q, permits: %d, admitted: %d, call_timeout: 10m}\n", i, url, s.places, s.places)
		fmt.Fprintf(&profiles, "  p%d: {backend: b%d, model: m}\n", i, i)
	}
	config := fmt.Sprintf("nats: {space: %s, replicas: %d, single_replica: %t}\nbackends:\n%squeues:\n  default: {in_flight: %d}\nprofiles:\n%s",
		s.space, max(s.replicas, 1), s.replicas <= 1, backends.String(), s.places*s.workers, profiles.String())
	files := definitionFiles()
	files["emend.yaml"], files["prompts/extract@1.yaml"] = config, strings.Replace(files["prompts/extract@1.yaml"], "profile: p\n", "profile: p0\n", 1)
	return writeFiles(s.dir, files)
}

// queue publishes n requests, to each backend in turn.
func (s *site) queue(n int) error {
	for i := range n {
		b := i % s.backends
		body := fmt.Appendf(nil, `{"prompt":"extract","profile":"p%d","inputs":{"document":%q}}`, b, input)
		if _, err := s.js.PublishAsync(fmt.Sprintf("%s.run.b%d.default.b%d-%d", s.space, b, b, i), body); err != nil {
			return err
		}
		if i%1000 == 999 { // the client lets so many be without an answer
			<-s.js.PublishAsyncComplete()
		}
	}
	<-s.js.PublishAsyncComplete()
	return nil
}

// move measures a load.
func (b *bed) move(l load) (m moved, err error) {
	s, err := b.open(l)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.queue(l.runs + l.backlog); err != nil {
		return m, err
	}
	sub, err := s.results()
	if err != nil {
		return m, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	before, _ := b.used()
	workers, err := s.serve()
	if err == nil {
		m.Rate, m.Share, err = s.count(sub)
	}
	after, _ := b.used()
	m.Server = millis(after-before) / float64(l.runs)
	for _, p := range workers {
		err = errors.Join(err, p.end())
		if cpu, rss, e := p.used(); e == nil {
			m.RSS = max(m.RSS, rss)
			m.CPU += millis(cpu) / float64(l.runs)
		}
	}
	m.Name = l.name
	return m, err
}

// bare puts bare loops to a load.
func (b *bed) bare(l load) (m moved, err error) {
	slow, model, err := b.slowModel(l)
	if err != nil {
		return m, err
	}
	own := *b
	own.model = model
	w := bareWorker()
	w.many = l.workers
	if err := errors.Join(w.prepare(&own, 0), own.publish(w, l.runs+l.backlog)); err != nil {
		return m, errors.Join(err, slow.end())
	}
	f, err := own.throughput(w, l.runs, l.runs/10)
	return moved{Name: "bare-" + l.name, Rate: f.Rate, RSS: f.RSS, Share: 1, Server: f.Server, CPU: f.CPU}, errors.Join(err, own.drop(w.streams()...), slow.end())
}

func (s *site) results() (*nats.Subscription, error) {
	sub, err := s.nc.SubscribeSync(s.space + ".result.default.*")
	if err != nil {
		return nil, err
	}
	return sub, errors.Join(sub.SetPendingLimits(-1, -1), s.nc.Flush())
}

func (s *site) serve(more ...string) (all []*process, err error) {
	for i := range s.workers {
		p, err := begin(s.command(append([]string{"serve", "--log-level", "warn"}, more...)...), fmt.Sprintf("worker-%d", i))
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

// count takes the results of the measured runs. The rate is that of all but the first tenth, in which the workers start.
func (s *site) count(sub *nats.Subscription) (rate, share float64, err error) {
	done := make([]int, s.backends)
	var from time.Time
	skipped := s.runs / 10
	for i := range s.runs {
		m, err := sub.NextMsg(2*time.Minute + s.delay)
		if err != nil {
			return 0, 0, fmt.Errorf("result %d of %d: %w", i+1, s.runs, err)
		}
		var b int
		if _, err := fmt.Sscanf(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], "b%d-", &b); err != nil || b >= s.backends {
			return 0, 0, fmt.Errorf("a result on %s", m.Subject)
		}
		done[b]++
		switch i + 1 {
		case skipped + 1:
			from = time.Now()
		case s.runs / 2:
			share = leastShare(done)
		}
	}
	return float64(s.runs-skipped-1) / time.Since(from).Seconds(), share, nil
}

// leastShare is the smallest count as a part of an even share.
func leastShare(done []int) float64 {
	all, least := 0, done[0]
	for _, n := range done {
		all, least = all+n, min(least, n)
	}
	return float64(least) * float64(len(done)) / float64(all)
}
