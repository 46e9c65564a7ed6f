package redis

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// startTimeout bounds one start of a local process, which takes up to a second on a loaded machine.
	startTimeout = 10 * time.Second
	// killTimeout bounds the end of a killed process.
	killTimeout = 5 * time.Second
	// tailLines is how many lines of a server's log an error shows.
	tailLines = 5
	// ReadyLine is in the log of Redis and Valkey once they accept connections; a sentinel logs sentinelReadyLine instead.
	ReadyLine, sentinelReadyLine = "Ready to accept connections", "Sentinel ID is"
)

var errPortTaken = errors.New("port taken")

// findServer returns the path of a server program: by default the first of redis-server and valkey-server on PATH.
func findServer(path string) (string, error) {
	for _, name := range []string{cmp.Or(path, "redis-server"), cmp.Or(path, "valkey-server")} {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		} else if path != "" {
			return "", fmt.Errorf("expected a Redis server program at %s, found no executable: %w", path, err)
		}
	}
	return "", errors.New("neither redis-server nor valkey-server is on PATH: install one (apt-get install redis-server), or name it with process:/path")
}

// StartProcess starts a server program. By default the server persists nothing and needs no password; arguments change that:
//
//	StartProcess(ctx, "", "--appendonly", "yes", "--appendfsync", "always")
//	StartProcess(ctx, "", "--requirepass", "secret")
//
// An empty path means the first of redis-server and valkey-server on PATH. The Server's clients use the password of --requirepass, and
// no user of an --aclfile, even if the default user may do nothing.
func StartProcess(ctx context.Context, path string, args ...string) (*Server, error) {
	return StartConfigured(ctx, path, "", args...)
}

// StartConfigured is StartProcess with lines of a configuration file that the server may rewrite, as sentinels make it do. The argument
// --sentinel starts a sentinel.
func StartConfigured(ctx context.Context, path, lines string, args ...string) (*Server, error) {
	bin, err := findServer(path)
	if err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	n, err := launch(limit, bin, lines, args)
	for tries := 1; errors.Is(err, errPortTaken) && tries < 5; tries++ {
		n, err = launch(limit, bin, lines, args)
	}
	if err != nil {
		return nil, fmt.Errorf("%s did not come up: %w", bin, err)
	}
	s := &Server{
		Addr: n.Addr, How: "process " + bin, Product: n.process.name, Version: n.process.version,
		address: n.address, nodes: []*Node{n}, closer: sync.OnceValue(n.close),
	}
	if s.Version == "" && n.ready == ReadyLine { // a server that logs no version
		return identified(ctx, s)
	}
	return s, nil
}

// launch starts a program once, on a free port of 127.0.0.1 that it can take again after a restart.
func launch(ctx context.Context, bin, lines string, args []string) (*Node, error) {
	l, err := Stable(ctx)
	if err != nil {
		return nil, err
	}
	n := &Node{Addr: l.Addr().String(), ready: ReadyLine}
	n.address.Hosts = []string{n.Addr}
	_, port, _ := net.SplitHostPort(n.Addr)
	_ = l.Close()
	if n.Dir, err = os.MkdirTemp("", "dq-redis-"); err != nil {
		return nil, err
	}
	for i, arg := range args[:max(0, len(args)-1)] {
		if arg == "--requirepass" { // the last one counts, as for the server
			n.address.password = args[i+1]
		}
	}
	if slices.Contains(args, "--sentinel") {
		n.ready = sentinelReadyLine
	} else {
		lines = "save \"\"\nappendonly no\n" + lines
	}
	conf := filepath.Join(n.Dir, "redis.conf")
	n.command = append([]string{bin, conf}, args...)
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\ndaemonize no\nlogfile \"\"\n%s\n", port, strconv.Quote(n.Dir), lines)
	if err = os.WriteFile(conf, []byte(text), 0o600); err == nil {
		n.process, err = run(ctx, n.command, n.Dir, n.ready)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(n.Dir))
	}
	return n, nil
}

// process is one run of a server program.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the program has ended

	mu            sync.Mutex
	log           []string // its last lines
	name, version string   // by its log
}

// run starts a command in a folder and waits until it has logged ready. It kills the command at the end of ctx.
func run(ctx context.Context, command []string, dir, ready string) (*process, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...) // ctx bounds the start, not the life
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := startTied(cmd); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	up := make(chan struct{})
	go p.follow(out, ready, up)
	select {
	case <-up:
		return p, nil
	case <-p.done:
		err = fmt.Errorf("it ended: %s", p)
		if strings.Contains(p.String(), "Address already in use") {
			err = fmt.Errorf("%w: %s", errPortTaken, p)
		}
	case <-ctx.Done():
		err = fmt.Errorf("not ready in time: %w: %s", ctx.Err(), p)
	}
	return nil, errors.Join(err, p.kill())
}

