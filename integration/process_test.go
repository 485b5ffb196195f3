package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// program builds emend once, for the tests that do harm to real processes. TestMain removes it.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "emend-program-")
	if err != nil {
		return "", err
	}
	programDir = dir
	path := filepath.Join(dir, "emend")
	if out, err := exec.Command("go", "build", "-o", path, "emend/cmd/emend").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// programDir holds what program built; "" while it was not asked.
var programDir string

// keyed gives backend mock a credential that tells the mock which process calls.
const (
	unkeyed = "permits: 16, admitted: 32, call_timeout: 60s}\n  other"
	keyed   = "key: {env: MOCK_KEY}, " + unkeyed
)

// wide gives a worker 64 permits and some places at backend mock, and the queue room for two such workers.
func wide(places int) []string {
	return []string{unkeyed, fmt.Sprintf("key: {env: MOCK_KEY}, permits: %d, admitted: %d, call_timeout: 60s}\n  other", wideOpen, places), "in_flight: 64", "in_flight: 128"}
}

// wideOpen is how many calls a wide worker has open when it is full.
const wideOpen = 64

// shortWait is a lease of four seconds for all workers, real processes among them: it bounds the wait for a killed one's runs,
// and a loaded machine keeps its heartbeats all the same.
var shortWait = []string{"catalog_grace", "ack_wait: 4s\ncatalog_grace"}

// process is a worker in a process of its own.
type process struct {
	s   *site
	id  string
	cmd *exec.Cmd
	// serving is closed when it pulls, ended when it is no more; err is then how it ended.
	serving, ended chan struct{}
	err            error
}

// process starts `emend serve` and waits until it pulls. It is killed with the test.
func (s *site) process(id string) *process {
	s.Helper()
	path, err := program()
	s.must(err)
	p := &process{s: s, id: id, serving: make(chan struct{}), ended: make(chan struct{})}
	p.cmd = exec.Command(path, "serve", "--dir", s.dir, "--nats", s.server.URL(), "--worker-id", id)
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "MOCK_KEY=" + id}
	out, err := p.cmd.StderrPipe()
	s.must(err)
	s.must(p.cmd.Start())
	go p.follow(out)
	s.Cleanup(func() { p.kill() })
	select {
	case <-p.serving:
	case <-p.ended:
		s.Fatalf("worker %s ended: %v\n%s", id, p.err, s.log)
	case <-time.After(patience):
		s.Fatalf("worker %s does not serve", id)
	}
	return p
}

// follow reads the log until the process is no more.
func (p *process) follow(out io.Reader) {
	defer close(p.ended)
	serving := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		_, _ = fmt.Fprintf(p.s.log, "%s %s\n", p.id, lines.Bytes())
		var line struct{ Message string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "serving" && !serving {
			serving = true
			close(p.serving)
		}
	}
	p.err = p.cmd.Wait()
}

// kill ends the process as kill -9 does, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// term asks the process to drain.
func (p *process) term() {
	p.s.Helper()
	p.s.must(p.cmd.Process.Signal(syscall.SIGTERM))
}

// drained awaits that the process has ended by itself, with exit code 0.
func (p *process) drained() {
	p.s.Helper()
	receive(p.s, "worker "+p.id+" ends", p.ended)
	if p.err != nil {
		p.s.Errorf("worker %s: %v\n%s", p.id, p.err, p.s.log)
	}
}

// open is the number of calls of this process that the mock has not answered.
func (p *process) open() int { return p.s.mock.open("Bearer " + p.id) }
