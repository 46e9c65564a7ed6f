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

// errClosed is what a Node answers once its Server is closed.
var errClosed = errors.New("the server is closed")

// Node is one server program that we started: something to kill, pause and start again. Its methods may be called from any
// goroutine, one after the other.
type Node struct {
	// Addr is host:port, the same after a restart.
	Addr string
	// Dir is the folder of its files, an append-only file for one. It outlives a kill and goes with Server.Close.
	Dir string

	command []string
	ready   string
	address Address

	mu      sync.Mutex // one fault at a time, and none beside Close
	process *process
	paused  bool
	closed  bool
}

// PID is the process id of the latest run; another one after a restart.
func (n *Node) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process.cmd.Process.Pid
}

// String is the node's address.
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

// URL is the address of this one process, whatever its role in a set, as Server.URL is.
func (n *Node) URL() string { return n.address.String() }

// Kill ends the program as kill -9 does, and returns when it has ended: its connections are then gone and its port refuses.
// Port and folder stay for Restart. To kill what has ended already is no error. It returns within 5 s.
func (n *Node) Kill() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = false
	return n.process.kill()
}

// Restart starts the program again, after a kill if it runs still: same port, same folder, same arguments. It returns when
// the program has loaded its files and accepts connections; as a member of a set it may need longer to serve. The start is
// bounded by ctx and by 10 s. While another process holds the port it tries again.
func (n *Node) Restart(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return errClosed
	}
	n.paused = false
	if err := n.process.kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	// The port may be in the hands of a client whose own port the kernel chose just there.
	var p *process
	var failed error
	err := until(ctx, "its port is free again", func() (bool, error) {
		p, failed = run(ctx, n.command, n.Dir, n.ready)
		return !errors.Is(failed, errPortTaken), failed
	})
	if err = cmp.Or(err, failed); err != nil {
		return fmt.Errorf("restart of %s: %w", n.Addr, err)
	}
	n.process = p
	return nil
}

// Pause stops the program as SIGSTOP does, and returns when it stands still: its connections stay open, and new ones are
// made by the kernel, but nothing answers. Resume ends it, and so do Kill, Restart and Server.Close. It returns within 5 s;
// Windows has no such signal.
func (n *Node) Pause() error {
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	return n.signal(pauseSignal, true, func(pid int) error {
		return until(ctx, n.Addr+" stands still", func() (bool, error) { return standsStill(pid) })
	})
}

// Resume lets a paused program go on; one that is not paused is left alone.
func (n *Node) Resume() error { return n.signal(resumeSignal, false, func(int) error { return nil }) }

func (n *Node) signal(sig os.Signal, pauses bool, obeyed func(pid int) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return errClosed
	}
	if err := n.process.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("%v of %s: %w", sig, n.Addr, err)
	}
	n.paused = pauses
	return obeyed(n.process.cmd.Process.Pid)
}

// close kills the program and removes its folder.
func (n *Node) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	return errors.Join(n.process.kill(), os.RemoveAll(n.Dir))
}

// server is the node as a Server, known by its log.
func (n *Node) server() *Server {
	return &Server{
		Addr: n.Addr, How: "process " + n.command[0], PID: n.PID(), Product: n.process.name, Version: n.process.version,
		address: n.address, nodes: []*Node{n},
	}
}

// until asks again, every 20 ms, until what holds or ctx ends; these servers announce no such event.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("waited until %s: %w", what, errors.Join(ctx.Err(), err))
		}
	}
}
