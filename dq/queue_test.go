package dq_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func queueOf[T any](t *testing.T, b *bundle, values codec.Codec[T]) *dq.Queue[T] {
	t.Helper()
	q := must(dq.NewQueue(b.client, "orders", values))
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	require.NoError(t, q.Ready(deadline(t)))
	return q
}

func TestQueueListsWaitingMessages(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"3.16.6", "4.7.0"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dq.WithRelease(release))
			ctx := deadline(t)
			q := queueOf(t, b, codec.String{})
			later, err := q.Offer(ctx, "later", 2*time.Hour)
			require.NoError(t, err)
			soon, err := q.Offer(ctx, "soon", time.Hour)
			require.NoError(t, err)
			b.redis.ZAdd(ctx, b.names.TimeoutSet, goredis.Z{Score: 1e15, Member: "no member"})

			var values []string
			var tickets []dq.Ticket
			var failed error
			for m, err := range q.Waiting(ctx) {
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				values, tickets = append(values, m.Value), append(tickets, m.Ticket)
			}
			require.Equal(t, []string{"soon", "later"}, values)
			require.Equal(t, []dq.Ticket{soon, later}, tickets)
			require.ErrorContains(t, failed, "neither a")
			require.NoError(t, q.Cancel(ctx, tickets[0]))
			require.ErrorIs(t, q.Cancel(ctx, soon), dq.ErrNotWaiting)

			cleared, err := q.Clear(ctx)
			require.NoError(t, err)
			require.True(t, cleared)
			for range q.Waiting(ctx) {
				require.Fail(t, "a message waits after Clear")
			}
		})
	}
}

// A walk reads fewer messages a call if they are large.
func TestWalksOverLargeMessages(t *testing.T) {
	t.Parallel()
	q := queueOf(t, setup(t, dq.WithConn(func(o *conn.Options) { o.MostReply = 2 << 20 })), codec.String{})
	_, err := q.OfferAll(deadline(t), time.Hour, slices.Repeat([]string{strings.Repeat("x", 128<<10)}, 40)...)
	require.NoError(t, err)
	n := 0
	for _, err := range q.Waiting(deadline(t)) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 40, n)
}

// What a caller cancels, replays or drops during a walk hides nothing from the walk.
func TestWalksWhileItsMessagesGo(t *testing.T) {
	t.Parallel()
	const n = 700
	for name, lag := range map[string]int{"at once": 0, "one late": 1, "a page late": 500} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx := deadline(t)
			q := queueOf(t, b, codec.String{})
			confirmed, err := q.OfferAll(ctx, time.Hour, numbered(n)...)
			require.NoError(t, err)
			require.Equal(t, n, confirmed)
			var seen []dq.Ticket
			for w, err := range q.Waiting(ctx) {
				require.NoError(t, err)
				if seen = append(seen, w.Ticket); len(seen) > lag {
					require.NoError(t, q.Cancel(ctx, seen[len(seen)-1-lag]))
				}
			}
			require.Len(t, seen, n)

			keys := scripts.LeaseNamesOf("orders")
			_, err = b.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
				for i := range n {
					p.ZAdd(ctx, keys.Dead, goredis.Z{Score: float64(i / 300), Member: fmt.Sprint(i)})
					p.HSet(ctx, keys.Bodies, fmt.Sprint(i), "v")
				}
				return nil
			})
			require.NoError(t, err)
			var letters []string
			for l, err := range q.Dead(ctx) {
				require.NoError(t, err)
				if letters = append(letters, l.ID); len(letters) > lag {
					_, err = q.Drop(ctx, letters[len(letters)-1-lag])
					require.NoError(t, err)
				}
			}
			require.Len(t, letters, n)
		})
	}
}

