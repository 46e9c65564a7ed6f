package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Library is the dq library under the op protocol, in this process: the same
// ops and typed values as an external program's. Its methods may be called from
// many goroutines at once.
type Library struct {
	driver library.DQ
	// strict sends what Redisson sends and nothing besides.
	strict bool
	// dial replaces the address that open names; nil where it counts.
	dial Dial

	mu      sync.Mutex
	clients map[string]*libraryClient
	handles map[string]*libraryHandle
	made    int
}

// libraryClient is a client and what transfers for its queues.
type libraryClient struct {
	*library.Client
	faithful map[string]*faithfulQueue
}

// faithfulQueue is shared by the handles of one queue until the last is destroyed.
type faithfulQueue struct {
	*library.Faithful
	users int
}

// Close closes all.
func (c *libraryClient) Close() error {
	for _, f := range c.faithful {
		f.Close()
	}
	return c.Client.Close()
}

// libraryHandle is one opened queue.
type libraryHandle struct {
	clientName string
	client     *libraryClient
	release    wire.Release
	faithful   *faithfulQueue // in the place of the queue's transfers, for a client that is to do as Redisson
	names      wire.Names
	codec      codec.Codec[any]
	queue      *dq.Queue[any]
	delayed    bool // it transfers
}

// BothLayouts is the capability of a program that reads members of both layouts.
const BothLayouts = "bothLayouts"

// NewLibrary returns the program of a driver for judging it by what Redisson does:
// its clients are strict on the wire (dq.WithRedissonCommands). It connects with its first
// open.
func NewLibrary(d library.DQ) *Library {
	p := NewDeployedLibrary(d)
	p.strict = true
	return p
}

// Dial makes a client of dq that sends what the driver says, and the options.
type Dial func(d library.DQ, options ...dq.Option) (*library.Client, error)

// NewLibraryBy is NewLibrary with clients that connect as those of dial do, whatever address they are
// told to open: by TLS, by a Unix socket, as another user, to a Cluster.
func NewLibraryBy(d library.DQ, dial Dial) *Library {
	p := NewLibrary(d)
	p.dial = dial
	return p
}

// NewDeployedLibrary returns the program of a driver with dq as people deploy it:
// it reads members of both layouts, unless it is told to be faithful.
func NewDeployedLibrary(d library.DQ) *Library {
	return &Library{driver: d, clients: map[string]*libraryClient{}, handles: map[string]*libraryHandle{}}
}

// Introduction lists the ops and codecs.
func (p *Library) Introduction() Hello {
	identity := p.driver.Identity()
	capabilities := []string{"open", "open(faithful)", "close", "destroy", "hello"}
	for op := range libraryOps {
		if p.driver.Release.AtLeast(libraryOpsSince[op]) {
			capabilities = append(capabilities, op)
		}
	}
	if !p.strict && !p.driver.Faithful {
		capabilities = append(capabilities, BothLayouts)
	}
	slices.Sort(capabilities)
	return Hello{
		Name: identity.Name, Version: identity.Version, Protocol: Protocol,
		Capabilities: capabilities, Codecs: CodecNames(p.driver.Release),
	}
}

// Call runs an op on the library.
func (p *Library) Call(ctx context.Context, op string, params any) (json.RawMessage, error) {
	args, err := newArguments(op, params)
	if err != nil {
		return nil, err
	}
	result, err := p.run(ctx, op, args)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s: %w", op, remoteError(err))
	}
	return json.Marshal(result)
}

func (p *Library) run(ctx context.Context, op string, args arguments) (any, error) {
	switch op {
	case "hello":
		return p.Introduction(), nil
	case "open":
		return p.open(args)
	case "close":
		return nil, p.close(args)
	}
	run, ok := libraryOps[op]
	if !ok {
		return nil, fmt.Errorf("op %q: %w", op, dq.ErrUnsupported)
	}
	name, err := args.text("handle")
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	h := p.handles[name]
	p.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("handle %q is not open", name)
	}
	if !h.delayed && isDelayedOp(op) {
		return nil, errors.New(`this handle was opened with "delayed": false`)
	}
	return run(ctx, h, args)
}

