package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"sync"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// Port is a delay queue in Go on the keys of Redisson, as a program of all ops of the protocol: verify judges it, and run measures it
// inside the program. C is its client, Q its queue on a client. A port states its abilities by the ops that it has. dq is one.
type Port[C io.Closer, Q any] struct {
	Identity driver.Identity
	// Release is the Redisson release whose codecs turn typed values into bytes, and back: the newest if empty.
	Release string
	// Connect opens a client of the server a.Redis. The port may open several. Close of a client ends its queues.
	Connect func(ctx context.Context, a Args) (C, error)
	// Open opens the queue a.Queue by the name of its destination. It transfers due messages if a.Delayed is true; two
	// queues of one name on one client share that.
	Open func(ctx context.Context, client C, a Args) (Q, error)
	// Ops are the calls of a queue, by their names in docs/protocol.md; a key such as "dq.poll(limit)" says that "dq.poll"
	// has that overload, "open(nameMapperPrefix)" that Open knows that option, and its function is nil. open, close,
	// codec.encode, codec.decode and cancel are built in. If Q is a driver.Queue, the port has load.* as well: with
	// driver.Poller loads that poll, and with driver.Remover loads that cancel messages.
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
	s := newServer(out, program.Hello{Identity: p.Identity, Codecs: program.CodecNames(release)})
	o := &ported[C, Q]{Port: p, release: release, clients: map[string]C{}, handles: map[string]portedQueue[Q]{}}
	s.ops["open"], s.ops["close"], s.ops["codec.encode"], s.ops["codec.decode"] = o.open, o.close, o.codec, o.codec
	for name, op := range p.Ops {
		s.ops[name] = nil
		if op != nil {
			s.ops[name] = func(ctx context.Context, r request) (any, error) { return o.call(ctx, op, r) }
		}
	}
	queue := any(*new(Q))
	if _, loads := queue.(driver.Queue); loads {
		_, polls := queue.(driver.Poller)
		_, removes := queue.(driver.Remover)
		_, lists := queue.(driver.Inspector)
		s.makeLoad(polls, removes, lists, o.connect)
	}
	err = s.serve(in)
	_, closing := o.close(context.Background(), request{})
	return errors.Join(err, closing)
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

type portedQueue[Q any] struct {
	client string
	queue  Q
	codec  codec.Codec[any]
}

// call carries out an op of the port, and decodes its values.
func (o *ported[C, Q]) call(ctx context.Context, op Op[Q], r request) (any, error) {
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
			r.event("element", map[string]any{"value": typed})
		}
	}
	result, err := op(ctx, q.queue, r.Args)
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

func (o *ported[C, Q]) open(ctx context.Context, r request) (any, error) {
	if _, mapped := o.Ops["open(nameMapperPrefix)"]; !mapped && r.Options["nameMapperPrefix"] != nil {
		return nil, fmt.Errorf("option nameMapperPrefix: %w", errors.ErrUnsupported)
	}
	values, err := program.NamedCodec(r.Codec, r.ValueType, o.release)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.made++
	name := cmp.Or(r.Client, "client-"+strconv.Itoa(o.made))
	client, known := o.clients[name]
	if !known {
		if client, err = o.Connect(ctx, r.Args); err != nil {
			return nil, err
		}
		o.clients[name] = client
	}
	queue, err := o.Open(ctx, client, r.Args)
	if err != nil {
		return nil, err
	}
	handle := "handle-" + strconv.Itoa(o.made)
	o.handles[handle] = portedQueue[Q]{name, queue, values}
	return map[string]string{"handle": handle, "client": name}, nil
}

// close closes the client of a handle, a client by name, or all.
func (o *ported[C, Q]) close(_ context.Context, r request) (any, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := cmp.Or(o.handles[r.Handle].client, r.Client)
	if _, ok := o.clients[name]; !ok && (name != "" || r.Handle != "") {
		return nil, fmt.Errorf("client %q of handle %q is not open", name, r.Handle)
	}
	var errs []error
	for each, client := range o.clients {
		if name == "" || each == name {
			errs = append(errs, client.Close())
			delete(o.clients, each)
		}
	}
	maps.DeleteFunc(o.handles, func(_ string, q portedQueue[Q]) bool { return name == "" || q.client == name })
	return nil, errors.Join(errs...)
}

func (o *ported[C, Q]) codec(_ context.Context, r request) (any, error) {
	values, err := program.NamedCodec(r.Codec, r.ValueType, o.release)
	switch {
	case err != nil:
		return nil, err
	case r.Op == "codec.decode":
		return decode(values, r.Bytes)
	}
	err = r.encode(values)
	return map[string][]byte{"bytes": r.Args.Value}, err
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

// connect opens a client for a load.
func (p Port[C, Q]) connect(ctx context.Context, redisURL string) (opener, io.Closer, error) {
	client, err := p.Connect(ctx, Args{Redis: redisURL})
	return func(ctx context.Context, name string) (driver.Queue, error) {
		queue, err := p.Open(ctx, client, Args{Queue: name, Delayed: true})
		loaded, _ := any(queue).(driver.Queue)
		return loaded, err
	}, client, err
}
