package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"emend/integration/bench/hook"
)

// process is a child whose use of the machine is asked of the kernel.
type process struct {
	cmd *exec.Cmd
	log strings.Builder
	// profiles is where it leaves its profiles; "" for none.
	profiles string
}

// begin starts a command. Under -profile its profiles go to a folder of its name.
func begin(cmd *exec.Cmd, name string) (*process, error) {
	p := &process{cmd: cmd}
	cmd.Stderr = &p.log
	if *profile != "" {
		p.profiles = filepath.Join(*profile, name)
		if err := os.RemoveAll(p.profiles); err != nil {
			return nil, err
		}
		cmd.Env = append(os.Environ(), hook.Env+"="+p.profiles)
	}
	return p, cmd.Start()
}

// beginTelling starts a command whose first line ends with its address: the mock's names the openai dialect before it.
func beginTelling(cmd *exec.Cmd, name string) (*process, string, error) {
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	p, err := begin(cmd, name)
	if err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	words := strings.Fields(line)
	if len(words) == 0 {
		return p, "", errors.Join(fmt.Errorf("%s told no address", name), err, p.end())
	}
	return p, words[len(words)-1], nil
}

// ended waits for the profiles, if there are any, and ends the process. It returns what it used in all.
func (p *process) end() error {
	err := p.collect()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if e := p.cmd.Wait(); e != nil {
		err = errors.Join(err, fmt.Errorf("%w\n%s", e, p.log.String()))
	}
	return err
}

// collectWithin bounds the wait for profiles.
const collectWithin = 20 * time.Second

func (p *process) collect() error {
	if p.profiles == "" {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		return err
	}
	for until := time.Now().Add(collectWithin); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(p.profiles, hook.Done)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("no profile came to %s", p.profiles)
}

// cpu is the time that the process has used on processors until now.
func (p *process) cpu() (time.Duration, error) { return cpuOf(p.cmd.Process.Pid) }

// ticks of /proc a second: USER_HZ, which is 100 wherever Linux runs Go.
const ticks = 100

// cpuOf reads fields 14 and 15 of /proc/PID/stat. The name of the program, in parentheses, may hold spaces.
func cpuOf(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(f))
	}
	user, err := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticks, errors.Join(err, err2)
}

// used is what a process that has ended used on processors, and its largest resident memory in MiB.
func (p *process) used() (cpu time.Duration, rss float64, err error) {
	s := p.cmd.ProcessState
	use, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, errors.New("the kernel tells no resource usage")
	}
	return s.UserTime() + s.SystemTime(), float64(use.Maxrss) / 1024, nil
}
