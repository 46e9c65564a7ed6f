// Package serve makes a delay queue written in Go a program of the driver protocol (docs/protocol.md).
//
// A queue on the keys of Redisson is a Port: its ops, which 'dq-bench verify' judges, by their names; the rest of the protocol
// is done here. Any other queue is a driver.Driver, which the function Serve serves to 'dq-bench run'. The
// agent that makes load is in it; counts and judgement are not.
package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// lastAnswers is how long requests may go on once in has ended, and once they are cancelled.
const lastAnswers = time.Second

// Serve reads requests from in and answers on out until in ends. A request under way then has a second to end by itself,
// is cancelled, and has another second to answer: a main that calls Serve returns after that, which ends the program. It fails
// if in cannot be read, and for a line that is no request.
//
// The identity of d is in the answer to hello; the ops are hello, cancel and load.*. Its queues should implement driver.Inspector:
// a message that is neither delivered nor held counts as lost.
func Serve(in io.Reader, out io.Writer, d driver.Driver) error {
	s := newServer(out, program.Hello{Identity: d.Identity(), Codecs: []string{"bytes"}})
	s.makeLoad(true, true, true, func(_ context.Context, redisURL string) (opener, io.Closer, error) {
		return func(ctx context.Context, name string) (driver.Queue, error) { return d.Open(ctx, redisURL, name) }, io.NopCloser(nil), nil
	})
	if timed, ok := d.(interface{ Timing() clock.Clock }); ok {
		s.clock = timed.Timing()
	}
	return s.serve(in)
}

// opener opens a queue on a client.
type opener func(ctx context.Context, name string) (driver.Queue, error)

type server struct {
	hello program.Hello
	ops   map[string]func(ctx context.Context, r request) (any, error) // "load" runs load.*

	clock   clock.Clock // of the instants of items
	epoch   program.Epoch
	connect func(ctx context.Context, redisURL string) (opener, io.Closer, error) // for a load

	writing sync.Mutex
	out     *json.Encoder

	requests sync.WaitGroup
	running  sync.Map // json.Number → context.CancelFunc

	mu     sync.Mutex
	agents map[string]*agent // by the handles of their loads
	made   int               // loads
}

func newServer(out io.Writer, hello program.Hello) *server {
	s := &server{hello: hello, out: json.NewEncoder(out), agents: map[string]*agent{}}
	s.ops = map[string]func(context.Context, request) (any, error){
		"hello": func(context.Context, request) (any, error) { return s.hello, nil },
		"cancel": func(_ context.Context, r request) (any, error) { // true if the other request was still running
			cancel, ok := s.running.Load(r.Target)
			if ok {
				cancel.(context.CancelFunc)() //nolint:forcetypeassert // only start stores
			}
			return ok, nil
		},
	}
	return s
}

func (s *server) serve(in io.Reader) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s.hello.Protocol, s.hello.Capabilities = program.Protocol, slices.Sorted(maps.Keys(s.ops))
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
	if !ends(&s.requests, lastAnswers) {
		stop()
		ends(&s.requests, lastAnswers)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.agents) > 0 {
		return errors.New("the run left in the middle of a load: it gave this agent up, or was killed")
	}
	return nil
}

// ends reports whether work ends within a time.
func ends(work *sync.WaitGroup, within time.Duration) bool {
	ended, end := context.WithCancel(context.Background())
	go func() {
		work.Wait()
		end()
	}()
	return !program.Pause(ended, within)
}

