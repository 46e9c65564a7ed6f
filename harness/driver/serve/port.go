package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// Port is a delay queue in Go on the keys of Redisson, as a program of all ops of the
// protocol: verify judges it, and run measures it inside the program. C is its client, Q
// its queue on a client. A port states what it can do by the ops that it has.
type Port[C io.Closer, Q any] struct {
	Identity driver.Identity
	// Release is the Redisson release whose codecs turn typed values into bytes, and
	// back: the newest where it is empty.
	Release string
	// Connect opens a client of the server at a redis:// URL. The port may open several.
	// Close of a client ends its queues.
	Connect func(ctx context.Context, url string) (C, error)
	// Open opens a queue by the name of its destination. It transfers what comes due if
	// delayed is true; two queues of one name on one client share that.
	Open func(ctx context.Context, client C, name string, delayed bool) (Q, error)
	// Ops are the calls of a queue, by their names in docs/protocol.md; a key such as
	// "dq.poll(limit)" says that "dq.poll" has that overload, and its function is not
	// called. open, close, codec.encode, codec.decode and cancel need none. With dq.offer
	// and q.take the port has load.* as well, with q.poll loads that poll, and with
	// dq.remove loads that cancel messages.
	Ops map[string]Op[Q]
}

// Op carries out one call. It may be called from many goroutines at once, and returns
// soon after ctx ends. Its result is a []byte or [][]byte for values, of which nil is
// none, and otherwise what docs/protocol.md has in JSON. An error that wraps
// errors.ErrUnsupported says that the port has no such overload.
type Op[Q any] func(ctx context.Context, queue Q, a Args) (any, error)

// Serve reads requests from in and answers on out until in ends, as the function Serve
// does. It fails where Release is not in the catalogue.
func (p Port[C, Q]) Serve(in io.Reader, out io.Writer) error {
	release := wire.Newest()
	if p.Release != "" {
		var err error
		if release, err = wire.LookupRelease(p.Release); err != nil {
			return err
		}
	}
	o := &ported[C, Q]{Port: p, release: release, clients: map[string]C{}, handles: map[string]portedQueue[Q]{}}
	var host *agent.Host
	if p.Ops["dq.offer"] != nil && p.Ops["q.take"] != nil {
		host = agent.NewHost(portDriver[C, Q]{p}, clock.System())
	}
	return serve(in, out, host, o)
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

// portedQueue is a queue that is open, and the codec of its values.
type portedQueue[Q any] struct {
	client string
	queue  Q
	codec  codec.Codec[any]
}

func (o *ported[C, Q]) Introduction() program.Hello {
	capabilities := []string{"close", "codec.decode", "codec.encode", "open"}
	for op := range o.Ops {
		capabilities = append(capabilities, op)
	}
	slices.Sort(capabilities)
	return program.Hello{
		Name: o.Identity.Name, Version: o.Identity.Version, Protocol: program.Protocol,
		Capabilities: capabilities, Codecs: program.CodecNames(o.release),
	}
}

func (o *ported[C, Q]) do(ctx context.Context, op string, line []byte, event func(fields map[string]any)) (any, error) {
	r, err := readArguments(line)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	switch op {
	case "open":
		return o.open(ctx, r)
	case "close":
		return nil, o.close(r)
	case "codec.encode", "codec.decode":
		return o.transcode(r, op == "codec.encode")
	}
	run, ok := o.Ops[op]
	if !ok {
		return nil, fmt.Errorf("op %q: %w", op, errors.ErrUnsupported)
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
			event(map[string]any{"value": typed})
		}
	}
	result, err := run(ctx, q.queue, r.Args)
	if err != nil {
		return nil, err
	}
	return typedResult(q.codec, result)
}

func (o *ported[C, Q]) open(ctx context.Context, r arguments) (any, error) {
	if r.Options.NameMapperPrefix != "" {
		return nil, fmt.Errorf("option nameMapperPrefix: %w", errors.ErrUnsupported)
	}
	values, err := r.codec(o.release)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.made++
	name := r.Client
	if name == "" {
		name = "client-" + strconv.Itoa(o.made)
	}
	client, known := o.clients[name]
	if !known {
		if client, err = o.Connect(ctx, r.Redis); err != nil {
			return nil, err
		}
		o.clients[name] = client
	}
	queue, err := o.Open(ctx, client, r.Queue, r.Delayed == nil || *r.Delayed)
	if err != nil {
		return nil, err
	}
	handle := "handle-" + strconv.Itoa(o.made)
	o.handles[handle] = portedQueue[Q]{name, queue, values}
	return map[string]string{"handle": handle, "client": name}, nil
}

// close closes the client of a handle, a client by name, or all.
func (o *ported[C, Q]) close(r arguments) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := r.Client
	if q, ok := o.handles[r.Handle]; ok {
		name = q.client
	}
	if _, ok := o.clients[name]; !ok && (name != "" || r.Handle != "") {
		return fmt.Errorf("client %q of handle %q is not open", name, r.Handle)
	}
	var errs []error
	for each, client := range o.clients {
		if name == "" || each == name {
			errs = append(errs, client.Close())
			delete(o.clients, each)
		}
	}
	for handle, q := range o.handles {
		if name == "" || q.client == name {
			delete(o.handles, handle)
		}
	}
	return errors.Join(errs...)
}

func (o *ported[C, Q]) transcode(r arguments, encode bool) (any, error) {
	values, err := r.codec(o.release)
	if err != nil {
		return nil, err
	}
	if !encode {
		return decode(values, r.Bytes)
	}
	if err := r.encode(values); err != nil {
		return nil, err
	}
	return map[string][]byte{"bytes": r.Value}, nil
}

// typedResult gives the values of a result the form that they have in the protocol.
func typedResult(values codec.Codec[any], result any) (any, error) {
	switch result := result.(type) {
	case []byte:
		return decode(values, result)
	case [][]byte:
		all := make([]any, len(result))
		for i, value := range result {
			typed, err := decode(values, value)
			if err != nil {
				return nil, err
			}
			all[i] = typed
		}
		return all, nil
	}
	return result, nil
}

// decode gives a value the form that it has in the protocol; that of none is null.
func decode(values codec.Codec[any], value []byte) (any, error) {
	if value == nil {
		return nil, nil
	}
	v, err := values.Decode(value)
	if err != nil {
		return nil, err
	}
	return program.Typed(v)
}

// rawFields are the arguments of a request but for its id and op.
func rawFields(line []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	err := json.Unmarshal(line, &fields)
	delete(fields, "id")
	delete(fields, "op")
	return fields, err
}
