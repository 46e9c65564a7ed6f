// Package serve answers: how does a delay queue written in Go become a program
// of the driver protocol (PROTOCOL.md)?
//
// It has the ops hello, load.* and cancel: enough for
// 'dq-bench run --driver exec:<program>'. The measuring code is that of the
// drivers inside dq-bench: this is the one room below harness/driver that imports
// harness/load, and only such a program imports it.
package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/program"
	"github.com/dq-bench/dq-bench/harness/load"
)

// maxRequest bounds one line of the caller.
const maxRequest = 1 << 20

// Serve reads requests from in and answers on out until in ends. What is still
// under way then is called off and not waited for: a main that calls Serve
// returns at once, which ends the program. It fails if in cannot be read, and
// for a line that is no request.
//
// The identity of d is what hello tells. Its queues should implement
// driver.Holder, for a message that nobody holds counts as lost.
func Serve(in io.Reader, out io.Writer, d driver.Driver) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s := &server{driver: d, host: load.NewHost(d), out: json.NewEncoder(out), running: map[string]context.CancelFunc{}}
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
	return nil
}

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
	driver driver.Driver
	host   *load.Host

	writing sync.Mutex
	out     *json.Encoder

	mu      sync.Mutex
	running map[string]context.CancelFunc
}

// start runs a request beside the others. It can be cancelled once start has
// returned.
func (s *server) start(ctx context.Context, r request) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.running[r.id] = cancel
	s.mu.Unlock()
	go func() {
		result, err := s.run(ctx, r)
		s.mu.Lock()
		delete(s.running, r.id)
		s.mu.Unlock()
		s.answer(r, result, err, ctx.Err() != nil)
		cancel()
	}()
}

func (s *server) run(ctx context.Context, r request) (any, error) {
	switch r.op {
	case "hello":
		identity := s.driver.Identity()
		return program.Hello{
			Name: identity.Name, Version: identity.Version, Protocol: program.Protocol,
			Capabilities: append([]string{"hello", "cancel"}, s.host.Capabilities()...), Codecs: []string{"bytes"},
		}, nil
	case "cancel":
		return s.cancel(r)
	}
	if load.IsLoadOp(r.op) {
		return s.host.Do(ctx, r.op, r.line, func(fields any) { s.event(r, fields) })
	}
	return nil, fmt.Errorf("op %q: %w", r.op, program.ErrUnsupported)
}

// cancel calls another request off; true if it was still running.
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
	if errors.Is(err, program.ErrUnsupported) || errors.As(err, new(*driver.CapabilityError)) {
		return "unsupported"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}

// event sends the fields as an event of the request.
func (s *server) event(r request, fields any) {
	encoded, err := json.Marshal(fields)
	line := map[string]any{}
	if err == nil {
		err = json.Unmarshal(encoded, &line)
	}
	if err != nil {
		return // a progress line is not worth the run
	}
	line["id"], line["event"] = json.Number(r.id), "progress"
	s.write(line)
}

// write sends a line. A caller that is gone closes stdin too, which ends Serve.
func (s *server) write(line map[string]any) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.out.Encode(line)
}
