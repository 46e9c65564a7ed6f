package spec

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// The timing of Redisson's QueueTransferTask, and how many members one of its transfers moves.
const (
	pushWithin    = 10 * time.Millisecond
	retryAfter    = 5 * time.Second
	transferLimit = 100
)

// faithful transfers as Redisson does, unlike dq: a head that is due within 10 ms is transferred at once,
// again and again until it is due; a timer fires on the ticks of a coarse wheel; a later announcement replaces an earlier
// timer; a failed transfer is tried again after 5 s; and to 3.41.0 a timer outlives Destroy.
type faithful struct {
	queue     *queue // the first one of its name
	heard     *redis.PubSub
	destroyed chan struct{} // closed, it ends the subscription, and since 3.42.0 the timer
	users     int           // handles that have not destroyed it; guarded by the client's mu
}

func (f *faithful) run(ctx context.Context) {
	defer f.heard.Close()
	heard := f.heard.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(time.Hour))
	destroy, timer := f.destroyed, clock.System().NewTimer()
	defer timer.Close()
	for {
		select {
		case message, ok := <-heard:
			switch message := message.(type) {
			case *redis.Subscription:
				if message.Kind == "subscribe" {
					f.transfer(ctx, timer)
				}
			case *redis.Message:
				if due, err := strconv.ParseInt(message.Payload, 10, 64); err == nil && f.near(timer, due) {
					f.transfer(ctx, timer)
				}
			}
			if !ok {
				heard = nil
			}
		case <-timer.C():
			f.transfer(ctx, timer)
		case <-destroy:
			_ = f.heard.Unsubscribe(ctx, f.queue.names.Channel)
			if destroy = nil; f.queue.client.release.StopsOnDestroy() {
				timer.Stop()
			}
		case <-ctx.Done():
			return
		}
	}
}

// near reports whether a member that is due then is to be transferred at once; else it sets the timer, in the place of any other.
func (f *faithful) near(timer clock.Timer, due int64) bool {
	now, tick := time.Now().UnixMilli(), f.queue.client.release.TimerTick().Milliseconds()
	const most = int64(1<<63-1) / int64(time.Millisecond)
	switch wait := due - now; { // overflows as Java's does: a due time of an overflowed delay is centuries away
	case wait <= pushWithin.Milliseconds():
		return true
	case wait > most-tick:
		timer.Stop()
	default:
		timer.Reset(time.UnixMilli(now + (wait+tick-1)/tick*tick))
	}
	return false
}

// transfer runs the release's script until its head is not near.
func (f *faithful) transfer(ctx context.Context, timer clock.Timer) {
	timer.Stop()
	n := f.queue.names
	for ctx.Err() == nil {
		reply, err := f.queue.client.Redisson(ctx, wire.ScriptTransfer, []string{n.Destination, n.TimeoutSet, n.Pending},
			strconv.FormatInt(time.Now().UnixMilli(), 10), strconv.Itoa(transferLimit))
		var due int64
		if text, ok := reply.(string); err == nil && ok {
			due, err = strconv.ParseInt(text, 10, 64)
		}
		if err != nil {
			f.near(timer, time.Now().Add(retryAfter).UnixMilli())
			return
		}
		if reply == nil || !f.near(timer, due) {
			return
		}
	}
}

// capitals has a new client of go-redis write SUBSCRIBE as Redisson does.
func capitals(client redis.UniversalClient) {
	wrap := func(node *redis.Client) {
		dial := node.Options().Dialer
		node.Options().Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return capitalConn{c}, err
		}
	}
	switch client := client.(type) {
	case *redis.Client:
		wrap(client)
	case *redis.ClusterClient: // which dials by clients of its own
		client.OnNewNode(wrap)
	}
}

type capitalConn struct{ net.Conn }

func (c capitalConn) Write(b []byte) (int, error) {
	for _, command := range []string{"*2\r\n$9\r\nsubscribe\r\n", "*2\r\n$11\r\nunsubscribe\r\n"} {
		if bytes.HasPrefix(b, []byte(command)) {
			b = append([]byte(strings.ToUpper(command)), b[len(command):]...)
		}
	}
	return c.Conn.Write(b)
}
