package dq_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestFaultOneForbiddenChannelDisturbsNoOther(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	p := redistest.NewProxy(t, s.Addr)
	admin := connect(t, s.URL())
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all",
		"resetchannels", "&redisson_delay_queue_channel:{orders}").Err())
	var lost, transfers, subscribed atomic.Int64
	b := at(t, s, "redis://app:secret@"+p.Addr, quick(),
		on(func(dq.Disconnected) { lost.Add(1) }),
		on(func(dq.Transferred) { transfers.Add(1) }),
		on(func(dq.Subscribed) { subscribed.Add(1) }))
	ctx := deadline(t)
	bad := dq.NewTaker(b.client, "bad", codec.String{})
	forbidden := dq.NewSender(bad)
	for range 20 { // also after its first transfer, which succeeds
		within(t, time.Second, "Ready", func() { require.ErrorContains(t, forbidden.Ready(ctx), "NOPERM") })
	}
	good := b.delayed(t)

	accepted, refused := p.Accepted.Load(), lost.Load()
	transferred := transfers.Load()
	<-time.After(time.Second)
	require.Equal(t, accepted, p.Accepted.Load(), "no connection is made again")
	require.LessOrEqual(t, lost.Load()-refused, int64(3), "it is tried again after pauses")
	require.LessOrEqual(t, transfers.Load()-transferred, int64(3))
	require.Equal(t, int64(1), subscribed.Load())

	b.announced(t, ctx, "other's", time.Now())
	within(t, time.Second+slack, "the other queue", func() {
		takes(t, ctx, b.queue, "other's")
		require.NoError(t, good.Offer(ctx, "own", 100*time.Millisecond))
		takes(t, ctx, b.queue, "own")
	})
	// The user may not publish either, so that an offer that becomes the head fails after its writes. It is delivered all the same.
	require.ErrorIs(t, forbidden.Offer(ctx, "own", 200*time.Millisecond), dq.ErrUncertain)
	within(t, time.Second+slack, "an own offer to the forbidden queue", func() { takes(t, ctx, bad, "own") })
}

// What others offered before is delivered, and what they offer later once the user may subscribe.
func TestFaultAChannelIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := as(t, redistest.Redis(t), "~* resetchannels +@all", quick())
	ctx := deadline(t)
	b.announced(t, ctx, "due soon", time.Now().Add(300*time.Millisecond))
	d := dq.NewSender(b.queue)
	require.ErrorContains(t, d.Ready(ctx), "NOPERM")
	takes(t, ctx, b.queue, "due soon")
	require.NoError(t, b.redis.Do(ctx, "ACL", "SETUSER", "app", "allchannels").Err())
	require.Eventually(t, func() bool { return d.Ready(ctx) == nil }, 6*time.Second, 10*time.Millisecond)
	b.announced(t, ctx, "granted", time.Now())
	takes(t, ctx, b.queue, "granted")
}

// The server refuses a PING: it lives.
func TestFaultAUserWhoMayNotPingKeepsItsSubscription(t *testing.T) {
	t.Parallel()
	var lost atomic.Int64
	as(t, redistest.Redis(t), "~* &* +@all -ping", quick(), on(func(dq.Disconnected) { lost.Add(1) })).delayed(t)
	<-time.After(1200 * time.Millisecond) // twice the time after which it asks, and more
	require.Zero(t, lost.Load(), "connections that were lost")
}

// The handshake fails: every call says why, and nothing was sent.
func TestFaultAHandshakeThatFails(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t, "--requirepass", "secret")
	for want, url := range map[string]string{
		"DB index is out of range": "redis://:secret@" + s.Addr + "/99", "WRONGPASS": "redis://:wrong@" + s.Addr, "refused": "redis://127.0.0.1:1",
	} {
		client := clientOf(t, connect(t, url), dq.WithOfferRetryTimeout(100*time.Millisecond))
		taker := dq.NewTaker(client, "orders", codec.String{})
		_, err := taker.Take(deadline(t))
		require.ErrorContains(t, err, want)
		sender := dq.NewSender(taker)
		err = sender.Offer(deadline(t), "v", 0)
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, dq.ErrUncertain)
		short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		err = sender.Ready(short)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, want)
	}
}

