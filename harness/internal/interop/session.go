package interop

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// farAway is the delay of what must not come due by itself while a case looks at
// it; comeDue brings it on.
const farAway = time.Hour

// session is a case under way: one queue, and whatever is open on it.
type session struct {
	url     string
	control goredis.UniversalClient
	names   wire.Names
	other   string // a second LIST, for what moves values
	handles []*handle
	note    string // what a case counted
}

// handle is a queue opened by a side, on a client of its own.
type handle struct {
	side   Side
	s      *session
	id     string
	task   bool // it keeps a transfer task running
	closed bool
}

func newSession(ctx context.Context, srv *redis.Server) (*session, error) {
	if srv.Cluster() || srv.Embedded() {
		return nil, fmt.Errorf("sharing a queue needs one real Redis, not %s", srv)
	}
	client, err := redis.NewClient(srv.URL())
	if err != nil {
		return nil, err
	}
	queue := "interop-" + rand.Text()[:8]
	s := &session{url: srv.URL(), control: client, names: wire.NamesOf(queue), other: "{" + queue + "}:other"}
	if err := s.control.Ping(ctx).Err(); err != nil {
		s.control.Close()
		return nil, err
	}
	return s, nil
}

// end closes what is open and removes the queue.
func (s *session) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	var errs []error
	for _, h := range s.handles {
		errs = append(errs, h.close(ctx))
	}
	errs = append(errs,
		s.control.Del(ctx, s.names.Destination, s.names.Pending, s.names.TimeoutSet, s.other, scripts.Quarantine(s.names.Destination)).Err(),
		s.control.Close())
	return errors.Join(errs...)
}

// pools keeps Redisson's pools small: a case needs a few connections, not 24.
var pools = map[string]any{"minIdleConnections": 1, "connections": 16, "threads": 4, "nettyThreads": 4}

// open opens the queue with a transfer task.
func (s *session) open(ctx context.Context, side Side) (*handle, error) {
	return s.openWith(ctx, side, "string", true)
}

// openWith opens the queue with a codec of docs/protocol.md, with or without a task.
func (s *session) openWith(ctx context.Context, side Side, codec string, task bool) (*handle, error) {
	options := map[string]any{"faithful": side.Faithful}
	if side.Program.Introduction().Name != "dq" {
		options = pools
	}
	result, err := side.Program.Call(ctx, "open", map[string]any{
		"redis": s.url, "queue": s.names.Destination, "codec": codec, "delayed": task, "options": options,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", side, err)
	}
	var opened struct{ Handle string }
	if err := json.Unmarshal(result, &opened); err != nil || opened.Handle == "" {
		return nil, fmt.Errorf("%s: expected a handle in answer to open, got %.120s", side, result)
	}
	h := &handle{side: side, s: s, id: opened.Handle, task: task}
	s.handles = append(s.handles, h)
	return h, nil
}

// close shuts the handle's client down. Its transfer task is gone then.
func (h *handle) close(ctx context.Context) error {
	if h.closed {
		return nil
	}
	h.closed = true
	if _, err := h.call(ctx, "close", nil); err != nil {
		return err
	}
	open := int64(0)
	for _, other := range h.s.handles {
		if other.task && !other.closed {
			open++
		}
	}
	return h.s.wait(ctx, fmt.Sprintf("the subscription of %s to end", h.side), func(ctx context.Context) (bool, error) {
		n, err := h.s.subscribers(ctx)
		return n <= open, err
	})
}

// call runs an op and returns its result as plain JSON values.
func (h *handle) call(ctx context.Context, op string, args map[string]any) (any, error) {
	params := map[string]any{"handle": h.id}
	for k, v := range args {
		params[k] = v
	}
	result, err := h.side.Program.Call(ctx, op, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.side, err)
	}
	if len(result) == 0 {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(result, &v); err != nil {
		return nil, fmt.Errorf("%s: %s: the result is no JSON: %w", h.side, op, err)
	}
	return v, nil
}

// expect runs an op that must answer with want.
func (h *handle) expect(ctx context.Context, want any, op string, args map[string]any) error {
	got, err := h.call(ctx, op, args)
	if err != nil {
		return err
	}
	if want = plain(want); !reflect.DeepEqual(want, got) {
		return fmt.Errorf("%s: %s: expected %s, got %s", h.side, op, shown(want), shown(got))
	}
	return nil
}

// refused runs an op that the server must answer with an error.
func (h *handle) refused(ctx context.Context, op string, args map[string]any) error {
	got, err := h.call(ctx, op, args)
	var remote *program.RemoteError
	switch {
	case err == nil:
		return fmt.Errorf("%s: %s: expected an error, got %s", h.side, op, shown(got))
	case !errors.As(err, &remote), errors.Is(err, program.ErrUnsupported):
		return err
	}
	return nil
}

// offer puts a value into the delayed queue.
func (h *handle) offer(ctx context.Context, v value, delay time.Duration) error {
	_, err := h.call(ctx, "dq.offer", map[string]any{"value": v, "delay": delay.Milliseconds()})
	return err
}

// value is a typed value of docs/protocol.md.
type value map[string]any

func text(s string) value { return value{"t": "string", "v": s} }

// with are the arguments of an op that takes one text.
func with(s string) map[string]any { return map[string]any{"value": text(s)} }

func texts(list []string) []value {
	values := make([]value, len(list))
	for i, s := range list {
		values[i] = text(s)
	}
	return values
}

// plain gives a value the Go types that encoding/json decodes into.
func plain(v any) any {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic("interop: a value without a JSON form: " + err.Error())
	}
	var p any
	if err := json.Unmarshal(encoded, &p); err != nil {
		panic("interop: " + err.Error())
	}
	return p
}

func shown(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 300
	if len(encoded) > most {
		return fmt.Sprintf("%s… (%d bytes)", encoded[:most], len(encoded))
	}
	return string(encoded)
}

func (s *session) subscribers(ctx context.Context) (int64, error) {
	n, err := s.control.PubSubNumSub(ctx, s.names.Channel).Result()
	return n[s.names.Channel], err
}

// wait asks the server again and again until ok, at most until ctx ends.
func (s *session) wait(ctx context.Context, what string, ok func(context.Context) (bool, error)) error {
	const pace = 5 * time.Millisecond
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		met, err := ok(ctx)
		if err != nil || met {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("expected %s, waited in vain: %w", what, ctx.Err())
		}
	}
}

// waitDelivered waits until the destination holds n values or more.
func (s *session) waitDelivered(ctx context.Context, n int) error {
	return s.wait(ctx, fmt.Sprintf("%d values in the destination", n), func(ctx context.Context) (bool, error) {
		length, err := s.control.LLen(ctx, s.names.Destination).Result()
		return int(length) >= n, err
	})
}
