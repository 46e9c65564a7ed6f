package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// Hello is how a program introduces itself.
type Hello struct {
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Protocol     int      `json:"protocol"`
	Capabilities []string `json:"capabilities"`
	Codecs       []string `json:"codecs"`
}

// Protocol is the version of docs/protocol.md this client speaks.
const Protocol = 3

// Link is the caller's end of a program that speaks docs/protocol.md, whatever carries its lines: the
// pipes of a child process, a connection from another host, a pipe in this process. Its methods may be
// called from many goroutines at once.
type Link struct {
	// Hello is the program's introduction, once it was greeted.
	Hello Hello

	name string
	out  io.WriteCloser
	// patience is what the program gets to read what is written to it, and to end.
	patience time.Duration
	quote    func() string // the end of its stderr
	stop     func()        // ends a program that broke the protocol
	ended    chan struct{} // closed once no more lines come and failure is set

	writing sync.Mutex

	mu      sync.Mutex
	lastID  uint64
	waiting map[uint64]chan remoteLine // nil where the caller waits no longer
	events  map[uint64]func(Event)
	faults  []error
	broken  error // the program broke the protocol
	failure error // why no more answers come
}

func newLink(name string, out io.WriteCloser) *Link {
	return &Link{
		name: name, out: out, patience: closeTimeout, quote: func() string { return "" }, stop: func() {}, ended: make(chan struct{}),
		waiting: map[uint64]chan remoteLine{}, events: map[uint64]func(Event){},
	}
}

// Connect links to a program at the other end of a connection, and waits for its hello. Closing the
// Link closes the connection.
func Connect(ctx context.Context, name string, conn io.ReadWriteCloser) (*Link, error) {
	l := newLink(name, conn)
	l.stop = func() { _ = conn.Close() }
	go func() {
		l.read(conn)
		l.end(nil)
	}()
	if err := l.greet(ctx, helloTimeout); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close closes the connection and returns what the program did against the protocol.
func (l *Link) Close() error {
	l.writing.Lock()
	err := l.out.Close()
	l.writing.Unlock()
	<-l.ended
	return errors.Join(err, l.Fault())
}

// Kill closes the connection, in the middle of whatever is under way.
func (l *Link) Kill() { l.stop() }

// Ended is closed once the program sends no more lines.
func (l *Link) Ended() <-chan struct{} { return l.ended }

// Failure is why a program that has ended did.
func (l *Link) Failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// Fault is a breach of the protocol that did not end the program; nil if nothing.
func (l *Link) Fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.faults...)
}

// Identity returns the implementation's name and version as the program gave them.
func (l *Link) Identity() driver.Identity {
	return driver.Identity{Name: l.Hello.Name, Version: l.Hello.Version}
}

// Introduction returns what the program said to hello.
func (l *Link) Introduction() Hello { return l.Hello }

func (l *Link) greet(ctx context.Context, limit time.Duration) error {
	greeting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := l.Call(greeting, "hello", nil)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("driver program %s: expected an answer to hello within %s, got none%s", l.name, limit, l.quote())
	}
	if err != nil {
		return fmt.Errorf("driver program %s: %w", l.name, err)
	}
	if err := json.Unmarshal(result, &l.Hello); err != nil || l.Hello.Name == "" {
		return fmt.Errorf("driver program %s: expected a name and a version in answer to hello, got %.120s", l.name, result)
	}
	if l.Hello.Protocol != Protocol {
		return fmt.Errorf("driver program %s speaks version %d of the protocol, expected %d", l.name, l.Hello.Protocol, Protocol)
	}
	return nil
}

// Call sends a request and waits for its result. params is a struct or map whose
// fields are the op's arguments, or nil. An error of the program's is a
// *RemoteError. When ctx ends the request is cancelled and ctx's error returned,
// unless the result arrives all the same within two seconds.
func (l *Link) Call(ctx context.Context, op string, params any) (json.RawMessage, error) {
	return l.CallEvents(ctx, op, params, nil)
}

