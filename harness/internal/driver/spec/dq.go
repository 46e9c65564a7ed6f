package spec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Serve answers requests of the driver protocol as dq until in ends.
func (p Program) Serve(in io.Reader, out io.Writer) error {
	if !p.IsLibrary() {
		return fmt.Errorf("driver %s: its queues are opened in its own process", p)
	}
	p.Shipped = true
	return portOf(p).Serve(in, out)
}

// portOf has the calls that the release has, and the capabilities. It is no method, nor is connect: each package that names Program
// would compile the queue and go-redis's client again.
func portOf(d Program) serve.Port[*client, *queue] {
	ops := map[string]op{}
	for names, call := range calls {
		for name := range strings.FieldsSeq(names) {
			ops[name] = call
		}
	}
	maps.DeleteFunc(ops, func(name string, _ op) bool { return !d.Release.AtLeast(since[name]) })
	if d.Shipped && !d.faithful {
		ops[program.BothLayouts] = nil
	}
	return serve.Port[*client, *queue]{
		Identity: d.Identity(), Release: d.Release.String(), Ops: ops,
		Connect: func(_ context.Context, a serve.Args) (*client, error) { return connect(d, a) },
		Open:    func(_ context.Context, c *client, a serve.Args) (*queue, error) { return c.open(a) },
	}
}

// client is a client of dq, the one of go-redis that it connects by, and what transfers faithfully for its queues.
type client struct {
	*dq.Client
	by      goredis.UniversalClient
	release wire.Release

	life      context.Context // of faithful transfers
	end       context.CancelFunc
	transfers sync.WaitGroup
	mu        sync.Mutex
	faithful  map[string]*faithful // nil if dq itself is to transfer
}

func connect(d Program, a serve.Args) (_ *client, err error) {
	c := &client{release: d.Release}
	c.life, c.end = context.WithCancel(context.Background())
	if c.by, err = redis.NewClient(a.Redis); err != nil {
		return nil, err
	}
	options := []dq.Option{dq.WithRelease(d.Release.String())}
	if d.faithful || a.Options["faithful"] == true {
		capitals(c.by)
		c.faithful = map[string]*faithful{}
	}
	if !d.Shipped || c.faithful != nil {
		options = append(options, dq.WithRedissonCommands())
	}
	if c.Client, err = dq.NewClient(c.by, options...); err != nil {
		return nil, errors.Join(err, c.by.Close())
	}
	return c, nil
}

func (c *client) Close() error {
	c.end()
	c.transfers.Wait()
	return errors.Join(c.Client.Close(), c.by.Close())
}

type queue struct {
	*dq.Queue[[]byte]
	client   *client
	names    wire.Names
	faithful *faithful // in the place of the queue's transfers, for a client that is to do as Redisson
}

func (c *client) open(a serve.Args) (_ *queue, err error) {
	prefix, _ := a.Options["nameMapperPrefix"].(string)
	name := prefix + a.Queue
	q := &queue{client: c, names: wire.NamesOf(name)}
	var how []dq.QueueOption
	if !a.Delayed || c.faithful != nil {
		how = append(how, dq.WithoutTransfer())
	}
	if q.Queue, err = dq.NewQueue(c.Client, name, codec.Bytes{}, how...); err != nil {
		return nil, err
	}
	if a.Delayed && c.faithful != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if q.faithful = c.faithful[name]; q.faithful == nil || q.faithful.users == 0 {
			q.faithful = &faithful{queue: q, heard: c.by.Subscribe(c.life, q.names.Channel), destroyed: make(chan struct{})}
			c.faithful[name] = q.faithful
			c.transfers.Go(func() { q.faithful.run(c.life) })
		}
		q.faithful.users++
	}
	return q, nil
}

// Offer is for a load.
func (q *queue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	return q.offer(ctx, value, delay.Milliseconds())
}

func (q *queue) Poll(ctx context.Context) (value []byte, err error) {
	values, err := q.Queue.Poll(ctx, 1)
	if len(values) == 1 {
		value = values[0]
	}
	if errors.Is(err, dq.ErrEmpty) {
		err = nil
	}
	return value, err
}

// block runs a command on the server of its first key, without a read time-out.
func (c *client) block(ctx context.Context, line []any) (any, error) {
	node, _ := c.by.(*goredis.Client)
	if cluster, ok := c.by.(*goredis.ClusterClient); ok {
		var err error
		if node, err = cluster.MasterForKey(ctx, fmt.Sprint(line[1])); err != nil {
			return nil, err
		}
	}
	return node.WithTimeout(-1).Do(ctx, line...).Result()
}

// show gives a reply its form in the protocol.
type show func(reply any) any

func asNothing(any) any     { return nil }
func asTrue(any) any        { return true }
func asBool(reply any) any  { return number(reply) > 0 }
func asEmpty(reply any) any { return number(reply) == 0 }
func asFound(reply any) any { return number(reply) >= 0 } // of a script that replies with an index, or -1

func number(reply any) int64 {
	n, _ := reply.(int64)
	return n
}

// asItIs leaves numbers, and makes values bytes: nil without a value.
func asItIs(reply any) any {
	switch reply := reply.(type) {
	case string:
		return []byte(reply)
	case []any:
		all := make([][]byte, len(reply))
		for i, element := range reply {
			all[i], _ = asItIs(element).([]byte)
		}
		return all
	}
	return reply
}

func (as show) of(reply any, err error) (any, error) {
	switch {
	case errors.Is(err, dq.ErrUnsupported):
		return nil, errors.Join(err, errors.ErrUnsupported)
	case err != nil && !errors.Is(err, redis.Nil):
		return nil, err
	}
	return as(reply), nil
}
