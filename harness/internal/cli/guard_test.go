package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// side is the services of one Redisson release: they offer to each queue, and transfer without a pause. The texts are
// Redisson's; a JVM would not follow a server that dies as fast.
type side struct {
	release string
	sent    sync.Map // value → when it is due, in Unix ms; 0 if the answer to the offer was lost
}

func (s *side) run(ctx context.Context, t *testing.T, conn redis.Conn, queues []string) {
	r, err := wire.LookupRelease(s.release)
	require.NoError(t, err)
	offerScript, _ := r.Script(wire.ScriptOffer)
	transferScript, _ := r.Script(wire.ScriptTransfer)
	offer, transfer := redis.NewScript(offerScript.Body), redis.NewScript(transferScript.Body)
	for n := 0; ctx.Err() == nil; n++ {
		for i, queue := range queues {
			names := wire.NamesOf(queue)
			call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			if (n+i)%4 == 0 {
				id := any(int64(rand.Uint64()>>2 | 1<<61))
				if r.Layout() == wire.LayoutBc0Lc0 {
					id = binary.LittleEndian.AppendUint64(nil, rand.Uint64())
				}
				value, due := fmt.Sprintf("%s %s %d", queue, s.release, n), time.Now().UnixMilli()+2500+rand.Int64N(500)
				err := conn.Run(call, offer, []string{names.Destination, names.TimeoutSet, names.Pending, names.Channel}, due, id, value).Err()
				if err != nil && !errors.Is(err, redis.Nil) {
					due = 0
				}
				s.sent.Store(value, due)
			}
			_ = conn.Run(call, transfer, []string{names.Destination, names.TimeoutSet, names.Pending}, time.Now().UnixMilli(), 100) // fails at the other layout
			cancel()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// fleet is 20 queues on a server that keeps everything on disk, two guards of all queues, and what services sent.
type fleet struct {
	t              *testing.T
	ctx            context.Context
	srv            *redis.Server
	conn           redis.Conn
	queues         []string
	steady, killed *exec.Cmd // guards
}

func newFleet(t *testing.T, limit time.Duration) *fleet {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	f := &fleet{t: t, ctx: ctx, srv: redistest.Process(t, "--appendonly", "yes", "--appendfsync", "always")}
	f.conn = f.srv.Conn()
	for i := range 20 {
		f.queues = append(f.queues, "queue-"+strconv.Itoa(i))
	}
	f.steady, f.killed = f.start("guard", "--all"), f.start("guard", "--all")
	t.Cleanup(func() { f.kill(f.steady); f.kill(f.killed); _ = f.conn.Close() })
	return f
}

func (f *fleet) start(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(f.ctx, "dq-bench", append(args, "--redis", f.srv.URL())...)
	require.NoError(f.t, cmd.Start())
	return cmd
}

func (f *fleet) kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed, or done before
}

// killGuards kills one guard at random instants, and starts it again. Any instant: there is no event to wait for.
func (f *fleet) killGuards(length time.Duration, kills int, half func()) {
	for i := range kills {
		time.Sleep(time.Duration(rand.Int64N(int64(length) / int64(kills))))
		f.kill(f.killed)
		f.killed = f.start("guard", "--all")
		if i == kills/2 {
			half()
		}
	}
}

// migrate is killed at a random instant, and goes on.
func (f *fleet) migrate(release string) {
	migrate := []string{"migrate", "--all", "--to", release, "--yes"}
	half := f.start(migrate...)
	time.Sleep(time.Duration(rand.Int64N(int64(200 * time.Millisecond))))
	f.kill(half)
	require.NoError(f.t, f.start(migrate...).Wait())
}

// drained waits until nothing waits.
func (f *fleet) drained() {
	for waiting := int64(1); waiting > 0; time.Sleep(20 * time.Millisecond) {
		require.NoError(f.t, f.ctx.Err())
		waiting = 0
		for _, queue := range f.queues {
			set, err := f.conn.Do(f.ctx, "ZCARD", wire.NamesOf(queue).TimeoutSet).Int64()
			held, err2 := f.conn.Do(f.ctx, "ZCARD", ops.AheadKey(queue)).Int64()
			require.NoError(f.t, errors.Join(err, err2))
			waiting += set + held
		}
	}
}

// account fails if a message that was offered is lost, or came twice.
func (f *fleet) account(sent ...*sync.Map) {
	came := map[string]int{}
	for _, queue := range f.queues {
		values, err := f.conn.Do(f.ctx, "LRANGE", queue, 0, -1).StringSlice()
		require.NoError(f.t, err)
		for _, v := range values {
			came[v]++
		}
	}
	offered, uncertain, lost, twice := 0, 0, []any{}, []any{}
	for _, some := range sent {
		some.Range(func(value, due any) bool {
			offered++
			switch n := came[value.(string)]; {
			case due.(int64) == 0:
				uncertain++
			case n == 0:
				lost = append(lost, value)
			case n > 1:
				twice = append(twice, value)
			}
			return true
		})
	}
	f.t.Logf("offered %d, of these %d uncertain", offered, uncertain)
	require.Empty(f.t, lost, "of %d lost", offered)
	require.Empty(f.t, twice, "of %d twice", offered)
}

// Services of both layouts on 20 queues and two guards of all queues. One guard is killed at random instants and begins
// again, the server is killed once, and at the end of the roll migrate is killed too: no message is lost or comes twice.
func TestGuardsOfAFleet(t *testing.T) {
	t.Parallel()
	length, kills := 1500*time.Millisecond, 1
	if redistest.Thorough() {
		length, kills = 30*time.Second, 15
	}
	f := newFleet(t, 3*time.Minute)
	sides := []*side{{release: "3.16.6"}, {release: "4.7.0"}}
	oldest, endOld := context.WithCancel(f.ctx)
	newest, endNew := context.WithCancel(f.ctx)
	defer endNew()
	defer endOld()
	var running sync.WaitGroup
	running.Go(func() { sides[0].run(oldest, t, f.conn, f.queues) })
	running.Go(func() { sides[1].run(newest, t, f.conn, f.queues) })
	f.killGuards(length, kills, func() { require.NoError(t, f.srv.Nodes()[0].Restart(f.ctx)) })
	endOld() // the roll is over
	f.migrate("4.7.0")
	endNew()
	running.Wait()
	f.drained()
	f.account(&sides[0].sent, &sides[1].sent)
}

func TestOneNodeOfAClusterIsRefused(t *testing.T) {
	t.Parallel()
	c, node := newGuard(), redistest.Cluster(t, 3, 0).Nodes()[0].Addr
	c.SetContext(t.Context())
	c.redis = "redis://" + node
	work := func(*redis.Server, redis.Conn) error { return nil }
	err := c.onServer(work)
	require.ErrorContains(t, err, "is a node of a cluster")
	require.ErrorContains(t, err, "name it as redis+cluster://"+node)
	c.redis = "redis+cluster://" + node
	require.NoError(t, c.onServer(work))
}
