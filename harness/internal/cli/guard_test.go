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
	failed  int      // transfers
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
			err := conn.Run(call, transfer, []string{names.Destination, names.TimeoutSet, names.Pending}, time.Now().UnixMilli(), 100).Err()
			if err != nil && !errors.Is(err, redis.Nil) {
				s.failed++
			}
			cancel()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Services of both layouts on 20 queues and two guards of all queues. One guard is killed at random instants and begins
// again, the server is killed once, and at the end of the roll migrate is killed too: no message is lost or comes twice.
func TestGuardsOfAFleet(t *testing.T) {
	t.Parallel()
	length, kills := 1500*time.Millisecond, 1
	if redistest.Thorough() {
		length, kills = 30*time.Second, 15
	}
	srv := redistest.Process(t, "--appendonly", "yes", "--appendfsync", "always")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	conn := srv.Conn()
	defer conn.Close()
	var queues []string
	for i := range 20 {
		queues = append(queues, "queue-"+strconv.Itoa(i))
	}
	start := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "dq-bench", append(args, "--redis", srv.URL())...)
		require.NoError(t, cmd.Start())
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, or done before
	}
	steady, killed := start("guard", "--all"), start("guard", "--all")
	defer func() { kill(steady); kill(killed) }()

	sides := []*side{{release: "3.16.6"}, {release: "4.7.0"}}
	oldest, endOld := context.WithCancel(ctx)
	newest, endNew := context.WithCancel(ctx)
	defer endNew()
	defer endOld()
	var running sync.WaitGroup
	running.Go(func() { sides[0].run(oldest, t, conn, queues) })
	running.Go(func() { sides[1].run(newest, t, conn, queues) })

	for i := range kills { // any instant: there is no event to wait for
		time.Sleep(time.Duration(rand.Int64N(int64(length) / int64(kills))))
		kill(killed)
		killed = start("guard", "--all")
		if i == kills/2 {
			require.NoError(t, srv.Nodes()[0].Restart(ctx))
		}
	}
	endOld() // the roll is over
	migrate := []string{"migrate", "--all", "--to", "4.7.0", "--yes"}
	half := start(migrate...)
	time.Sleep(time.Duration(rand.Int64N(int64(200 * time.Millisecond))))
	kill(half)
	require.NoError(t, start(migrate...).Wait())
	endNew()
	running.Wait()
	waiting := func() (n int64) {
		for _, queue := range queues {
			set, err := conn.Do(ctx, "ZCARD", wire.NamesOf(queue).TimeoutSet).Int64()
			held, err2 := conn.Do(ctx, "ZCARD", ops.AheadKey(queue)).Int64()
			require.NoError(t, errors.Join(err, err2))
			n += set + held
		}
		return n
	}
	for waiting() > 0 {
		require.NoError(t, ctx.Err())
		time.Sleep(20 * time.Millisecond)
	}
	came := map[string]int{}
	for _, queue := range queues {
		values, err := conn.Do(ctx, "LRANGE", queue, 0, -1).StringSlice()
		require.NoError(t, err)
		for _, v := range values {
			came[v]++
		}
	}
	offered, lost, twice := 0, []any{}, []any{}
	for _, s := range sides {
		s.sent.Range(func(value, due any) bool {
			offered++
			switch n := came[value.(string)]; {
			case n == 0 && due.(int64) > 0:
				lost = append(lost, value)
			case n > 1:
				twice = append(twice, value)
			}
			return true
		})
		t.Logf("%s: %d transfers failed", s.release, s.failed)
	}
	require.Empty(t, lost, "of %d lost", offered)
	require.Empty(t, twice, "of %d twice", offered)
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