// open binds a handle to a queue. A client is made when its name is new, and
// closed by close.
func (p *Library) open(args arguments) (any, error) {
	queue, err := args.text("queue")
	if err != nil {
		return nil, err
	}
	values, err := NamedCodec(args.textOr("codec", "default"), args.textOr("valueType", "pojo"), p.driver.Release)
	if err != nil {
		return nil, err
	}
	delayed, err := args.flagOr("delayed", true)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	name := args.textOr("client", "client-"+strconv.Itoa(p.made))
	client, ok := p.clients[name]
	if !ok {
		if client, err = p.connect(args); err != nil {
			return nil, err
		}
		p.clients[name] = client
	}
	options, err := args.options()
	if err != nil {
		return nil, err
	}
	queue = options.NameMapperPrefix + queue
	h := &libraryHandle{
		clientName: name, client: client, release: p.driver.Release,
		names: wire.NamesOf(queue), codec: values, delayed: delayed,
	}
	var how []dq.QueueOption
	faithful := p.driver.Faithful || options.Faithful
	if !delayed || faithful {
		how = append(how, dq.WithoutTransfer())
	}
	if h.queue, err = dq.NewQueue(client.Client.Client, queue, values, how...); err != nil {
		return nil, err
	}
	if delayed && faithful {
		if h.faithful = client.faithful[queue]; h.faithful == nil || h.faithful.users == 0 {
			h.faithful = &faithfulQueue{Faithful: client.OpenFaithful(p.driver, queue)}
			client.faithful[queue] = h.faithful
		}
		h.faithful.users++
	}
	p.made++
	handle := "handle-" + strconv.Itoa(p.made)
	p.handles[handle] = h
	return map[string]string{"handle": handle, "client": name}, nil
}

func (p *Library) connect(args arguments) (*libraryClient, error) {
	wanted, err := args.options()
	if err != nil {
		return nil, err
	}
	var options []dq.Option
	if p.strict || wanted.Faithful {
		options = append(options, dq.WithRedissonCommands())
	}
	client, err := p.library(args, options)
	if err != nil {
		return nil, err
	}
	return &libraryClient{client, map[string]*faithfulQueue{}}, nil
}

// library is a client as the Library was told, or of the address that open names.
func (p *Library) library(args arguments, options []dq.Option) (*library.Client, error) {
	d := p.driver
	if p.dial != nil {
		return p.dial(d, options...)
	}
	address, err := args.text("redis")
	if err != nil {
		return nil, err
	}
	return library.Connect(d, address, options...)
}

// close shuts down the client of a handle, a client by name, or all of them.
func (p *Library) close(args arguments) error {
	name := args.textOr("client", "")
	handle := args.textOr("handle", "")
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.handles[handle]; h != nil {
		name = h.clientName
	}
	if name == "" && handle == "" {
		return p.closeAll()
	}
	client, ok := p.clients[name]
	if !ok {
		return fmt.Errorf("client %q of handle %q is not open", name, handle)
	}
	delete(p.clients, name)
	for handle, h := range p.handles {
		if h.clientName == name {
			delete(p.handles, handle)
		}
	}
	return client.Close()
}

// closeAll closes every client. Call with mu held.
func (p *Library) closeAll() error {
	var errs []error
	for _, client := range p.clients {
		errs = append(errs, client.Close())
	}
	clear(p.clients)
	clear(p.handles)
	return errors.Join(errs...)
}

// Close closes every client.
func (p *Library) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closeAll()
}

// remoteError gives an error of the library the form in which a program answers.
func remoteError(err error) *RemoteError {
	class := "error"
	var reply redis.Error
	var decode *dq.DecodeError
	switch {
	case errors.Is(err, dq.ErrUnsupported):
		class = "unsupported"
	case errors.Is(err, dq.ErrNegativeDelay):
		class = "dq.ErrNegativeDelay"
	case errors.Is(err, dq.ErrClosed):
		class = "dq.ErrClosed"
	case errors.As(err, &decode):
		class = "dq.DecodeError"
	case errors.As(err, &reply):
		class = "redis.Error"
	}
	return &RemoteError{Class: class, Message: err.Error()}
}

// libraryOpsSince names the first release of the 3.x line that has an op; zero where
// all have it.
var libraryOpsSince = map[string]wire.Release{
	"dq.poll(limit)": {Major: 3, Minor: 11, Patch: 6},
	"q.poll(limit)":  {Major: 3, Minor: 11, Patch: 6},
	"dq.copy":        {Major: 3, Minor: 35, Patch: 0},

	"dq.expire(condition)":   {Major: 3, Minor: 17, Patch: 0},
	"dq.expireAt(condition)": {Major: 3, Minor: 17, Patch: 0},
	"deque.pollFirst(limit)": {Major: 3, Minor: 11, Patch: 6},
	"deque.pollLast(limit)":  {Major: 3, Minor: 11, Patch: 6},
	"dq.sizeInMemory":        {Major: 2, Minor: 14, Patch: 1},
}