// An offer that too few replicas have is uncertain, and is queued.
func TestDurableOfferWaitsForReplicas(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Process(t, "--repl-diskless-sync-delay", "0"), redistest.Process(t)
	ctx := deadline(t)
	q := queueOf(t, setupOn(t, master, "orders", dq.WithDurability(1, 0, 200*time.Millisecond)), codec.String{})
	ticket, err := q.Offer(ctx, "alone", time.Hour)
	require.ErrorIs(t, err, dq.ErrUncertain)
	require.ErrorContains(t, err, "the value may have been queued: WAIT: expected 1 replicas to have it within 200ms, got 0")
	require.NoError(t, q.Cancel(ctx, ticket), "it is queued")

	host, port, err := net.SplitHostPort(master.Addr)
	require.NoError(t, err)
	require.NoError(t, connect(t, replica.URL()).ReplicaOf(ctx, host, port).Err())
	require.Eventually(t, func() bool {
		_, err := q.Offer(ctx, "v", time.Hour)
		return err == nil
	}, testDeadline, 10*time.Millisecond)
	patient := queueOf(t, setupOn(t, master, "orders", dq.WithDurability(1, 0, testDeadline)), codec.String{})
	n, err := patient.OfferAll(ctx, time.Hour, "a", "b")
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// Redis 7.0 has no WAITAOF, and 7.2 refuses it without an append-only file: nothing is offered. Nor is it to a server that is silent.
func TestDurableOfferIsRefusedWithoutAFile(t *testing.T) {
	t.Parallel()
	b := setup(t, dq.WithDurability(0, 1, time.Second))
	ctx := deadline(t)
	_, err := queueOf(t, b, codec.String{}).Offer(ctx, "v", time.Hour)
	require.Regexp(t, "nothing was offered: ERR .*WAITAOF", err)
	require.NotErrorIs(t, err, dq.ErrUncertain)
	require.Zero(t, b.redis.Exists(ctx, b.names.TimeoutSet).Val())

	silent := connect(t, "redis://"+answering(t, func(command []string) string {
		return map[string]string{"HELLO": "-ERR unknown command 'HELLO'\r\n", "CLIENT": ":1\r\n"}[strings.ToUpper(command[0])]
	}))
	client := clientOf(t, silent, dq.WithDurability(1, 0, time.Second), dq.WithClockStepDetection(false))
	time.AfterFunc(100*time.Millisecond, func() { _ = client.Close() })
	_, err = dq.NewTaker(client, "orders", codec.String{}).Queue.Offer(ctx, "v", time.Hour)
	require.ErrorIs(t, err, dq.ErrClosed)
	require.NotErrorIs(t, err, dq.ErrUncertain)

	_, err = dq.NewClient(b.redis, dq.WithDurability(0, 0, time.Second))
	require.ErrorContains(t, err, "WithDurability: expected")
}

func waitBlocked(t *testing.T, rdb *goredis.Client) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(rdb.ClientList(t.Context()).Val(), "flags=b") }, testDeadline, time.Millisecond)
}

// A head that can never come due blocks every announcement, and Redisson. Fractional scores are a foreign tool's, and announcements
// that are no numbers are another program's.
func TestScoresAndAnnouncementsOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	stuck := wire.LayoutBc0Lc0.Pack([8]byte{1}, []byte("stuck"))
	require.NoError(t, b.redis.ZAdd(ctx, b.names.TimeoutSet, goredis.Z{Score: -9.2e18, Member: stuck}).Err())
	d := b.delayed(t)
	require.NoError(t, b.redis.ZAdd(ctx, b.names.TimeoutSet, goredis.Z{Score: math.Inf(-1), Member: append(stuck, 2)}).Err())
	for _, payload := range []string{"", "soon", "1e3", "99999999999999999999", strings.Repeat("9", 5000)} {
		require.NoError(t, b.redis.Publish(ctx, b.names.Channel, payload).Err())
	}
	for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
		require.NoError(t, d.Offer(ctx, "behind", delay))
		takes(t, ctx, b.queue, "behind")
	}
	require.NoError(t, b.redis.Del(ctx, b.names.TimeoutSet).Err())
	require.NoError(t, d.Offer(ctx, "v", 2*time.Second)) // far behind the first, however slow the machine
	require.NoError(t, b.redis.ZIncrBy(ctx, b.names.TimeoutSet, 0.5, b.redis.ZRange(ctx, b.names.TimeoutSet, 0, 0).Val()[0]).Err())
	require.NoError(t, d.Offer(ctx, "first", 0))
	takes(t, ctx, b.queue, "first", "v")
}

// share counts how many of the first n names lie on each of so many masters, as a new Cluster shares slots out.
func share(n, masters int, name func(i int) string) []int {
	count := make([]int, masters)
	for i := range n {
		count[wire.Slot(name(i))*masters/wire.Slots]++
	}
	return count
}

// Each master of a new Cluster has as many partitions as any other.
func TestPartitionName(t *testing.T) {
	t.Parallel()
	for i, want := range []string{"orders-0-107", "orders-1-118", "orders-2-56", "orders-3-137", "orders-4-336", "orders-5-1"} {
		require.Equal(t, want, dq.PartitionName("orders", i), "which Java services have in their settings")
	}
	require.Equal(t, "{orders}-3-0", dq.PartitionName("{orders}", 3), "one slot, whatever the number")
	require.Equal(t, []int{0, 1, 1, 0, 2, 2}, share(6, 6, func(i int) string { return fmt.Sprintf("orders-%d", i) }), "numbers alone")
	for range 4 {
		name := fmt.Sprintf("queue:%x", rand.Uint64())
		for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 12, 24} {
			for masters := 1; masters <= min(n, 12); masters++ {
				if n%masters == 0 && (n != 24 || masters != 8) {
					want := slices.Repeat([]int{n / masters}, masters)
					require.Equal(t, want, share(n, masters, func(i int) string { return dq.PartitionName(name, i) }), "%s: %d on %d", name, n, masters)
				}
			}
		}
	}
}

// stored returns the ticket after a way through JSON, as callers store tickets.
func stored(t *testing.T, ticket dq.Ticket) dq.Ticket {
	t.Helper()
	row := must(json.Marshal(map[string]dq.Ticket{"ticket": ticket}))
	var read map[string]dq.Ticket
	require.NoError(t, json.Unmarshal(row, &read))
	require.Equal(t, ticket, read["ticket"])
	return read["ticket"]
}

