package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// Port is a delay queue in Go on the keys of Redisson, as a program of all ops of the protocol: verify judges it, and
// run measures it inside the program. C is its client, Q its queue on a client. A port states its abilities by the ops
// that it has. dq is one.
type Port[C io.Closer, Q any] struct {
	Identity driver.Identity
	// Release is the Redisson release whose codecs turn typed values into bytes, and back: the newest if empty.
	Release string
	// Connect opens a client of the server a.Redis. The port may open several. Close of a client ends its queues.
	Connect func(ctx context.Context, a Args) (C, error)
	// Open opens the queue a.Queue by the name of its destination. It transfers due messages if a.Delayed is true; two
	// queues of one name on one client share that. A load waits half a second for a Q with a method
	// Ready(context.Context) error.
	Open func(ctx context.Context, client C, a Args) (Q, error)
	// Ops are the calls of a queue, by their names in docs/protocol.md; a key such as "dq.poll(limit)" says that "dq.poll"
	// has that overload, "open(nameMapperPrefix)" that Open knows that option, and its function is nil. open, close,
	// codec.encode, codec.decode and cancel are built in. With dq.offer and q.take the port has load.* as well, with q.poll
	// loads that poll, and with dq.remove loads that cancel messages.
	Ops map[string]Op[Q]
}

// Op carries out one call. It may be called from many goroutines at once, and returns soon after ctx ends. Its result is a
// []byte or [][]byte for values (nil for no value), and otherwise what docs/protocol.md has in JSON. An error that wraps
// errors.ErrUnsupported says that the port has no such overload.
type Op[Q any] func(ctx context.Context, queue Q, a Args) (any, error)

// Serve reads requests from in and answers on out until in ends, as the function Serve does, and closes all clients. It
// fails if Release is not in the catalogue.
func (p Port[C, Q]) Serve(in io.Reader, out io.Writer) error {
	release, err := wire.LookupRelease(cmp.Or(p.Release, wire.Newest().String()))
	if err != nil {
		return err
	}
	s := newServer(out, program.Hello{
		Identity: p.Identity, Codecs: program.CodecNames(release),
		Capabilities: slices.Sorted(maps.Keys(p.Ops)),
	}, "close", "codec.decode", "codec.encode", "open")
	if p.Ops["dq.offer"] != nil && p.Ops["q.take"] != nil {
		needs := map[string]string{"load(poll)": "q.poll", "load(cancel)": "dq.remove", "load(held)": "held"}
		s.makeLoad(p.Driver(), func(capability string) bool { return needs[capability] == "" || p.Ops[needs[capability]] != nil })
	}
	o := &ported[C, Q]{Port: p, release: release, clients: map[string]C{}, handles: map[string]portedQueue[Q]{}}
	s.do = o.do
	return errors.Join(s.serve(in), o.close(request{}))
}

// ported is a Port that runs.
type ported[C io.Closer, Q any] struct {
	Port[C, Q]
	release wire.Release

	mu      sync.Mutex
	clients map[string]C
	handles map[string]portedQueue[Q]
	made    int
}

// portedQueue is an open queue, and the codec of its values.
type portedQueue[Q any] struct {
	client string
	queue  Q
	codec  codec.Codec[any]
}

func (o *ported[C, Q]) do(ctx context.Context, r request, event func(name string, fields map[string]any)) (any, error) {
	switch r.Op {
	case "open":
		return o.open(ctx, r)
	case "close":
		return nil, o.close(r)
	case "codec.encode", "codec.decode":
		values, err := program.NamedCodec(r.Codec, r.ValueType, o.release)
		if err != nil {
			return nil, err
		}
		if r.Op == "codec.decode" {
			return decode(values, r.Bytes)
		}
		err = r.encode(values)
		return map[string][]byte{"bytes": r.Value}, err
	}
	run := o.Ops[r.Op]
	if run == nil {
		return nil, fmt.Errorf("op %q: %w", r.Op, errors.ErrUnsupported)
	}
	o.mu.Lock()
	q, ok := o.handles[r.Handle]
	o.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("handle %q is not open", r.Handle)
	}
	if err := r.encode(q.codec); err != nil {
		return nil, err
	}
	r.Element = func(value []byte) {
		if typed, err := decode(q.codec, value); err == nil {
			event("element", map[string]any{"value": typed})
		}
	}
	result, err := run(ctx, q.queue, r.Args)
	if err != nil {
		return nil, err
	}
	switch result := result.(type) {
	case []byte:
		return decode(q.codec, result)
	case [][]byte:
		all := make([]any, len(result))
		for i, value := range result {
			if all[i], err = decode(q.codec, value); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return result, nil
}

func (o *ported[C, Q]) open(ctx context.Context, a request) (any, error) {
	if _, mapped := o.Ops["open(nameMapperPrefix)"]; !mapped && a.Options["nameMapperPrefix"] != nil {
		return nil, fmt.Errorf("option nameMapperPrefix: %w", errors.ErrUnsupported)
	}
	values, err := program.NamedCodec(a.Codec, a.ValueType, o.release)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.made++
	name := cmp.Or(a.Client, "client-"+strconv.Itoa(o.made))
	client, known := o.clients[name]
	if !known {
		if client, err = o.Connect(ctx, a.Args); err != nil {
			return nil, err
		}
		o.clients[name] = client
	}
	queue, err := o.Open(ctx, client, a.Args)
	if err != nil {
		return nil, err
	}
	handle := "handle-" + strconv.Itoa(o.made)
	o.handles[handle] = portedQueue[Q]{name, queue, values}
	return map[string]string{"handle": handle, "client": name}, nil
}

// close closes the client of a handle, a client by name, or all.
func (o *ported[C, Q]) close(a request) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := cmp.Or(o.handles[a.Handle].client, a.Client)
	if _, ok := o.clients[name]; !ok && (name != "" || a.Handle != "") {
		return fmt.Errorf("client %q of handle %q is not open", name, a.Handle)
	}
	var errs []error
	for each, client := range o.clients {
		if name == "" || each == name {
			errs = append(errs, client.Close())
			delete(o.clients, each)
		}
	}
	maps.DeleteFunc(o.handles, func(_ string, q portedQueue[Q]) bool { return name == "" || q.client == name })
	return errors.Join(errs...)
}