// A user with the rights that README names and no others: the first of its rules is for offers and takes.
func TestFaultAUserWithFewRights(t *testing.T) {
	t.Parallel()
	for _, without := range []string{"", "+client|unblock"} {
		t.Run("without "+without, func(t *testing.T) {
			t.Parallel()
			b, admin := byTheRules(t, 1, without)
			ctx := deadline(t)
			d := b.delayed(t)
			require.NoError(t, d.Offer(ctx, "v", 50*time.Millisecond))
			takes(t, ctx, b.queue, "v")
			short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			_, err := b.queue.Take(short)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			if without == "" {
				b.cancelsAndUnlists(t, d)
				require.NoError(t, connect(t, "redis://app:secret@"+b.server.Addr).LPush(ctx, "orders", "back").Err()) // as a late value is put back
				require.NoError(t, d.Close())
				require.Eventually(t, func() bool { return len(admin.PubSubChannels(ctx, "*").Val()) == 0 }, slack, time.Millisecond)
				requireNothingDenied(t, admin)
				allCalled(t, admin, 1, "+ping") // a sign of life, after 4 s
			}
		})
	}
}

// cancelsAndUnlists does what else a user may: it removes and reschedules, and has a backlog come due that is unlisted.
func (b *bundle) cancelsAndUnlists(t *testing.T, d *dq.Sender[string]) {
	t.Helper()
	ctx := deadline(t)
	ticket, err := d.Queue.Offer(ctx, "moved", time.Hour)
	require.NoError(t, err)
	ticket, err = d.Reschedule(ctx, ticket, 2*time.Hour)
	require.NoError(t, err)
	require.NoError(t, d.Cancel(ctx, ticket))
	require.NoError(t, d.Offer(ctx, "removed", time.Hour))
	removed, err := d.Remove(ctx, "removed")
	require.NoError(t, err)
	require.True(t, removed)
	b.passBesideATransfer(t)
	const n = 1600
	start := time.Now().Add(3 * time.Second).UnixMilli()
	b.fill(t, wire.LayoutBc0Lc0, n, func(i int) int64 { return start + int64(i/4) })
	require.NoError(t, d.Offer(ctx, "found", 0)) // and the backlog behind it
	takeAll(t, deadline(t), b.queue, n+1)
}

// passBesideATransfer makes a pass, and another one while somebody transfers a member that it has taken out.
func (b *bundle) passBesideATransfer(t *testing.T) {
	t.Helper()
	ctx, n, u := deadline(t), b.names, scripts.UnlistingOf("orders")
	app := connect(t, "redis://app:secret@"+b.server.Addr)
	b.fill(t, wire.LayoutBc0Lc0, 30, func(i int) int64 { return 4e12 + int64(i/10) })
	pass := func(token string, horizon any, count int) (stage scripts.Stage) {
		reply, err := app.EvalSha(ctx, scripts.Unlist().SHA1, []string{n.TimeoutSet, n.Pending, u.State, u.Pass, u.Next, u.Leaving, u.Unlisted[0], u.Unlisted[1]},
			token, horizon, count, 2000, 60_000).Result()
		require.NoError(t, err)
		stage, _, err = scripts.ReadUnlisted(reply)
		require.NoError(t, err)
		return stage
	}
	require.NoError(t, app.ScriptLoad(ctx, scripts.Unlist().Body).Err())
	require.Equal(t, scripts.UnlistDone, pass("first", 4e12, 100))
	require.Equal(t, scripts.UnlistMore, pass("second", 4e12+1, 20))
	taken := b.redis.SRandMember(ctx, u.Leaving).Val()
	require.NoError(t, b.redis.LRem(ctx, n.Pending, 1, taken).Err())
	require.NoError(t, b.redis.ZRem(ctx, n.TimeoutSet, taken).Err())
	stage := scripts.UnlistMore
	for stage == scripts.UnlistMore {
		stage = pass("second", "", 20)
	}
	require.Equal(t, scripts.UnlistDone, stage)
	require.NoError(t, b.redis.Del(ctx, append(u.All(), n.TimeoutSet, n.Pending)...).Err())
}