// Redis and Valkey log versionLine first: "Redis version=7.0.15, bits=64, …".
var versionLine = regexp.MustCompile(`(\w+) version=([^,\s]+), bits=`)

// follow reads the program's log to its end, so that the program never blocks on a full pipe, and closes up at the first line with ready.
func (p *process) follow(out io.Reader, ready string, up chan<- struct{}) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		p.mu.Lock()
		if m := versionLine.FindStringSubmatch(line); m != nil {
			p.name, p.version = strings.ToLower(m[1]), m[2]
		}
		if line != "" {
			p.log = append(p.log[max(0, len(p.log)+1-tailLines):], line)
		}
		p.mu.Unlock()
		if up != nil && strings.Contains(line, ready) {
			close(up)
			up = nil
		}
	}
	_, _ = io.Copy(io.Discard, out)
	_ = p.cmd.Wait()
	close(p.done)
}

// String returns the end of the log on one line.
func (p *process) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.log) == 0 {
		return "it logged nothing"
	}
	return "its log ends: " + strings.Join(p.log, " | ")
}

// kill ends the program at once, paused or not, and waits for its end.
func (p *process) kill() error {
	_ = p.cmd.Process.Kill()
	select {
	case <-p.done:
		return nil
	case <-time.After(killTimeout):
		return fmt.Errorf("process %d does not end after a kill", p.cmd.Process.Pid)
	}
}

// The ports are below Linux's range for outgoing connections, 32768 to 60999, which may take a port while its listener is closed.
const firstStable, lastStable, stableTries = 12_000, 32_000, 100

// Stable listens on 127.0.0.1 at a port that a server can listen at again after the listener is closed.
func Stable(ctx context.Context) (l net.Listener, err error) {
	for range stableTries {
		port := firstStable + rand.IntN(lastStable-firstStable)
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("no free port on 127.0.0.1 from %d to %d: %w", firstStable, lastStable, err)
}

// Node is a server program of ours, to kill, pause and start again. Any goroutine may call its methods; one runs at a time.
type Node struct {
	// Addr is host:port, the same after a restart.
	Addr string
	// Dir is the folder of its files, such as an append-only file. It outlives a kill, and Server.Close removes it.
	Dir string

	command []string
	ready   string
	address Address

	mu      sync.Mutex
	process *process
	paused  bool
}

// PID returns the process id of the latest run.
func (n *Node) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process.cmd.Process.Pid
}

// String returns the node's address.
func (n *Node) String() string { return n.Addr }

// Running reports whether the program runs and is not paused.
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.process.done:
		return false
	default:
		return !n.paused
	}
}

// URL returns the address of this one process, whatever its role in a set, in the form of Server.URL.
func (n *Node) URL() string { return n.address.String() }

// Kill ends the program as kill -9 does, and returns within 5 s, after its end: the connections are gone and the port refuses. Port and
// folder stay for Restart. A second Kill does nothing.
func (n *Node) Kill() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = false
	return n.process.kill()
}

// Restart starts the program again with the same port, folder and arguments, after a kill if it runs. It returns when the program has
// loaded its files and accepts connections; a member of a set may need longer to serve. ctx and 10 s bound the start.
func (n *Node) Restart(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = false
	if err := n.process.kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	// A client may have the port: the kernel chose it for the client.
	var p *process
	var failed error
	err := Until(ctx, "its port is free again", func() error {
		if p, failed = run(ctx, n.command, n.Dir, n.ready); errors.Is(failed, errPortTaken) {
			return failed
		}
		return nil
	})
	if err = cmp.Or(err, failed); err != nil {
		return fmt.Errorf("restart of %s: %w", n.Addr, err)
	}
	n.process = p
	return nil
}

// Pause stops the program as SIGSTOP does, and returns within 5 s, when the program has stopped: connections stay open, the kernel accepts
// new ones, and the program answers nothing. Resume ends it, and so do Kill, Restart and Server.Close. Windows has no such signal.
func (n *Node) Pause() error {
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	if err := n.signal(pauseSignal, true); err != nil {
		return err
	}
	pid := n.PID()
	return Until(ctx, n.Addr+" has stopped", func() error { return hasStopped(pid) })
}

// Resume continues a paused program.
func (n *Node) Resume() error { return n.signal(resumeSignal, false) }

func (n *Node) signal(sig os.Signal, pauses bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.process.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("%v of %s: %w", sig, n.Addr, err)
	}
	n.paused = pauses
	return nil
}

// close kills the program and removes its folder.
func (n *Node) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.process.kill(), os.RemoveAll(n.Dir))
}

// Until calls wrong every 20 ms until it returns nil or ctx ends: these servers announce no such event.
func Until(ctx context.Context, what string, wrong func() error) error {
	for {
		err := wrong()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("waited until %s: %w", what, errors.Join(ctx.Err(), err))
		}
	}
}