// A user without the keys of unlisting cancels; one without a command that it takes is told, and nothing has changed.
func TestCancelWithFewRights(t *testing.T) {
	t.Parallel()
	const keys = "~orders ~redisson_delay_queue:* ~redisson_delay_queue_timeout:* ~redisson_delay_queue_channel:* &* "
	s := redistest.Redis(t)
	b := setupOn(t, s, "orders")
	ticket, err := dq.NewSender(b.queue).Queue.Offer(t.Context(), "v", time.Hour)
	require.NoError(t, err)
	for _, command := range []string{"lrem", "zrem"} {
		user := as(t, s, "reset on >secret "+keys+"+@all -"+command)
		require.ErrorContains(t, dq.NewSender(user.queue).Cancel(t.Context(), ticket), "NOPERM")
		require.Equal(t, int64(2), b.redis.Exists(t.Context(), b.names.Pending, b.names.TimeoutSet).Val())
	}
	user := as(t, s, "reset on >secret "+keys+"+@all")
	require.NoError(t, dq.NewSender(user.queue).Cancel(t.Context(), ticket))
	require.Zero(t, b.redis.Exists(t.Context(), b.names.Pending, b.names.TimeoutSet).Val())
}

func TestParseTicket(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"1795329218107-08af82252204180b", "0-0000000000000000", "-5-ffffffffffffffff", fmt.Sprint(math.MinInt64, "-0123456789abcdef")[:37],
	} {
		parsed, err := dq.ParseTicket(text)
		require.NoError(t, err)
		require.Equal(t, text, parsed.String())
	}
	for _, text := range []string{
		"", "-", "1", "1-", "-08af82252204180b", "1-08af82252204180", "1-08af82252204180b0", "01-08af82252204180b", "+1-08af82252204180b",
		"1-08AF82252204180B", " 1-08af82252204180b", "1-08af82252204180b\n", "9223372036854775808-08af82252204180b", "1--8af82252204180b",
	} {
		_, err := dq.ParseTicket(text)
		require.ErrorContains(t, err, "expected a ticket such as", text)
	}
}

func FuzzParseTicket(f *testing.F) {
	f.Add("1795329218107-08af82252204180b")
	f.Add("-5-ffffffffffffffff")
	f.Add("1-")
	f.Fuzz(func(t *testing.T, text string) {
		if parsed, err := dq.ParseTicket(text); err == nil {
			require.Equal(t, text, parsed.String())
		}
	})
}

// Remove compares bytes, in whatever layout a member is packed, and removes one message.
func TestRemove(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]dq.Option{"": nil, "strict": {dq.WithRedissonCommands()}, "strict and old": {dq.WithRedissonCommands(), dq.WithRelease("3.16.6")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options...)
			ctx, q := deadline(t), queueOf(t, b, codec.String{})
			var tickets []dq.Ticket
			for i, v := range []string{"a", "b", "a"} {
				ticket, err := q.Offer(ctx, v, time.Hour-time.Duration(i)*time.Minute)
				require.NoError(t, err)
				tickets = append(tickets, ticket)
			}
			removed, err := q.Remove(ctx, "a")
			require.NoError(t, err)
			require.True(t, removed)
			require.ErrorIs(t, q.Cancel(ctx, stored(t, tickets[0])), dq.ErrNotWaiting, "of several the one offered first goes")
			require.NoError(t, q.Cancel(ctx, tickets[2]))
			_, err = q.Offer(ctx, "a", time.Hour)
			require.NoError(t, err)
			for _, want := range []bool{true, false} {
				removed, err := q.Remove(ctx, "a")
				require.NoError(t, err)
				require.Equal(t, want, removed)
			}
			require.EqualValues(t, 1, b.redis.ZCard(ctx, b.names.TimeoutSet).Val())
			require.EqualValues(t, 1, b.redis.LLen(ctx, b.names.Pending).Val())
		})
	}
}

func TestReschedule(t *testing.T) {
	t.Parallel()
	ctx, q := deadline(t), queueOf(t, setup(t), codec.String{})
	ticket, err := q.Offer(ctx, "v", time.Hour)
	require.NoError(t, err)
	later, err := q.Reschedule(ctx, ticket, 2*time.Hour)
	require.NoError(t, err)
	require.InDelta(t, float64(time.Hour), float64(later.Due().Sub(ticket.Due())), float64(time.Minute))
	require.ErrorIs(t, q.Cancel(ctx, ticket), dq.ErrNotWaiting, "the ticket of before")
	_, err = q.Reschedule(ctx, later, -1)
	require.ErrorIs(t, err, dq.ErrNegativeDelay)

	soon, err := q.Reschedule(ctx, later, 20*time.Millisecond)
	require.NoError(t, err)
	v, err := q.Take(ctx) // this Client knows of it
	require.NoError(t, err)
	require.Equal(t, "v", v)
	_, err = q.Reschedule(ctx, soon, time.Hour)
	require.ErrorIs(t, err, dq.ErrNotWaiting)
	require.NotErrorIs(t, err, dq.ErrUncertain)
}
