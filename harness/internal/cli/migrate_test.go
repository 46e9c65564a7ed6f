package cli

import (
	"cmp"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// content is the members of a queue, each packed as the newest release does.
type content struct {
	List []string
	Set  []goredis.Z
}

func contentOf(ctx context.Context, t *testing.T, client goredis.UniversalClient) (content, map[wire.Layout]int) {
	t.Helper()
	names, counts := wire.NamesOf("orders"), map[wire.Layout]int{}
	repack := func(raw string) string {
		m, err := wire.LayoutBc0Lc0.UnpackAny([]byte(raw))
		require.NoError(t, err)
		counts[m.Layout]++
		m.Layout = wire.LayoutBc0Lc0
		return string(m.Bytes())
	}
	list, err := client.LRange(ctx, names.Pending, 0, -1).Result()
	require.NoError(t, err)
	set, err := client.ZRangeWithScores(ctx, names.TimeoutSet, 0, -1).Result()
	require.NoError(t, err)
	for i := range list {
		list[i] = repack(list[i])
	}
	for i := range set {
		set[i].Member = repack(set[i].Member.(string))
	}
	return content{list, set}, counts
}

func TestMigrationVerdict(t *testing.T) {
	none, two := &ops.Migration{Queue: "a"}, &ops.Migration{Queue: "b", Rewritten: map[string]int64{"waiting": 2}}
	refused, left := &ops.Migration{Queue: "c", Refusal: "why", Left: 1}, &ops.Migration{Queue: "d", Left: 1}
	partial := &ops.Migration{Queue: "e", Rewritten: map[string]int64{"ready": 3}, Partial: "interrupted", Left: 1}
	for _, c := range []struct {
		all  []*ops.Migration
		code int
		says string
	}{
		{[]*ops.Migration{none, two}, 0, ""},
		{[]*ops.Migration{none, refused, refused}, 1, `queue "c": nothing was changed: why (and 1 queue more)`},
		{[]*ops.Migration{two, refused}, 99, `queue "c": it is as it was: why`},
		{[]*ops.Migration{partial}, 99, `queue "e": ended after 3 messages were rewritten, which stay so: interrupted; the same command goes on`},
		{[]*ops.Migration{left}, 99, `queue "d": left: 1 messages, of these 0 refused values`},
	} {
		err, coded := migrationVerdict(c.all), new(exitError)
		require.Equal(t, c.code == 99, errors.As(err, &coded), c.says)
		require.Equal(t, c.says, fmt.Sprint(cmp.Or(err, errors.New(""))))
	}
}

// killsOf returns how often a program is killed: DQ_MIGRATE_KILLS says it, or whether the test is thorough.
func killsOf(quick, thorough int) int {
	if n, err := strconv.Atoi(os.Getenv("DQ_MIGRATE_KILLS")); err == nil {
		return n
	}
	if redistest.Thorough() {
		return thorough
	}
	return quick
}

// Killed at any instant between its first write and its end, migrate loses nothing, doubles
// nothing and changes no order, and a second run completes. DQ_MIGRATE_KILLS is how often
// it is killed; at least one kill leaves it halfway.
func TestMigrateIsKilled(t *testing.T) {
	t.Parallel()
	kills := killsOf(3, 25)
	srv := redistest.Redis(t)
	client := redistest.Client(srv)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(kills)*time.Second)
	defer cancel()
	names := wire.NamesOf("orders")
	_, err := client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
		for i := range 2000 {
			var id [8]byte
			binary.LittleEndian.PutUint64(id[:], rand.Uint64())
			member := wire.LayoutDLc0.Pack(id, []byte("order "+strconv.Itoa(i)))
			pipe.ZAdd(ctx, names.TimeoutSet, goredis.Z{Score: float64(4e12 + i), Member: member})
			pipe.RPush(ctx, names.Pending, member)
		}
		return nil
	})
	require.NoError(t, err)
	whole, _ := contentOf(ctx, t, client)

	// begin starts the program, and returns when it has written something.
	begin := func(target wire.Layout) *exec.Cmd {
		tail := client.LIndex(ctx, names.Pending, -1).Val() // rewritten first
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, "dq-bench", "migrate", "orders", "--to", target.String(), "--yes", "--redis", srv.URL())
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		for client.LIndex(ctx, names.Pending, -1).Val() == tail {
			require.NoError(t, ctx.Err(), "it never wrote: %s", &stderr)
		}
		return cmd
	}
	first := begin(wire.LayoutBc0Lc0)
	wrote := time.Now()
	require.NoError(t, first.Wait())
	whileWriting := time.Since(wrote)

	halfway := 0
	target := wire.LayoutDLc0
	for i := 0; i < kills || halfway == 0; i++ {
		cmd := begin(target)
		// Any instant: there is no event to wait for.
		time.Sleep(time.Duration(rand.Int64N(int64(whileWriting))))
		if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
			require.NoError(t, err)
		}
		_ = cmd.Wait() // killed, or done before

		left, counts := contentOf(ctx, t, client)
		require.Equal(t, whole, left, "kill %d", i)
		if len(counts) == 2 {
			halfway++
		}
		done, err := ops.Migrate(ctx, redis.On(client), "orders", ops.MigrateOptions{To: &target, Yes: true})
		require.NoError(t, err)
		require.Zero(t, done.Left)
		complete, counts := contentOf(ctx, t, client)
		require.Equal(t, whole, complete)
		require.Equal(t, map[wire.Layout]int{target: 4000}, counts)
		target = target.Other()
	}
	t.Logf("killed within %v of the first write, %d times halfway", whileWriting, halfway)
}

