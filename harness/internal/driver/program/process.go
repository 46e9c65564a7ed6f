package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

const (
	// closeTimeout is how long a program may take to end when told to.
	closeTimeout = 10 * time.Second
	// helloTimeout is how long a program may take to introduce itself: a JVM on a busy
	// machine needs some seconds.
	helloTimeout = 30 * time.Second
	// cancelGrace is what a cancelled request gets to be answered: a value that
	// was popped already must not be dropped.
	cancelGrace = 2 * time.Second
)

// Process is a running program that speaks docs/protocol.md on stdin and stdout.
type Process struct {
	*Link
	cmd    *exec.Cmd
	stderr tail
	killed atomic.Bool // by Kill
}

// Start starts a program and waits for its hello, at most until ctx
// ends; the program itself outlives ctx. command is the program and its
// arguments, log, which may be nil, gets a copy of its stderr. It has the variables of this
// process, and environment besides.
func Start(ctx context.Context, command []string, log io.Writer, environment ...string) (*Process, error) {
	if len(command) == 0 {
		return nil, errors.New("driver exec: expected a command line, got none")
	}
	return startAs(ctx, command[0], command, log, helloTimeout, environment...)
}

// startAs is Start by a name for messages, and with a limit of its own for hello.
func startAs(ctx context.Context, name string, command []string, log io.Writer, greets time.Duration, environment ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(command[0], command[1:]...)}
	p.stderr.copyTo = log
	if err := p.start(name, environment); err != nil {
		return nil, fmt.Errorf("starting driver program %s: %w", name, err)
	}
	if err := p.greet(ctx, greets); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

func (p *Process) start(name string, environment []string) error {
	p.cmd.WaitDelay = time.Second
	if len(environment) > 0 {
		p.cmd.Env = append(os.Environ(), environment...)
	}
	p.cmd.Stderr = &p.stderr
	ownGroup(p.cmd)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	p.Link = newLink(name, stdin)
	p.quote, p.stop = p.stderr.quote, func() { killGroup(p.cmd) }
	lines, stdout := io.Pipe()
	p.cmd.Stdout = stdout
	if err := p.cmd.Start(); err != nil {
		return err
	}
	read := make(chan struct{})
	go func() {
		p.read(lines)
		lines.Close()
		close(read)
	}()
	go func() {
		err := p.cmd.Wait()
		stdout.Close()
		<-read
		p.end(err)
	}()
	return nil
}

// Kill kills the program, with all it has started, and returns when it is gone.
func (p *Process) Kill() {
	p.killed.Store(true)
	killGroup(p.cmd)
	<-p.ended
}

// Close closes the program's stdin, which tells it to end, and kills it with all
// it has started if it has not done so within ten seconds. It fails if the program was
// killed, ended by itself with an error, or broke the protocol.
func (p *Process) Close() error {
	p.writing.Lock()
	p.out.Close()
	p.writing.Unlock()
	timer := time.NewTimer(p.patience)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.Kill()
		return fmt.Errorf("driver program %s did not end within %s of its stdin closing and was killed%s",
			p.name, p.patience, p.stderr.quote())
	}
	p.mu.Lock()
	broken := p.broken
	p.mu.Unlock()
	if broken != nil || !p.killed.Load() && !p.cmd.ProcessState.Success() {
		return p.Failure()
	}
	return p.Fault()
}

// Pipe runs a program whose stdin and stdout are a connection, until the connection ends or ctx does.
func Pipe(ctx context.Context, command []string, conn io.ReadWriter, log io.Writer) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = conn, conn, log, closeTimeout
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("driver program %s: %w", command[0], err)
	}
	return nil
}
