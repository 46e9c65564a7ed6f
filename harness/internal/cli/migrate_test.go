package cli

import (
	"bytes"
	"cmp"
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
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMigrationVerdict(t *testing.T) {
	none, two := &ops.Migration{Name: "a"}, &ops.Migration{Name: "b", Rewritten: map[string]int64{"waiting": 2}}
	refused, left := &ops.Migration{Name: "c", Refusal: "why", Left: 1}, &ops.Migration{Name: "d", Left: 1}
	partial := &ops.Migration{Name: "e", Rewritten: map[string]int64{"ready": 3}, Partial: "interrupted", Left: 1}
	for _, c := range []struct {
		all  []*ops.Migration
		code int
		says string
	}{
		{[]*ops.Migration{none, two}, 0, ""},
		{[]*ops.Migration{none, refused, refused}, 1, `queue "c": nothing was changed: why (and 1 queue more)`},
		{[]*ops.Migration{two, refused}, 99, `queue "c": it is as it was: why`},
		{[]*ops.Migration{partial}, 99, `queue "e": ended after 3 messages were rewritten, which stay so: interrupted; the same command goes on`},
		{[]*ops.Migration{left}, 99, `queue "d": left: 1 message, of these 0 refused values`},
	} {
		err, coded := migrationVerdict(c.all), new(exitError)
		require.Equal(t, c.code == 99, errors.As(err, &coded), c.says)
		require.Equal(t, c.says, fmt.Sprint(cmp.Or(err, errors.New(""))))
	}
}

// layoutAndCodec returns what of a message migrate changes, and what it must not change.
func layoutAndCodec(message string) (changed, kept string) {
	layout, id, value := wire.LayoutBc0Lc0, "", message
	if m, err := layout.UnpackAny([]byte(message)); err == nil {
		layout, id, value = m.Layout, fmt.Sprintf("%x ", m.ID), string(m.Value)
	}
	if plain, err := strconv.Unquote(value); err == nil {
		return layout.String() + " in JSON", id + plain
	}
	return layout.String(), id + value
}

// Killed at any instant between its first write and its end, migrate loses nothing, doubles nothing and changes no order, and a
// second run goes on where it was, also where the codec does not tell values from those of the old one. DQ_MIGRATE_KILLS is how
// often it is killed; at least one kill leaves it halfway.
func TestMigrateIsKilled(t *testing.T) {
	t.Parallel()
	kills := 1
	if n, err := strconv.Atoi(os.Getenv("DQ_MIGRATE_KILLS")); err == nil {
		kills = n
	} else if redistest.Thorough() {
		kills = 25
	}
	names := wire.NamesOf("orders")
	for name, c := range map[string]struct {
		members wire.Layout
		ready   int    // values in the destination queue
		first   string // the key whose last element is rewritten first
		ways    [2][]string
	}{
		"layout": {wire.LayoutDLc0, 0, names.Pending, [2][]string{{"--to", "Bc0Lc0"}, {"--to", "dLc0"}}},
		"codec": {wire.LayoutBc0Lc0, 1000, names.Destination, [2][]string{
			{"--codec", "string:json", "--classpath", "app.jar"}, {"--codec", "json:string", "--classpath", "app.jar"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Redis(t)
			client := redistest.Client(srv)
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(kills)*10*time.Second)
			defer cancel()
			_, err := client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
				for i := range 1000 {
					var id [8]byte
					binary.LittleEndian.PutUint64(id[:], rand.Uint64())
					member := c.members.Pack(id, []byte("order "+strconv.Itoa(i)))
					pipe.ZAdd(ctx, names.TimeoutSet, goredis.Z{Score: float64(4e12 + i), Member: member})
					pipe.RPush(ctx, names.Pending, member)
				}
				for i := range c.ready {
					pipe.RPush(ctx, names.Destination, "delivered "+strconv.Itoa(i%100))
				}
				return nil
			})
			require.NoError(t, err)
			// read returns what is there, and how much of each kind. It reads in one transaction: the last script of a
			// process that was killed may be yet to run.
			read := func() (all []string, kinds map[string]int) {
				tx := client.TxPipeline()
				pending, timeouts := tx.LRange(ctx, names.Pending, 0, -1), tx.ZRangeWithScores(ctx, names.TimeoutSet, 0, -1)
				destination := tx.LRange(ctx, names.Destination, 0, -1)
				_, err := tx.Exec(ctx)
				require.NoError(t, err)
				require.Len(t, timeouts.Val(), len(pending.Val()))
				for i, z := range timeouts.Val() {
					require.Equal(t, pending.Val()[i], z.Member)
					all = append(all, fmt.Sprint(z.Score))
				}
				kinds = map[string]int{}
				for _, message := range append(pending.Val(), destination.Val()...) {
					kind, kept := layoutAndCodec(message)
					all = append(all, kept)
					kinds[kind]++
				}
				return all, kinds
			}
			run := func(way []string) (cmd *exec.Cmd, ended chan error) {
				cmd = exec.CommandContext(ctx, "dq-bench", append([]string{"migrate", "orders", "--yes", "--redis", srv.URL()}, way...)...)
				cmd.Env = append(os.Environ(), "DQ_JAVA=dq-fake-java", "TMPDIR="+t.TempDir())
				cmd.Stderr, ended = new(bytes.Buffer), make(chan error, 1)
				require.NoError(t, cmd.Start())
				go func() { ended <- cmd.Wait() }()
				return cmd, ended
			}
			// begin returns when the program has written something.
			begin := func(way []string) (*exec.Cmd, chan error) {
				before := client.LIndex(ctx, c.first, -1).Val()
				cmd, ended := run(way)
				for client.LIndex(ctx, c.first, -1).Val() == before {
					select {
					case err := <-ended:
						require.Fail(t, "it ended before it wrote", "%v: %s", err, cmd.Stderr)
					case <-time.After(time.Millisecond):
					}
				}
				return cmd, ended
			}
			whole, kinds := read()
			require.Len(t, kinds, 1)
			_, ended := begin(c.ways[0])
			wrote := time.Now()
			require.NoError(t, <-ended)
			whileWriting, halfway := time.Since(wrote), 0
			for i := 1; i <= kills || halfway == 0; i++ {
				_, before := read()
				cmd, ended := begin(c.ways[i%2])
				time.Sleep(rand.N(whileWriting)) // any instant: there is no event to wait for
				if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
					require.NoError(t, err)
				}
				<-ended // killed, or done before
				left, kinds := read()
				require.Equal(t, whole, left, "kill %d", i)
				if len(kinds) == 2 {
					halfway++
				}
				cmd, ended = run(c.ways[i%2])
				require.NoError(t, <-ended, "%s", cmd.Stderr)
				left, kinds = read()
				require.Equal(t, whole, left)
				require.Len(t, kinds, 1)
				require.NotEqual(t, before, kinds, "all is rewritten")
			}
			t.Logf("killed within %v of the first write, %d times halfway", whileWriting, halfway)
		})
	}
}