// CallEvents is Call for ops that send events. onEvent gets each in order; it
// must not block, and goes on after the result until the program ends.
func (l *Link) CallEvents(ctx context.Context, op string, params any, onEvent func(Event)) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, answer, err := l.send(op, params, onEvent)
	if err != nil {
		return nil, err
	}
	defer l.forget(id)
	select {
	case line := <-answer:
		return line.value(op)
	case <-l.ended:
		return l.lastAnswer(op, answer)
	case <-ctx.Done():
		return l.cancel(ctx, op, id, answer)
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
func (l *Link) lastAnswer(op string, answer <-chan remoteLine) (json.RawMessage, error) {
	select {
	case line := <-answer:
		return line.value(op)
	default:
		return nil, fmt.Errorf("%s was not answered: %w", op, l.failure)
	}
}

func (l *Link) cancel(ctx context.Context, op string, id uint64, answer <-chan remoteLine) (json.RawMessage, error) {
	cancelID, _, err := l.send("cancel", map[string]uint64{"target": id}, nil)
	if err != nil {
		return nil, ctx.Err()
	}
	l.forget(cancelID)
	grace := time.NewTimer(cancelGrace)
	defer grace.Stop()
	select {
	case line := <-answer:
		if line.err == nil {
			return line.value(op)
		}
	case <-l.ended:
	case <-grace.C:
	}
	return nil, ctx.Err()
}

func (l *Link) send(op string, params any, onEvent func(Event)) (uint64, <-chan remoteLine, error) {
	answer := make(chan remoteLine, 1)
	l.mu.Lock()
	l.lastID++
	id := l.lastID
	l.mu.Unlock()
	line, err := encodeRequest(id, op, params)
	if err != nil {
		return 0, nil, err
	}
	l.mu.Lock()
	l.waiting[id] = answer
	if onEvent != nil {
		l.events[id] = onEvent
	}
	l.mu.Unlock()

	err = l.write(line)
	if err == nil {
		return id, answer, nil
	}
	l.forget(id)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, nil, fmt.Errorf("%s could not be sent: driver program %s has read nothing for %s", op, l.name, l.patience)
	}
	select {
	case <-l.ended:
		return 0, nil, fmt.Errorf("%s could not be sent: %w", op, l.failure)
	case <-time.After(l.patience):
		return 0, nil, fmt.Errorf("%s could not be sent to %s: %w", op, l.name, err)
	}
}

// write sends a line, in so long as patience is: a program that does not read fills its pipe.
func (l *Link) write(line []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if pipe, ok := l.out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		// A pipe that knows no deadline is written to without.
		_ = pipe.SetWriteDeadline(time.Now().Add(l.patience))
	}
	_, err := l.out.Write(line)
	return err
}

// forget says that the caller waits no longer for an answer, which may yet come.
func (l *Link) forget(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, waits := l.waiting[id]; waits {
		l.waiting[id] = nil
	}
}

// read hands each line to whom it is for. A program that does not keep to the
// protocol is stopped: nothing it says afterwards can be relied on.
func (l *Link) read(lines io.Reader) {
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
	for scanner.Scan() {
		if len(scanner.Bytes()) == 0 {
			continue
		}
		line, err := decodeLine(scanner.Bytes())
		if err != nil {
			l.breach(err)
			return
		}
		l.dispatch(line)
	}
	if err := scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
		l.breach(fmt.Errorf("a line of more than %d MiB, which is the most", maxLine>>20))
	}
}

func (l *Link) dispatch(line remoteLine) {
	l.mu.Lock()
	answer, asked := l.waiting[line.id]
	onEvent := l.events[line.id]
	if line.event == nil {
		delete(l.waiting, line.id)
		if !asked && len(l.faults) < maxFaults {
			l.faults = append(l.faults, fmt.Errorf("driver program %s: expected one answer to each request, got one to %d, which waited for none", l.name, line.id))
		}
	}
	l.mu.Unlock()
	switch {
	case line.event != nil && onEvent != nil:
		onEvent(*line.event)
	case line.event == nil && answer != nil:
		answer <- line
	}
}

// maxFaults bounds what is kept of a program that does not stop.
const maxFaults = 3

func (l *Link) breach(err error) {
	l.mu.Lock()
	l.broken = fmt.Errorf("it broke the protocol on stdout: %w", err)
	l.mu.Unlock()
	l.stop()
}

// end says that no more lines come.
func (l *Link) end(cause error) {
	l.mu.Lock()
	if l.broken != nil {
		cause = l.broken
	}
	text := fmt.Sprintf("driver program %s has ended", l.name)
	if cause != nil {
		l.failure = fmt.Errorf("%s: %w%s", text, cause, l.quote())
	} else {
		l.failure = errors.New(text + l.quote())
	}
	l.mu.Unlock()
	close(l.ended)
}