// Killed at any instant while it writes values in a codec that does not tell them from those of the old
// one, migrate goes on where it was: none is left and none is written twice.
func TestMigrateOfValuesIsKilled(t *testing.T) {
	t.Parallel()
	kills := killsOf(1, 6)
	srv := redistest.Redis(t)
	client := redistest.Client(srv)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(kills)*10*time.Second)
	defer cancel()
	names := wire.NamesOf("orders")
	const members, delivered = 3000, 1000
	_, err := client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
		for i := range members {
			var id [8]byte
			binary.LittleEndian.PutUint64(id[:], rand.Uint64())
			member := wire.LayoutBc0Lc0.Pack(id, []byte("order "+strconv.Itoa(i)))
			pipe.ZAdd(ctx, names.TimeoutSet, goredis.Z{Score: float64(4e12 + i), Member: member})
			pipe.RPush(ctx, names.Pending, member)
		}
		for i := range delivered {
			pipe.RPush(ctx, names.Destination, "delivered "+strconv.Itoa(i%100))
		}
		return nil
	})
	require.NoError(t, err)
	// values returns how many values are quoted, all in their order. It reads in one transaction: the last script of a
	// process that was killed may be yet to run.
	values := func() (quoted int, all []string) {
		tx := client.TxPipeline()
		pending, timeouts, destination := tx.LRange(ctx, names.Pending, 0, -1), tx.ZRange(ctx, names.TimeoutSet, 0, -1), tx.LRange(ctx, names.Destination, 0, -1)
		_, err := tx.Exec(ctx)
		require.NoError(t, err)
		listed, waiting := pending.Val(), destination.Val()
		require.Equal(t, timeouts.Val(), listed)
		for _, member := range listed {
			m, err := wire.LayoutBc0Lc0.Unpack([]byte(member))
			require.NoError(t, err)
			all = append(all, string(m.Value))
		}
		all = append(all, waiting...)
		for i, value := range all {
			if plain, err := strconv.Unquote(value); err == nil {
				quoted, all[i] = quoted+1, plain
			}
		}
		return quoted, all
	}
	_, whole := values()
	halfway := 0
	for i := 0; i < 2*kills || halfway == 0; i++ {
		way := []string{"string:json", "json:string"}[i%2]
		run := func() (*exec.Cmd, chan error) {
			cmd := exec.CommandContext(ctx, "dq-bench", "migrate", "orders", "--codec", way, "--yes", "--classpath", "app.jar", "--redis", srv.URL())
			cmd.Env = append(os.Environ(), "DQ_JAVA=dq-fake-java", "TMPDIR="+t.TempDir())
			cmd.Stderr = new(bytes.Buffer)
			ended := make(chan error, 1)
			require.NoError(t, cmd.Start())
			go func() { ended <- cmd.Wait() }()
			return cmd, ended
		}
		before := client.LIndex(ctx, names.Destination, -1).Val()
		cmd, ended := run()
		for client.LIndex(ctx, names.Destination, -1).Val() == before {
			select {
			case err := <-ended:
				t.Fatalf("it ended before it wrote: %v: %s", err, cmd.Stderr)
			case <-time.After(time.Millisecond):
			}
		}
		// Any instant: there is no event to wait for.
		time.Sleep(time.Duration(rand.Int64N(int64(10 * time.Millisecond))))
		if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
			require.NoError(t, err)
		}
		<-ended // killed, or done before
		quoted, now := values()
		require.Equal(t, whole, now, "kill %d", i)
		if quoted > 0 && quoted < members+delivered {
			halfway++
		}
		cmd, ended = run()
		require.NoError(t, <-ended, "%s", cmd.Stderr)
		quoted, now = values()
		require.Equal(t, whole, now)
		require.Equal(t, []int{members + delivered, 0}[i%2], quoted)
	}
	t.Logf("killed halfway %d times", halfway)
}