// The second rule is for a Worker, besides.
func TestFaultAWorkerWithFewRights(t *testing.T) {
	t.Parallel()
	b, admin := byTheRules(t, 2, "")
	ctx := deadline(t)
	names := scripts.LeaseNamesOf("orders")
	require.NoError(t, admin.RPush(ctx, names.Staged, "staged").Err()) // by a process that died
	q := queueOf(t, b, codec.String{})
	w := dq.NewWorker(b.client, dq.WorkerOptions{Lease: 2 * time.Second, MaxAttempts: 2, Backoff: func(int) time.Duration { return 0 }})
	handled := make(chan string, 10)
	dq.Handle(w, q, func(ctx context.Context, m *dq.Message[string]) error {
		switch {
		case m.Value == "long":
			time.Sleep(time.Second) // extended after a third
		case m.Value == "bad":
			return dq.Bury(errors.New("a" + strings.Repeat("é", 600)))
		case m.Value == "fails" && m.Attempt == 1:
			return errors.New("once")
		}
		handled <- m.Value
		return nil
	})
	running := async(func() error { return w.Run(ctx) })
	for _, v := range []string{"long", "fails", "bad"} {
		_, err := q.Offer(ctx, v, 0)
		require.NoError(t, err)
	}
	var got []string
	for range 3 {
		got = append(got, <-handled)
	}
	require.ElementsMatch(t, []string{"staged", "long", "fails"}, got)
	for range 2 { // replayed, then dropped
		var dead []string
		require.Eventually(t, func() bool {
			dead = nil
			for letter, err := range q.Dead(ctx) {
				require.NoError(t, err)
				require.Equal(t, "bad: a"+strings.Repeat("é", 499), letter.Value+": "+letter.Reason, "whole letters")
				dead = append(dead, letter.ID)
			}
			return len(dead) == 1
		}, testDeadline, 5*time.Millisecond)
		n, err := q.Replay(ctx, dead...)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	_, err := q.Counts(ctx)
	require.NoError(t, err)
	require.NoError(t, w.Shutdown(ctx))
	require.NoError(t, <-running)
	requireNothingDenied(t, admin)
	allCalled(t, admin, 2)
}

// rules are the lines of README that grant a user what it needs.
func rules(t *testing.T) []string {
	t.Helper()
	text := must(os.ReadFile("README.md"))
	var found []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "ACL SETUSER ") {
			found = append(found, line)
		}
	}
	require.Len(t, found, 2, "rules in README.md")
	return found
}

// byTheRules sends the first n rules as they are written, but for one word, and returns a client of the user that they make.
func byTheRules(t *testing.T, n int, without string) (*bundle, *goredis.Client) {
	t.Helper()
	s := redistest.Redis(t)
	admin := connect(t, s.URL())
	for _, rule := range rules(t)[:n] {
		var args []any
		for _, word := range strings.Fields(rule) {
			if word != without {
				args = append(args, word)
			}
		}
		require.NoError(t, admin.Do(t.Context(), args...).Err(), rule)
	}
	return at(t, s, "redis://app:secret@"+s.Addr), admin
}

func requireNothingDenied(t *testing.T, admin *goredis.Client) {
	t.Helper()
	denied, err := admin.ACLLog(t.Context(), 10).Result()
	require.NoError(t, err)
	for _, d := range denied {
		require.Fail(t, "denied", "%+v", *d)
	}
}

// allCalled checks that the server was sent each command of the n-th rule, so that none is one too many.
func allCalled(t *testing.T, admin *goredis.Client, n int, but ...string) {
	t.Helper()
	stats, err := admin.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	for _, word := range strings.Fields(rules(t)[n-1]) {
		if command, ok := strings.CutPrefix(word, "+"); ok && !slices.Contains(but, word) {
			require.Contains(t, stats, "cmdstat_"+command+":", "the rule permits %s, which is not needed", command)
		}
	}
}