// decode gives a value its form in the protocol, null for nil.
func decode(values codec.Codec[any], value []byte) (any, error) {
	if value == nil {
		return nil, nil
	}
	v, err := values.Decode(value)
	if err != nil {
		return nil, fmt.Errorf("decoding a value of %d bytes: %w", len(value), err)
	}
	return program.Typed(v)
}

// Driver returns the port as a driver, to make load with: its ops dq.offer and q.take, and q.poll and dq.remove if
// it has them. The queues that are opened together share a client, which ends with the last of them.
func (p Port[C, Q]) Driver() driver.Driver { return portDriver[C, Q]{p} }

type portDriver[C io.Closer, Q any] struct{ port Port[C, Q] }

func (d portDriver[C, Q]) Identity() driver.Identity { return d.port.Identity }

// readyPatience is how long to wait for the first transfers. If they fail, as on members of a layout that the
// release cannot read, the queue takes offers all the same, and a load shows their fate.
const readyPatience = 500 * time.Millisecond

func (d portDriver[C, Q]) Open(ctx context.Context, redisURL string, names ...string) ([]driver.Queue, error) {
	client, err := d.port.Connect(ctx, Args{Redis: redisURL})
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	open := new(atomic.Int64)
	open.Store(int64(len(names)))
	queues, all := make([]driver.Queue, len(names)), make([]Q, len(names))
	for i, name := range names {
		if all[i], err = d.port.Open(ctx, client, Args{Queue: name, Delayed: true}); err != nil {
			return nil, errors.Join(err, client.Close())
		}
		queues[i] = measured[Q]{ops: d.port.Ops, queue: all[i], client: client, open: open}
	}
	for _, queue := range all {
		if q, waits := any(queue).(interface{ Ready(context.Context) error }); waits {
			if err := q.Ready(waiting); err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
				return nil, errors.Join(err, client.Close())
			}
		}
	}
	return queues, nil
}

// measured is a queue of a Port under load.
type measured[Q any] struct {
	ops    map[string]Op[Q]
	queue  Q
	client io.Closer
	open   *atomic.Int64 // queues of the client that are not closed
}

// given has the arguments of a call under load, for Args.Has.
var given = map[string]json.RawMessage{"value": json.RawMessage("{}"), "delay": json.RawMessage("0")}

func (m measured[Q]) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	_, err := m.ops["dq.offer"](ctx, m.queue, Args{Value: value, Delay: Integer(delay.Milliseconds()), given: given})
	return err
}

func (m measured[Q]) Take(ctx context.Context) ([]byte, error) {
	value, err := call[[]byte](ctx, m, "q.take", Args{})
	if err == nil && value == nil {
		err = errors.New("q.take: expected a value as the result of the op, got nil")
	}
	return value, err
}

// Poll is for a port with q.poll.
func (m measured[Q]) Poll(ctx context.Context) ([]byte, bool, error) {
	value, err := call[[]byte](ctx, m, "q.poll", Args{})
	return value, err == nil && value != nil, err
}

// Remove is for a port with dq.remove.
func (m measured[Q]) Remove(ctx context.Context, value []byte) (bool, error) {
	return call[bool](ctx, m, "dq.remove", Args{Value: value, given: given})
}

// call runs an op whose result is a T or nil.
func call[T, Q any](ctx context.Context, m measured[Q], op string, a Args) (value T, err error) {
	result, err := m.ops[op](ctx, m.queue, a)
	value, ok := result.(T)
	if err == nil && !ok && result != nil {
		err = fmt.Errorf("%s: expected a %T as the result of the op, got %T", op, value, result)
	}
	return value, err
}

// Close closes the client with its last queue.
func (m measured[Q]) Close() error {
	if m.open.Add(-1) == 0 {
		return m.client.Close()
	}
	return nil
}
