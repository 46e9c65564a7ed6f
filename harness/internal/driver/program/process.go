package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
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

// Hello is how an external program introduces itself.
type Hello struct {
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Protocol     int      `json:"protocol"`
	Capabilities []string `json:"capabilities"`
	Codecs       []string `json:"codecs"`
}

// Protocol is the version of PROTOCOL.md this client speaks.
const Protocol = 2

// Process is a running program that speaks PROTOCOL.md. Its methods may be
// called from many goroutines at once.
type Process struct {
	// Hello is the program's introduction.
	Hello Hello

	name   string
	cmd    *exec.Cmd
	greets time.Duration // how long hello may take
	stdin  io.WriteCloser
	stderr tail
	ended  chan struct{} // closed once the process is gone and failure is set
	// patience is what the program gets to end after its stdin was closed, and to read
	// what is written to it.
	patience time.Duration

	writing sync.Mutex

	mu      sync.Mutex
	lastID  uint64
	waiting map[uint64]chan remoteLine
	events  map[uint64]func(Event)
	broken  error // the program broke the protocol
	killed  bool  // by Kill
	failure error // why no more answers come
}

// Start starts a program and waits for its hello, at most until ctx
// ends; the program itself outlives ctx. command is the program and its
// arguments, log, which may be nil, gets a copy of its stderr. It has the variables of this
// process, and environment besides.
func Start(ctx context.Context, command []string, log io.Writer, environment ...string) (*Process, error) {
	return startIn(ctx, command, log, helloTimeout, environment...)
}

// startIn is Start with a limit of its own for hello.
func startIn(ctx context.Context, command []string, log io.Writer, greets time.Duration, environment ...string) (*Process, error) {
	if len(command) == 0 {
		return nil, errors.New("driver exec: expected a command line, got none")
	}
	p := &Process{
		name: command[0], ended: make(chan struct{}), patience: closeTimeout, greets: greets,
		waiting: map[uint64]chan remoteLine{}, events: map[uint64]func(Event){},
	}
	p.stderr.copyTo = log
	if err := p.start(command, environment); err != nil {
		return nil, fmt.Errorf("starting driver program %s: %w", p.name, err)
	}
	if err := p.greet(ctx); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

func (p *Process) start(command, environment []string) error {
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.WaitDelay = time.Second
	if len(environment) > 0 {
		p.cmd.Env = append(os.Environ(), environment...)
	}
	p.cmd.Stderr = &p.stderr
	ownGroup(p.cmd)
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	lines, stdout := io.Pipe()
	p.cmd.Stdout = stdout
	if err := p.cmd.Start(); err != nil {
		return err
	}
	read := make(chan struct{})
	go func() {
		p.read(lines)
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

func (p *Process) greet(ctx context.Context) error {
	greeting, cancel := context.WithTimeout(ctx, p.greets)
	defer cancel()
	result, err := p.Call(greeting, "hello", nil)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("driver program %s: expected an answer to hello within %s, got none%s", p.name, p.greets, p.stderr.quote())
	}
	if err != nil {
		return fmt.Errorf("driver program %s: %w", p.name, err)
	}
	if err := json.Unmarshal(result, &p.Hello); err != nil || p.Hello.Name == "" {
		return fmt.Errorf("driver program %s: expected a name and a version in answer to hello, got %.120s", p.name, result)
	}
	if p.Hello.Protocol != Protocol {
		return fmt.Errorf("driver program %s speaks version %d of the protocol, expected %d", p.name, p.Hello.Protocol, Protocol)
	}
	return nil
}

// Identity returns the implementation's name and version as the program gave them.
func (p *Process) Identity() driver.Identity {
	return driver.Identity{Name: p.Hello.Name, Version: p.Hello.Version}
}

// Call sends a request and waits for its result. params is a struct or map whose
// fields are the op's arguments, or nil. An error of the program's is a
// *RemoteError. When ctx ends the request is cancelled and ctx's error returned,
// unless the result arrives all the same within two seconds.
func (p *Process) Call(ctx context.Context, op string, params any) (json.RawMessage, error) {
	return p.CallEvents(ctx, op, params, nil)
}

// CallEvents is Call for ops that send events. onEvent gets each in order; it
// must not block, and goes on after the result until the program ends.
func (p *Process) CallEvents(ctx context.Context, op string, params any, onEvent func(Event)) (json.RawMessage, error) {
	return p.CallStoppable(ctx, nil, op, params, onEvent)
}

// CallStoppable is CallEvents for ops that have a result when they are cancelled,
// such as load: when stop is closed the request is cancelled, and its answer is
// waited for all the same until ctx ends.
func (p *Process) CallStoppable(ctx context.Context, stop <-chan struct{}, op string, params any, onEvent func(Event)) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, answer, err := p.send(op, params, onEvent)
	if err != nil {
		return nil, err
	}
	defer p.forget(id)
	for {
		select {
		case line := <-answer:
			return line.value(op)
		case <-p.ended:
			return p.lastAnswer(op, answer)
		case <-ctx.Done():
			return p.cancel(ctx, op, id, answer)
		case <-stop:
			stop = nil
			if err := p.sendCancel(id); err != nil {
				return nil, err
			}
		}
	}
}

func (line remoteLine) value(op string) (json.RawMessage, error) {
	if line.err != nil {
		if java, ok := needsJava(line.err); ok {
			return nil, fmt.Errorf("%s: %w", op, java)
		}
		return nil, fmt.Errorf("%s: %w", op, line.err)
	}
	return line.result, nil
}

// lastAnswer returns what the program may have said just before it ended.
func (p *Process) lastAnswer(op string, answer <-chan remoteLine) (json.RawMessage, error) {
	select {
	case line := <-answer:
		return line.value(op)
	default:
		return nil, fmt.Errorf("%s was not answered: %w", op, p.failure)
	}
}

func (p *Process) cancel(ctx context.Context, op string, id uint64, answer <-chan remoteLine) (json.RawMessage, error) {
	if err := p.sendCancel(id); err != nil {
		return nil, ctx.Err()
	}
	grace := time.NewTimer(cancelGrace)
	defer grace.Stop()
	select {
	case line := <-answer:
		if line.err == nil {
			return line.value(op)
		}
	case <-p.ended:
	case <-grace.C:
	}
	return nil, ctx.Err()
}

// sendCancel asks for the end of a request; what the program answers to that does
// not matter.
func (p *Process) sendCancel(id uint64) error {
	cancelID, _, err := p.send("cancel", map[string]uint64{"target": id}, nil)
	if err == nil {
		p.forget(cancelID)
	}
	return err
}

func (p *Process) send(op string, params any, onEvent func(Event)) (uint64, <-chan remoteLine, error) {
	answer := make(chan remoteLine, 1)
	p.mu.Lock()
	p.lastID++
	id := p.lastID
	p.mu.Unlock()
	line, err := encodeRequest(id, op, params)
	if err != nil {
		return 0, nil, err
	}
	p.mu.Lock()
	p.waiting[id] = answer
	if onEvent != nil {
		p.events[id] = onEvent
	}
	p.mu.Unlock()

	err = p.write(line)
	if err == nil {
		return id, answer, nil
	}
	p.forget(id)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, nil, fmt.Errorf("%s could not be sent: driver program %s has read nothing for %s", op, p.name, p.patience)
	}
	select {
	case <-p.ended:
		return 0, nil, fmt.Errorf("%s could not be sent: %w", op, p.failure)
	case <-time.After(p.patience):
		return 0, nil, fmt.Errorf("%s could not be sent to %s: %w", op, p.name, err)
	}
}