// slack is what a busy machine may add to a bound of the contract.
const slack = 3 * time.Second

// quick has a Client wait a quarter as long, or less, as it would.
func quick() dq.Option {
	return dq.WithConn(func(o *conn.Options) {
		o.Turn, o.Overdue, o.Silent, o.Idle = time.Second, 500*time.Millisecond, time.Second, time.Second
		o.Quiet, o.Refused = 500*time.Millisecond, 700*time.Millisecond
	})
}

// through gives a bundle whose Client reaches the server over a proxy, while its redis looks at it directly.
func through(t *testing.T, s *redis.Server, options ...dq.Option) (*bundle, *redis.Proxy) {
	t.Helper()
	p := redistest.NewProxy(t, s.Addr)
	return at(t, s, "redis://"+p.Addr, options...), p
}

// at gives a bundle whose Client uses that URL.
func at(t *testing.T, s *redis.Server, url string, options ...dq.Option) *bundle {
	t.Helper()
	return bundleOf(t, s, clientOf(t, connect(t, url), options...), "orders")
}

// as gives a bundle whose Client is a user with these rights, as ACL SETUSER takes them.
func as(t *testing.T, s *redis.Server, rights string, options ...dq.Option) *bundle {
	t.Helper()
	admin := connect(t, s.URL())
	args := []any{"ACL", "SETUSER", "app", "on", ">secret"}
	for _, right := range strings.Fields(rights) {
		args = append(args, right)
	}
	require.NoError(t, admin.Do(t.Context(), args...).Err())
	return at(t, s, "redis://app:secret@"+s.Addr, options...)
}

func closeWithin(t testing.TB, c *dq.Client, bound time.Duration) {
	t.Helper()
	within(t, bound, "Close", func() { require.NoError(t, c.Close()) })
}

func within(t testing.TB, bound time.Duration, what string, f func()) {
	t.Helper()
	began := time.Now()
	f()
	took := time.Since(began)
	require.Less(t, took, bound, "%s took too long", what)
	t.Logf("%s: %s", what, took.Round(time.Millisecond))
}

// sent and waiting match connections of a proxy.
func sent(name string) func(*redis.ProxyConn) bool {
	return func(c *redis.ProxyConn) bool { return c.Sent(name) }
}

func waiting(name string) func(*redis.ProxyConn) bool {
	return func(c *redis.ProxyConn) bool { return c.Waiting(name) }
}

// takeLoop takes until a value comes, over failures as a caller would.
func takeLoop(ctx context.Context, q *dq.Taker[string]) (string, error) {
	for {
		v, err := q.Take(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, dq.ErrClosed) {
			return v, err
		}
		time.Sleep(20 * time.Millisecond) // as a caller pauses
	}
}

// observeReturned has the values that go back to a queue told on a channel.
func observeReturned() (dq.Option, <-chan dq.Requeued) {
	returned := make(chan dq.Requeued, 10)
	return on(func(e dq.Requeued) { returned <- e }), returned
}

// The two releases pack members in different layouts, and send scripts by their text and by their SHA-1.
const oldRelease, newRelease = "3.16.6", "4.7.0"

func forBothReleases(t *testing.T, f func(t *testing.T, release string)) {
	t.Helper()
	for _, release := range []string{oldRelease, newRelease} {
		t.Run(release, func(t *testing.T) { t.Parallel(); f(t, release) })
	}
}

// seed puts a value into the queue as a client of the layout would, without telling anybody. Ids of dLc0 members are doubles whose lowest
// byte is not 7, so that no release since 3.21.1 reads them by luck.
func (b *bundle) seed(t *testing.T, l wire.Layout, due int64, value string) {
	t.Helper()
	b.seedMember(t, due, l.Pack(wire.DoubleID(due<<20), []byte(value)))
}

