// Package program is the driver protocol (docs/protocol.md).
//
// A Link is the caller's end of an implementation: Start starts a program and links to it by its pipes, Connect links to one at the
// other end of a connection, and Local to an implementation in this process, which answers the same lines.
//
// The other end is package serve, or a program in another language. Under load, a coordinator (package load) sends it Items shortly
// before their instants, and it reports a Sample for each event.
package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long a program may take to read its input, and to end after the end of its input.
	patience = 10 * time.Second
	// cancelGrace is the time for the answer to a cancelled request: a value that was popped already must not be dropped.
	cancelGrace = 2 * time.Second
	// maxFaults bounds the faults that are kept, and maxName the name and version of a program.
	maxFaults, maxName = 3, 200
)

// helloTimeout is how long a program may take to introduce itself: a JVM on a busy machine needs seconds.
var helloTimeout = 30 * time.Second

// Program is an implementation that answers the ops: a Link, or a test's layer before one.
type Program interface {
	// Introduction is the answer to hello.
	Introduction() Hello
	// Call runs one op. The error of an answer wraps a *RemoteError; any other error says that the program failed or that ctx ended.
	Call(ctx context.Context, op string, arguments any) (json.RawMessage, error)
	// Close ends the program and everything it opened.
	Close() error
}

// Link is the caller's end of a program. Its methods may be called from many goroutines at once.
type Link struct {
	name     string
	hello    Hello
	out      io.WriteCloser
	patience time.Duration
	grace    time.Duration // for the answer to a cancelled request; hello has no value to lose, and 0
	kill     func()        // ends the other end at once
	stderr   tail
	ended    chan struct{} // closed after the last line
	writing  sync.Mutex
	lastID   atomic.Uint64

	mu      sync.Mutex
	waiting map[uint64]chan answer                // requests that are not answered
	events  map[uint64]func(line json.RawMessage) // requests with events, for ever
	faults  []error

	life context.Context // whose cause is why it ended; context.Canceled if it was killed, or ended by itself
	end  context.CancelCauseFunc
}

// Connect links to a program at the other end of a connection, and waits for its hello. Close closes the connection.
func Connect(ctx context.Context, name string, conn io.ReadWriteCloser) (*Link, error) {
	return (&Link{name: name, out: conn, kill: func() { _ = conn.Close() }}).open(ctx, conn, func() error { return nil })
}

// Local links to an implementation in this process: serve answers the lines of in on out until in ends.
func Local(ctx context.Context, name string, serve func(in io.Reader, out io.Writer) error) (*Link, error) {
	near, far := net.Pipe()
	return (&Link{name: name, out: near, kill: func() { _ = near.Close() }}).open(ctx, near, func() error {
		defer far.Close()
		return serve(far, far)
	})
}

// open reads lines, and waits for the program's introduction. Without one the program is ended. wait returns once the program is gone.
func (l *Link) open(ctx context.Context, lines io.ReadCloser, wait func() error) (*Link, error) {
	l.patience, l.ended, l.waiting, l.events = patience, make(chan struct{}), map[uint64]chan answer{}, map[uint64]func(json.RawMessage){}
	l.life, l.end = context.WithCancelCause(context.Background())
	go l.run(lines, wait)
	greeting, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	result, err := l.Call(greeting, "hello", nil)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		err = fmt.Errorf("driver program %s: expected an answer to hello within %s, got no answer%s", l.name, helloTimeout, l.stderr.quote())
	case err != nil:
		err = fmt.Errorf("driver program %s: %w", l.name, err)
	case json.Unmarshal(result, &l.hello) != nil || l.hello.Name == "" || len(l.hello.String()) > maxName:
		err = fmt.Errorf("driver program %s: expected a name and a version in answer to hello, got %.120s", l.name, result)
	case l.hello.Protocol != Protocol:
		err = fmt.Errorf("driver program %s speaks version %d of the protocol, expected %d", l.name, l.hello.Protocol, Protocol)
	default:
		l.grace = cancelGrace
		return l, nil
	}
	l.Kill(nil)
	return nil, err
}

// run reads lines until they end, and keeps why they did.
func (l *Link) run(lines io.ReadCloser, wait func() error) {
	gone := make(chan error, 1)
	go func() { gone <- wait() }()
	var broken error
	err := ReadLines(lines, func(line []byte) error {
		a, err := decodeLine(line)
		if broken = err; err == nil {
			broken = l.dispatch(a, line)
		}
		return broken
	})
	if broken != nil || errors.Is(err, errTooLong) {
		l.end(fmt.Errorf("it broke the protocol on stdout: %w", err))
		l.kill() // nothing that it says afterwards can be relied on
	}
	_ = lines.Close()
	l.end(<-gone)
	close(l.ended)
}

// dispatch hands a line to the caller that it is for. An answer to, or an event of, a request that never was is an error, for the right request has no answer.
func (l *Link) dispatch(a answer, line []byte) (stray error) {
	l.mu.Lock()
	onEvent, waiting := l.events[a.id], l.waiting[a.id]
	switch {
	case a.Event != nil && a.id <= l.lastID.Load():
	case waiting != nil:
		waiting <- a // which has room for the answer
		delete(l.waiting, a.id)
	default:
		stray = fmt.Errorf("driver program %s: expected one answer to each request, got an answer or event to %d without a request", l.name, a.id)
	}
	if stray != nil && a.id <= l.lastID.Load() { // answered before
		l.faults, stray = append(l.faults, stray)[:min(len(l.faults)+1, maxFaults)], nil
	}
	l.mu.Unlock()
	if a.Event != nil && onEvent != nil {
		onEvent(line)
	}
	return stray
}

