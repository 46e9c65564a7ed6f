package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// startTimeout bounds one start of a local process. A loaded machine needs
	// a second; a server that loads nothing never needs ten.
	startTimeout = 10 * time.Second
	// portAttempts is how often a port is chosen anew when somebody else took
	// it between choosing and binding.
	portAttempts = 5
	// tailLines is how much of a server's log an error shows.
	tailLines = 5
)

// readyLine is what Redis and Valkey log, once, when they accept connections;
// a sentinel logs sentinelReadyLine instead.
const (
	readyLine         = "Ready to accept connections"
	sentinelReadyLine = "Sentinel ID is"
)

var errPortTaken = errors.New("port taken")

// findServer gives the path of the server program: the one named, else the
// first of redis-server and valkey-server on PATH.
func findServer(path string) (string, error) {
	if path != "" {
		p, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("expected a Redis server program at %s, found none that can be run: %w", path, err)
		}
		return p, nil
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}
	return "", &briefError{
		errors.New("neither redis-server nor valkey-server is on PATH: install one (apt-get install redis-server), or name it with process:/path"),
		"neither redis-server nor valkey-server on PATH",
	}
}

func startProcess(ctx context.Context, path string) (*Server, error) {
	bin, err := findServer(path)
	if err != nil {
		return nil, err
	}
	p, err := launch(ctx, bin, readyLine, nil)
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: p.addr, How: "process " + bin, PID: p.cmd.Process.Pid, target: target{addrs: []string{p.addr}}, closer: p.stop}
	if err := s.identify(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// process is a server program that runs with its own folder and port.
type process struct {
	cmd  *exec.Cmd
	addr string
	dir  string
	log  *tail
	done chan struct{} // closed when the program has ended
}

// standalone are the arguments of a server that keeps nothing and that only this machine reaches.
func standalone(port, dir string) []string {
	return []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", ""}
}

// launch runs bin on a free port of 127.0.0.1 and waits until it has logged
// ready. configure, where given, replaces the standalone arguments by those for
// the port and folder taken.
func launch(ctx context.Context, bin, ready string, configure func(port, dir string) ([]string, error)) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	for range portAttempts {
		var p *process
		if p, err = launchOnce(ctx, bin, ready, configure); err == nil {
			return p, nil
		}
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, fmt.Errorf("%s did not come up: %w", bin, err)
}

func launchOnce(ctx context.Context, bin, ready string, configure func(port, dir string) ([]string, error)) (p *process, err error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "dq-redis-")
	if err != nil {
		return nil, err
	}
	p = &process{addr: net.JoinHostPort("127.0.0.1", port), dir: dir, log: &tail{}, done: make(chan struct{})}
	args := standalone(port, dir)
	if configure != nil {
		if args, err = configure(port, dir); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), bin, args...) // ctx bounds the start, not the life
	p.cmd.Dir = dir
	out, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p.cmd.Stdout, p.cmd.Stderr = in, in
	err = startTied(p.cmd)
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	up := p.follow(out, ready)
	select {
	case <-up:
		return p, nil
	case <-p.done:
		err = fmt.Errorf("it ended: %s", p.log)
		if strings.Contains(p.log.String(), "Address already in use") {
			err = fmt.Errorf("%w: %s", errPortTaken, p.log)
		}
	case <-ctx.Done():
		err = fmt.Errorf("not ready in time: %w: %s", ctx.Err(), p.log)
	}
	return nil, errors.Join(err, p.stop())
}

// follow reads the program's log to its end, so that the program never blocks
// on a full pipe, and closes the returned channel at the line that contains ready.
func (p *process) follow(out io.ReadCloser, ready string) <-chan struct{} {
	up := make(chan struct{})
	go func() {
		defer out.Close()
		lines := bufio.NewScanner(out)
		seen := false
		for lines.Scan() {
			p.log.add(lines.Text())
			if !seen && strings.Contains(lines.Text(), ready) {
				seen = true
				close(up)
			}
		}
		_, _ = io.Copy(io.Discard, out)
		_ = p.cmd.Wait()
		close(p.done)
	}()
	return up
}

// stop kills the program: it holds nothing worth saving, and its folder goes with it.
func (p *process) stop() error {
	_ = p.cmd.Process.Kill()
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		return fmt.Errorf("process %d does not end after a kill", p.cmd.Process.Pid)
	}
	return os.RemoveAll(p.dir)
}

// freePort asks the kernel for a port of 127.0.0.1 nobody listens on now.
func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("no free port on 127.0.0.1: %w", err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if line = strings.TrimSpace(line); line != "" {
		t.lines = append(t.lines, line)
	}
	if len(t.lines) > tailLines {
		t.lines = t.lines[len(t.lines)-tailLines:]
	}
}

// String is the kept lines on one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		return "it logged nothing"
	}
	return "its log ends: " + strings.Join(t.lines, " | ")
}