func (b *bundle) seedMember(t *testing.T, due int64, member []byte) {
	t.Helper()
	_, err := b.redis.TxPipelined(t.Context(), func(p goredis.Pipeliner) error {
		p.ZAdd(t.Context(), b.names.TimeoutSet, goredis.Z{Score: float64(due), Member: member})
		p.RPush(t.Context(), b.names.Pending, member)
		return nil
	})
	require.NoError(t, err)
}

// requireNeverSent checks that the server has never seen the transfer of Redisson: it remembers each script that ran.
func (b *bundle) requireNeverSent(t *testing.T, release string) {
	t.Helper()
	theirs, ok := must(wire.LookupRelease(release)).Script(wire.ScriptTransfer)
	require.True(t, ok)
	seen, err := b.redis.ScriptExists(t.Context(), theirs.SHA1, scripts.Transfer().SHA1).Result()
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, seen, "the transfers of Redisson and of our own")
}

// What waits before the client opens.
func TestFaultLayoutBacklog(t *testing.T) {
	t.Parallel()
	forBothReleases(t, func(t *testing.T, release string) {
		var ofOther atomic.Int64
		aside := make(chan dq.Quarantined, 10)
		b := setup(t, dq.WithRelease(release), on(func(e dq.Quarantined) { aside <- e }),
			on(func(e dq.Transferred) { ofOther.Add(int64(e.OtherLayout)) }))
		own := must(wire.LookupRelease(release)).Layout()
		b.seedMember(t, 2, []byte("damaged")) // which nobody can read: it is neither lost nor in the way
		b.seedMember(t, 4, []byte("also damaged, but longer than any header"))
		const n = 250 // three transfers
		var want []string
		for i := range n {
			l, value := own, fmt.Sprintf("value %d", i)
			if i%2 == 1 {
				l = own.Other()
			}
			b.seed(t, l, int64(1+i), value)
			want = append(want, value)
		}
		d := b.delayed(t)
		require.Equal(t, want, takeAll(t, deadline(t), b.queue, n))
		key := scripts.Quarantine("orders")
		require.Equal(t, dq.Quarantined{Queue: "orders", Key: key, Members: 2}, <-aside)
		require.Equal(t, []goredis.Z{
			{Score: 2, Member: "damaged"}, {Score: 4, Member: "also damaged, but longer than any header"},
		}, b.redis.ZRangeWithScores(t.Context(), key, 0, -1).Val())
		require.NoError(t, d.Close())
		require.NoError(t, b.client.Close())
		left, err := b.redis.Exists(t.Context(), b.names.Destination, b.names.Pending, b.names.TimeoutSet).Result()
		require.NoError(t, err)
		require.Zero(t, left, "keys that are left")
		b.requireNeverSent(t, release)
		require.EqualValues(t, n/2, ofOther.Load())
	})
}

func TestFaultLayoutStopsAsRedisson(t *testing.T) {
	t.Parallel()
	forBothReleases(t, func(t *testing.T, release string) {
		events := make(chan dq.Transferred, 100)
		clock := &shiftedClock{}
		b := setup(t, dq.WithRelease(release), dq.WithRedissonCommands(), dq.WithClock(clock),
			on(func(e dq.Transferred) { events <- e }))
		own := must(wire.LookupRelease(release)).Layout()
		b.seed(t, own, 1, "own 1")
		b.seed(t, own.Other(), 2, "foreign")
		b.seed(t, own, 3, "own 2")
		d := dq.NewSender(b.queue)
		const tries = 2
		for range tries {
			require.ErrorIs(t, (<-events).Err, dq.ErrForeignMember)
			takes(t, deadline(t), b.queue, "own 1")
			clock.shift(5 * time.Second)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		err := d.Ready(ended)
		require.ErrorIs(t, err, dq.ErrForeignMember)
		require.ErrorContains(t, err, "dq-bench migrate --to "+own.String()+" -- "+b.names.Destination)
		n, err := b.redis.ZCard(t.Context(), b.names.TimeoutSet).Result()
		require.NoError(t, err)
		require.EqualValues(t, 3, n, "the timeout set is as it was")
	})
}
