// Package serve makes a delay queue written in Go a program of the driver protocol (docs/protocol.md).
//
// A queue on the keys of Redisson is a Port: its ops, which 'dq-bench verify' judges, by their names; the rest of the protocol
// is done here. Any other queue is a driver.Driver, which the function Serve serves to 'dq-bench run'. The
// agent that makes load is in it; counts and judgement are not.
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// lastAnswers is how long requests may go on once in has ended, and once they are cancelled.
const lastAnswers = time.Second

// Serve reads requests from in and answers on out until in ends. A request under way then has a second to end by itself,
// is cancelled, and has another second to answer: a main that calls Serve returns after that, which ends the program. It fails
// if in cannot be read, and for a line that is no request.
//
// The identity of d is in the answer to hello. Its queues should implement driver.Inspector: a message that is neither delivered nor
// held counts as lost. A driver with a method Serve(io.Reader, io.Writer) error is served by that, as dq is, which is a Port; any other one
// has the ops hello, cancel and load.* only.
func Serve(in io.Reader, out io.Writer, d driver.Driver) error {
	if p, ok := d.(interface {
		Serve(in io.Reader, out io.Writer) error
	}); ok {
		return p.Serve(in, out)
	}
	s := newServer(out, program.Hello{Identity: d.Identity(), Codecs: []string{"bytes"}})
	s.load(d, func(string) bool { return true })
	return s.serve(in)
}

type server struct {
	hello program.Hello
	loads *loads // nil if no load can be made
	// do carries out the ops that a server does not know itself; nil if there are no others. event sends fields as an event
	// of the request.
	do func(ctx context.Context, r request, event func(name string, fields map[string]any)) (any, error)

	writing sync.Mutex
	out     *json.Encoder

	requests sync.WaitGroup
	mu       sync.Mutex
	running  map[json.Number]context.CancelFunc
}

func newServer(out io.Writer, hello program.Hello, builtIn ...string) *server {
	hello.Protocol, hello.Capabilities = program.Protocol, slices.Concat(hello.Capabilities, builtIn, []string{"hello", "cancel"})
	return &server{hello: hello, out: json.NewEncoder(out), running: map[json.Number]context.CancelFunc{}}
}

// load has the server make load with a driver that has these capabilities, by the driver's clock if it says one.
func (s *server) load(d driver.Driver, has func(capability string) bool) {
	by := clock.System()
	if timed, ok := d.(interface{ Timing() clock.Clock }); ok {
		by = timed.Timing()
	}
	s.loads = &loads{driver: d, clock: by, epoch: program.NewEpoch(), agents: map[string]*agent{}}
	for _, capability := range capabilities {
		if has(capability) {
			s.hello.Capabilities = append(s.hello.Capabilities, capability)
		}
	}
}

func (s *server) serve(in io.Reader) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	err := program.ReadLines(in, func(line []byte) error {
		r, err := readRequest(line)
		if err == nil {
			s.start(ctx, r)
		}
		return err
	})
	if err != nil {
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

// start runs a request concurrently. It can be cancelled once start has returned.
func (s *server) start(ctx context.Context, r request) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.running[r.ID] = cancel
	s.mu.Unlock()
	s.requests.Go(func() {
		defer cancel()
		result, err := s.run(ctx, r)
		s.mu.Lock()
		delete(s.running, r.ID)
		s.mu.Unlock()
		line := map[string]any{"id": r.ID, "ok": err == nil}
		if err == nil {
			line["result"] = result
		} else {
			line["error"] = program.RemoteError{Class: class(err, ctx.Err() != nil), Message: err.Error()}
		}
		s.write(line)
	})
}

func (s *server) run(ctx context.Context, r request) (any, error) {
	event := func(name string, fields map[string]any) {
		fields["id"], fields["event"] = r.ID, name
		s.write(fields)
	}
	switch {
	case r.Op == "hello":
		return s.hello, nil
	case r.Op == "cancel": // true if the other request was still running
		s.mu.Lock()
		defer s.mu.Unlock()
		cancel, ok := s.running[r.Target]
		if ok {
			cancel()
		}
		return ok, nil
	case s.loads != nil && strings.HasPrefix(r.Op, "load."):
		return s.loads.do(ctx, r, func(fields map[string]any) { event("samples", fields) })
	case r.wrong != nil:
		return nil, fmt.Errorf("%s: %w", r.Op, r.wrong)
	case s.do != nil:
		return s.do(ctx, r, event)
	}
	return nil, fmt.Errorf("op %q: %w", r.Op, errors.ErrUnsupported)
}

// class names an error as the protocol does: in one of its two words, or by the type of the wrapped error.
func class(err error, cancelled bool) string {
	if cancelled {
		return "cancelled"
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.As(err, new(*driver.CapabilityError)) {
		return "unsupported"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}

// write sends a line. A caller that is gone closes stdin too, which ends Serve.
func (s *server) write(line map[string]any) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.out.Encode(line)
}