// write sends a line, in so long as patience is: a program that does not read fills its pipe.
func (p *Process) write(line []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if pipe, ok := p.stdin.(interface{ SetWriteDeadline(time.Time) error }); ok {
		// A pipe that knows no deadline is written to without.
		_ = pipe.SetWriteDeadline(time.Now().Add(p.patience))
	}
	_, err := p.stdin.Write(line)
	return err
}

func (p *Process) forget(id uint64) {
	p.mu.Lock()
	delete(p.waiting, id)
	p.mu.Unlock()
}

// read hands each line to whom it is for. A program that does not keep to the
// protocol is stopped: nothing it says afterwards can be relied on.
func (p *Process) read(stdout *io.PipeReader) {
	scanner := bufio.NewScanner(stdout)
	scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
	for scanner.Scan() {
		if len(scanner.Bytes()) == 0 {
			continue
		}
		line, err := decodeLine(scanner.Bytes())
		if err != nil {
			p.breach(err)
			break
		}
		p.dispatch(line)
	}
	err := scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("a line of more than %d MiB, which is the most", maxLine>>20)
	}
	if err != nil {
		p.breach(err)
	}
	stdout.Close()
}

func (p *Process) dispatch(line remoteLine) {
	p.mu.Lock()
	answer, onEvent := p.waiting[line.id], p.events[line.id]
	if line.event == nil {
		delete(p.waiting, line.id)
	}
	p.mu.Unlock()
	switch {
	case line.event != nil && onEvent != nil:
		onEvent(*line.event)
	case line.event == nil && answer != nil:
		answer <- line
	}
}

func (p *Process) breach(err error) {
	p.mu.Lock()
	p.broken = fmt.Errorf("it broke the protocol on stdout: %w", err)
	p.mu.Unlock()
	killGroup(p.cmd)
}

func (p *Process) end(waitErr error) {
	p.mu.Lock()
	cause := p.broken
	if cause == nil {
		cause = waitErr
	}
	text := fmt.Sprintf("driver program %s has ended", p.name)
	if cause != nil {
		p.failure = fmt.Errorf("%s: %w%s", text, cause, p.stderr.quote())
	} else {
		p.failure = errors.New(text + p.stderr.quote())
	}
	p.mu.Unlock()
	close(p.ended)
}

// Kill kills the program, with all it has started, and returns when it is gone.
func (p *Process) Kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	killGroup(p.cmd)
	<-p.ended
}

// Close closes the program's stdin, which tells it to end, and kills it with all
// it has started if it has not done so within ten seconds. A program that was
// killed, or that ended by itself with an error, is an error.
func (p *Process) Close() error {
	p.writing.Lock()
	p.stdin.Close()
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
	defer p.mu.Unlock()
	if p.broken != nil || !p.killed && !p.cmd.ProcessState.Success() {
		return p.failure
	}
	return nil
}