// start runs a request concurrently. It can be cancelled once start has returned.
func (s *server) start(ctx context.Context, r request) {
	ctx, cancel := context.WithCancel(ctx)
	s.running.Store(r.ID, cancel)
	r.event = func(name string, fields map[string]any) {
		fields["id"], fields["event"] = r.ID, name
		s.write(fields)
	}
	s.requests.Go(func() {
		defer cancel()
		result, err := s.run(ctx, r)
		s.running.Delete(r.ID)
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
	op := s.ops[r.Op]
	if strings.HasPrefix(r.Op, "load.") {
		op = s.ops[program.LoadOp]
	}
	switch {
	case op == nil:
		return nil, fmt.Errorf("op %q: %w", r.Op, errors.ErrUnsupported)
	case r.wrong != nil:
		return nil, fmt.Errorf("%s: %w", r.Op, r.wrong)
	}
	return op(ctx, r)
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

// Integer is a whole number of the protocol, of any 64 bits. A string may hold it too, for many languages have 53 bits
// for a number of JSON.
type Integer int64

// UnmarshalJSON reads 7 and "7".
func (n *Integer) UnmarshalJSON(data []byte) error {
	read, err := strconv.ParseInt(string(bytes.Trim(data, `"`)), 10, 64)
	if err != nil && string(data) != "null" {
		return fmt.Errorf("expected a whole number, got %.40s", data)
	}
	*n = Integer(read)
	return nil
}

// Args are the arguments of an op, as docs/protocol.md names them. A missing argument has the zero value.
type Args struct {
	// Redis is the URL of a server, for Connect.
	Redis string
	// Options are options of open. A port ignores unknown options.
	Options map[string]any
	// Delayed makes Open transfer due messages; true if a request leaves it out.
	Delayed bool

	// Value and Values are bytes, as the codec of the queue writes them.
	Value  []byte
	Values [][]byte
	// Delay, Timeout and TTL are in milliseconds, whatever unit the request gave; At is in Unix milliseconds.
	Delay, Timeout, TTL                                  Integer
	At, Limit, Max, Index, Database, Count, Subscription Integer
	Queue, Name, From, To, Condition                     string
	Queues                                               []string
	Replace                                              bool
	// Element sends an element to the caller of q.subscribeOnElements and the like.
	Element func(value []byte) `json:"-"`

	given map[string]json.RawMessage
}

// Has reports whether the request gave an argument: "timeout" distinguishes overloads of q.poll.
func (a Args) Has(name string) bool {
	raw, ok := a.given[name]
	return ok && string(raw) != "null"
}

// request is one line of the caller.
type request struct {
	ID, Target                             json.Number // numbers, or strings that hold one
	Op                                     string
	Handle, Client, Codec, ValueType, Unit string
	Bytes                                  []byte
	Value                                  json.RawMessage
	Values                                 []json.RawMessage
	Items                                  []byte // of load.offer
	Abandon                                bool   // of load.halt
	Args

	line  []byte
	wrong error // an argument that could not be read
	event func(name string, fields map[string]any)
}

// readRequest reads a line but for its values, which need a codec. It fails for a line that cannot be answered.
func readRequest(line []byte) (r request, err error) {
	r.line, r.Codec, r.ValueType, r.Unit, r.Delayed = bytes.Clone(line), "default", "pojo", "ms", true
	r.wrong = errors.Join(json.Unmarshal(line, &r), json.Unmarshal(line, &r.given))
	if r.ID == "" {
		return r, errors.Join(fmt.Errorf("expected a request as one JSON object a line, with a number as its id, got %.120q", line), r.wrong)
	}
	for _, n := range []*Integer{&r.Delay, &r.Timeout, &r.TTL} {
		ms, err := program.Millis(int64(*n), r.Unit)
		*n, r.wrong = Integer(ms), errors.Join(r.wrong, err)
	}
	return r, nil
}

// encode writes the values of the request by a codec.
func (r *request) encode(values codec.Codec[any]) (err error) {
	one := func(raw json.RawMessage) (encoded []byte) {
		v, failure := program.Value(raw)
		if failure == nil {
			encoded, failure = values.Encode(v)
		}
		err = errors.Join(err, failure)
		return encoded
	}
	if r.Has("value") {
		r.Args.Value = one(r.Value)
	}
	for _, raw := range r.Values {
		r.Args.Values = append(r.Args.Values, one(raw))
	}
	return err
}
