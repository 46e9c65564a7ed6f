package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/listen"
)

const (
	// startTimeout bounds one start of a local process. A loaded machine needs
	// a second; a server that loads nothing never needs ten.
	startTimeout = 10 * time.Second
	// portAttempts is how often a port is chosen anew when somebody else took
	// it between choosing and binding.
	portAttempts = 5
	// killTimeout bounds the end of a killed process.
	killTimeout = 5 * time.Second
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

// StartProcess gives a server program that runs with more arguments than those
// of the spec process[:path], which keeps nothing and asks for no password:
//
//	StartProcess(ctx, "", "--appendonly", "yes", "--appendfsync", "always")
//	StartProcess(ctx, "", "--requirepass", "secret")
//
// An empty path means the first of redis-server and valkey-server on PATH. The
// password of --requirepass is used by the clients of the Server; users of an
// --aclfile are the caller's matter, also when the default user may do nothing.
// Arguments that would take the server away from its port or folder are refused.
func StartProcess(ctx context.Context, path string, args ...string) (*Server, error) {
	return StartConfigured(ctx, path, "", args...)
}

// StartConfigured is StartProcess with lines of a configuration file that the server may rewrite, as one does that sentinels
// promote. With the argument --sentinel it starts a sentinel.
func StartConfigured(ctx context.Context, path, lines string, args ...string) (*Server, error) {
	if err := checkArgs(args); err != nil {
		return nil, err
	}
	bin, err := findServer(path)
	if err != nil {
		return nil, err
	}
	r := recipe{bin: bin, ready: readyLine, extra: args, configure: func(port, dir string) ([]string, error) {
		conf := filepath.Join(dir, "redis.conf")
		return append([]string{conf}, standalone(port, dir)...), os.WriteFile(conf, []byte(lines), 0o600)
	}}
	watches := slices.Contains(args, "--sentinel")
	if watches {
		r.ready, r.configure = sentinelReadyLine, func(port, dir string) ([]string, error) {
			conf := filepath.Join(dir, "redis.conf")
			text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %q\n%s\n", port, dir, lines)
			return []string{conf}, os.WriteFile(conf, []byte(text), 0o600)
		}
	}
	n, err := launch(ctx, r)
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: n.Addr, How: "process " + bin, PID: n.PID(), address: n.address, nodes: []*Node{n}, closer: n.close}
	if watches {
		return s, nil
	}
	err = s.identify(ctx)
	if err != nil && (strings.Contains(err.Error(), "NOAUTH") || strings.Contains(err.Error(), "NOPERM")) {
		// Its users are the caller's: it answers, and its log has told what it is.
		s.Product, s.Version = n.process.log.product()
		err = nil
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkArgs refuses the arguments by which a server would be lost: it has to
// run in the foreground on the port and in the folder chosen for it, and log to
// where its start is watched.
func checkArgs(args []string) error {
	for _, name := range []string{"--port", "--bind", "--dir", "--daemonize", "--logfile", "--loglevel"} {
		if slices.Contains(args, name) {
			return fmt.Errorf("the argument %s is chosen here: leave it out", name)
		}
	}
	return nil
}

// password is what --requirepass asks for; the last one counts, as for the server.
func password(args []string) string {
	word := ""
	for i, arg := range args {
		if arg == "--requirepass" && i+1 < len(args) {
			word = args[i+1]
		}
	}
	return word
}

// standalone are the arguments of a server that keeps nothing and that only this machine reaches.
func standalone(port, dir string) []string {
	return []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", ""}
}

// recipe says how a server program is to be started.
type recipe struct {
	bin   string
	ready string // what it logs when it is up
	// configure gives the arguments for the port and folder taken.
	configure func(port, dir string) ([]string, error)
	extra     []string // arguments that follow those
}

// launch runs a program on a free port of 127.0.0.1 and waits until it is ready.
func launch(ctx context.Context, r recipe) (*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	for range portAttempts {
		var n *Node
		if n, err = launchOnce(ctx, r); err == nil {
			return n, nil
		}
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, fmt.Errorf("%s did not come up: %w", r.bin, err)
}

func launchOnce(ctx context.Context, r recipe) (*Node, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "dq-redis-")
	if err != nil {
		return nil, err
	}
	args, err := r.configure(port, dir)
	n := &Node{Addr: net.JoinHostPort("127.0.0.1", port), Dir: dir, command: append([]string{r.bin}, append(args, r.extra...)...), ready: r.ready}
	n.address = Address{Hosts: []string{n.Addr}, password: password(r.extra)}
	if err == nil {
		n.process, err = run(ctx, n.command, dir, n.ready)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return n, nil
}

// process is one run of a server program.
type process struct {
	cmd  *exec.Cmd
	log  *tail
	done chan struct{} // closed when the program has ended
}

// run starts command in dir and waits until it has logged ready. When it has
// not by the end of ctx it is killed.
func run(ctx context.Context, command []string, dir, ready string) (*process, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...) // ctx bounds the start, not the life
	cmd.Dir = dir
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = in, in
	err = startTied(cmd)
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	p := &process{cmd: cmd, log: &tail{}, done: make(chan struct{})}
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
	return nil, errors.Join(err, p.kill())
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

// kill ends the program at once, also when it is paused, and waits until it has.
func (p *process) kill() error {
	_ = p.cmd.Process.Kill()
	select {
	case <-p.done:
		return nil
	case <-time.After(killTimeout):
		return fmt.Errorf("process %d does not end after a kill", p.cmd.Process.Pid)
	}
}

// freePort returns a port of 127.0.0.1 that is free now, and that a node can take again after a restart.
func freePort(ctx context.Context) (string, error) {
	l, err := listen.Stable(ctx)
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
