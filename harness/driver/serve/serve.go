// Package serve answers: how does a delay queue written in Go become a program
// of the driver protocol (docs/protocol.md)?
//
// A queue on the keys of Redisson is a Port: its ops, which 'dq-bench verify' judges, by
// their names, and what the protocol asks for besides is done here. Any other queue is a
// driver.Driver, which the function Serve serves to 'dq-bench run'. The agent that makes load
// is in it; what counts and judges is not.
package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/faketime"
)

// maxRequest bounds one line of the caller.
const maxRequest = 64 << 20

// Serve reads requests from in and answers on out until in ends. What is still
// under way then has a second to end by itself, is cancelled, and has another second to
// answer: a main that calls Serve returns after that, which ends the program. It fails
// if in cannot be read, and for a line that is no request.
//
// The identity of d is what hello tells. Its queues should implement
// driver.Inspector, for a message that nobody holds counts as lost. Of a driver other
// than dq's it has the ops hello, cancel and load.* only: a Port has the others.
//
// Where the environment names a clock (harness/faketime), a driver.ClockSetter goes by that.
func Serve(in io.Reader, out io.Writer, d driver.Driver) error {
	if c, ok := d.(driver.ClockSetter); ok {
		d = c.WithClock(faketime.FromEnvironment())
	}
	if l, ok := d.(library.DQ); ok {
		return serve(in, out, agent.NewHost(d, clock.System()), dqCalls{program.NewLibrary(l)})
	}
	return serve(in, out, agent.NewHost(d, clock.System()), measuredOnly{d})
}

// calls are the ops of a queue; event sends fields, its name among them, as an event of
// the request. An op that there is not fails with errors.ErrUnsupported.
type calls interface {
	Introduction() program.Hello
	do(ctx context.Context, op string, line []byte, event func(fields map[string]any)) (any, error)
}

// measuredOnly has none of them.
type measuredOnly struct{ driver driver.Driver }

func (m measuredOnly) Introduction() program.Hello {
	identity := m.driver.Identity()
	return program.Hello{Name: identity.Name, Version: identity.Version, Protocol: program.Protocol, Codecs: []string{"bytes"}}
}

func (measuredOnly) do(_ context.Context, op string, _ []byte, _ func(map[string]any)) (any, error) {
	return nil, fmt.Errorf("op %q: %w", op, errors.ErrUnsupported)
}

// dqCalls are those of dq.
type dqCalls struct{ *program.Library }

func (l dqCalls) do(ctx context.Context, op string, line []byte, _ func(map[string]any)) (any, error) {
	fields, err := rawFields(line)
	if err != nil {
		return nil, err
	}
	return l.Call(ctx, op, fields)
}

// serve serves calls, and the ops load.* where there is a host.
func serve(in io.Reader, out io.Writer, host *agent.Host, c calls) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s := &server{calls: c, host: host, out: json.NewEncoder(out), running: map[string]context.CancelFunc{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRequest)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		r, err := parseRequest(lines.Bytes())
		if err != nil {
			return err
		}
		s.start(ctx, r)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading requests: %w", err)
	}
	answered := make(chan struct{})
	go func() {
		s.requests.Wait()
		close(answered)
	}()
	for range 2 {
		select {
		case <-answered:
			return nil
		case <-time.After(lastAnswers):
			stop()
		}
	}
	return nil
}

// lastAnswers is how long requests may go on once in has ended, and once they are cancelled.
const lastAnswers = time.Second

// request is one line of the caller; line holds the op's arguments too.
type request struct {
	id   string
	op   string
	line []byte
}

func parseRequest(line []byte) (request, error) {
	var head struct {
		ID json.RawMessage `json:"id"`
		Op string          `json:"op"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return request{}, fmt.Errorf("expected a request as one JSON object a line, got %.120q: %w", line, err)
	}
	var id json.Number // a number, or a string that holds one
	if err := json.Unmarshal(head.ID, &id); err != nil || id == "" {
		return request{}, fmt.Errorf(`expected the "id" of the request, a number, got %.120q`, line)
	}
	return request{id: id.String(), op: head.Op, line: append([]byte(nil), line...)}, nil
}

type server struct {
	calls calls
	host  *agent.Host // nil where a load cannot be made

	writing sync.Mutex
	out     *json.Encoder

	requests sync.WaitGroup
	mu       sync.Mutex
	running  map[string]context.CancelFunc
}

// start runs a request beside the others. It can be cancelled once start has
// returned.
func (s *server) start(ctx context.Context, r request) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.running[r.id] = cancel
	s.mu.Unlock()
	s.requests.Go(func() {
		result, err := s.run(ctx, r)
		s.mu.Lock()
		delete(s.running, r.id)
		s.mu.Unlock()
		s.answer(r, result, err, ctx.Err() != nil)
		cancel()
	})
}

func (s *server) run(ctx context.Context, r request) (any, error) {
	switch r.op {
	case "hello":
		hello := s.calls.Introduction()
		hello.Capabilities = append(hello.Capabilities, "cancel")
		if !hello.Can("hello") {
			hello.Capabilities = append(hello.Capabilities, "hello")
		}
		if s.host != nil {
			hello.Capabilities = append(hello.Capabilities, s.host.Capabilities()...)
		}
		return hello, nil
	case "cancel":
		return s.cancel(r)
	}
	if s.host != nil && agent.Is(r.op) {
		return s.host.Do(ctx, r.op, r.line, func(fields map[string]any) { s.event(r, "samples", fields) })
	}
	return s.calls.do(ctx, r.op, r.line, func(fields map[string]any) { s.event(r, "element", fields) })
}

// cancel cancels another request; true if it was still running.
func (s *server) cancel(r request) (any, error) {
	var arguments struct {
		Target json.Number `json:"target"`
	}
	if err := json.Unmarshal(r.line, &arguments); err != nil {
		return nil, fmt.Errorf("cancel: expected the id of a request as target: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel, ok := s.running[arguments.Target.String()]
	if ok {
		cancel()
	}
	return ok, nil
}

func (s *server) answer(r request, result any, err error, cancelled bool) {
	line := map[string]any{"id": json.Number(r.id), "ok": err == nil}
	if err == nil {
		line["result"] = result
	} else {
		line["error"] = program.RemoteError{Class: class(err, cancelled), Message: err.Error()}
	}
	s.write(line)
}

// class names an error as the protocol does: in one of its two words, or by the
// type of what was wrapped.
func class(err error, cancelled bool) string {
	if cancelled {
		return "cancelled"
	}
	if remote := new(program.RemoteError); errors.As(err, &remote) {
		return remote.Class
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, dq.ErrUnsupported) || errors.As(err, new(*driver.CapabilityError)) {
		return "unsupported"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}

// event sends the fields as an event of the request.
func (s *server) event(r request, name string, fields map[string]any) {
	fields["id"], fields["event"] = json.Number(r.id), name
	s.write(fields)
}

// write sends a line. A caller that is gone closes stdin too, which ends Serve.
func (s *server) write(line map[string]any) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.out.Encode(line)
}
