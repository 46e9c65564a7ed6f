package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

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