// Introduction returns the program's answer to hello.
func (l *Link) Introduction() Hello { return l.hello }

// Ended is closed once the program sends no more lines.
func (l *Link) Ended() <-chan struct{} { return l.ended }

// Failure is why a program that has ended did.
func (l *Link) Failure() error {
	if cause := context.Cause(l.life); cause != nil && !errors.Is(cause, context.Canceled) {
		return fmt.Errorf("driver program %s has ended: %w%s", l.name, cause, l.stderr.quote())
	}
	return fmt.Errorf("driver program %s has ended%s", l.name, l.stderr.quote())
}

// Kill ends the program at once, with all that it has started, and returns after its end. cause, which may be nil, is for Failure.
func (l *Link) Kill(cause error) {
	l.end(cause)
	l.kill()
	<-l.ended
}

// Close ends the program by the end of its input, and kills it if it has not ended within ten seconds. The error names
// faults against the protocol: a failure at the end, no end, or an answer without a request.
func (l *Link) Close() error {
	l.writing.Lock()
	_ = l.out.Close()
	l.writing.Unlock()
	select {
	case <-l.ended:
	case <-time.After(l.patience):
		l.Kill(nil)
		return fmt.Errorf("driver program %s did not end within %s of its stdin closing and was killed%s", l.name, l.patience, l.stderr.quote())
	}
	if !errors.Is(context.Cause(l.life), context.Canceled) {
		return l.Failure()
	}
	return errors.Join(l.faults...)
}

// Call sends a request and waits for its result. arguments is a struct or map with the op's arguments, or nil. When ctx ends the
// request is cancelled and ctx's error returned, unless the result arrives within two seconds.
func (l *Link) Call(ctx context.Context, op string, arguments any) (json.RawMessage, error) {
	return l.CallEvents(ctx, op, arguments, nil)
}

// CallEvents is Call for ops that send events. onEvent gets the line of each in order, also after the result; it may not keep it or block.
func (l *Link) CallEvents(ctx context.Context, op string, arguments any, onEvent func(line json.RawMessage)) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, answered, err := l.send(op, arguments, onEvent)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-answered:
		return a.value(op)
	case <-l.ended:
		select {
		case a := <-answered: // its last line
			return a.value(op)
		default:
			return nil, fmt.Errorf("%s was not answered: %w", op, l.Failure())
		}
	case <-ctx.Done():
	}
	if _, _, err := l.send("cancel", map[string]uint64{"target": id}, nil); err == nil {
		select {
		case a := <-answered:
			if *a.OK {
				return a.value(op)
			}
		case <-l.ended:
		case <-time.After(l.grace):
		}
	}
	return nil, ctx.Err()
}

func (l *Link) send(op string, arguments any, onEvent func(json.RawMessage)) (id uint64, answered chan answer, err error) {
	id, answered = l.lastID.Add(1), make(chan answer, 1)
	line, err := encodeRequest(id, op, arguments)
	if err != nil {
		return 0, nil, err
	}
	l.mu.Lock()
	l.waiting[id] = answered
	if onEvent != nil {
		l.events[id] = onEvent
	}
	l.mu.Unlock()
	l.writing.Lock()
	if pipe, ok := l.out.(interface{ SetWriteDeadline(time.Time) error }); ok { // a pipe that is not read fills
		_ = pipe.SetWriteDeadline(time.Now().Add(l.patience))
	}
	_, err = l.out.Write(line)
	l.writing.Unlock()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%s could not be sent: driver program %s has read nothing for %s", op, l.name, l.patience)
	} else if err != nil {
		select {
		case <-l.ended:
			err = fmt.Errorf("%s could not be sent: %w", op, l.Failure())
		case <-time.After(l.patience):
			err = fmt.Errorf("%s could not be sent to %s: %w", op, l.name, err)
		}
	}
	return id, answered, err
}

// Start starts a program and waits for its hello, at most until ctx ends; the program itself outlives ctx. name is for
// messages, command the program and its arguments. log, which may be nil, gets a copy of its stderr.
func Start(ctx context.Context, name string, command []string, log io.Writer) (_ *Link, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	l := &Link{name: name, kill: func() { killGroup(cmd) }}
	lines, stdout := io.Pipe()
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, io.MultiWriter(&l.stderr, cmp.Or(log, io.Discard)), time.Second
	ownGroup(cmd)
	if l.out, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting driver program %s: %w", name, err)
	}
	started.Store(cmd, nil)
	return l.open(ctx, lines, func() error {
		err := cmd.Wait()
		if errors.Is(err, exec.ErrWaitDelay) {
			err = errors.New("exit status 0, though a process that it had started still held its stdout or stderr")
		}
		started.Delete(cmd)
		stdout.Close()
		return err
	})
}

// started are the programs that run.
var started sync.Map

// KillAll kills the programs that this process has started, with all that they have: it is about to end.
func KillAll() {
	started.Range(func(cmd, _ any) bool {
		killGroup(cmd.(*exec.Cmd)) //nolint:forcetypeassert // only Start stores
		return true
	})
}

// Pipe runs a program whose stdin and stdout are a connection, until the connection ends or ctx does.
func Pipe(ctx context.Context, command []string, conn io.ReadWriter, log io.Writer) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = conn, conn, log, patience
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("driver program %s: %w", command[0], err)
	}
	return nil
}

// tail keeps the end of the bytes written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(b), nil
}

// quote returns the end of stderr for a message, "" if the program wrote nothing.
func (t *tail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.text)); text != "" {
		return "; its stderr ended with:\n" + text
	}
	return ""
}
