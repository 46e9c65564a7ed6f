package bridge_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/bridge"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const (
	dLc0   = wire.LayoutDLc0
	bc0Lc0 = wire.LayoutBc0Lc0
)

// bundle is one queue on a server.
type bundle struct {
	t      *testing.T
	ctx    context.Context
	client goredis.UniversalClient
	names  wire.Names
	lastID uint64

	mu      sync.Mutex
	notices []string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	options, err := goredis.ParseURL(redistest.Redis(t).URL())
	require.NoError(t, err)
	client := goredis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return newBundle(t, client)
}

// setupCluster is setup on a Redis Cluster of three masters.
func setupCluster(t *testing.T) *bundle {
	t.Helper()
	client := redistest.Client(redistest.Cluster(t, 3, 0))
	t.Cleanup(func() { client.Close() })
	return newBundle(t, client)
}

func newBundle(t *testing.T, client goredis.UniversalClient) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return &bundle{t: t, ctx: ctx, client: client, names: wire.NamesOf("orders")}
}

// member packs a value; a Redisson of the other side fails at what it returns.
func (b *bundle) member(l wire.Layout, value string) string {
	b.lastID++
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], b.lastID<<8|0x10_00_00_00_00_00_00_10)
	return string(l.Pack(id, []byte(value)))
}

// offer puts a message into the queue, and announces it as Redisson does.
func (b *bundle) offer(l wire.Layout, due time.Time, value string) string {
	b.t.Helper()
	member := b.member(l, value)
	score := strconv.FormatInt(due.UnixMilli(), 10)
	_, err := b.client.TxPipelined(b.ctx, func(p goredis.Pipeliner) error {
		p.Do(b.ctx, "ZADD", b.names.TimeoutSet, score, member)
		p.RPush(b.ctx, b.names.Pending, member)
		return nil
	})
	require.NoError(b.t, err)
	head, err := b.client.ZRange(b.ctx, b.names.TimeoutSet, 0, 0).Result()
	require.NoError(b.t, err)
	if len(head) == 1 && head[0] == member {
		require.NoError(b.t, b.client.Publish(b.ctx, b.names.Channel, score).Err())
	}
	return member
}

// start runs a bridge until end is called.
func (b *bundle) start(options bridge.Options) (running *bridge.Bridge, end func()) {
	b.t.Helper()
	if options.Lead == 0 {
		options.Lead = 100 * time.Millisecond
	}
	if options.Interval == 0 {
		options.Interval = 100 * time.Millisecond
	}
	_, options.Cluster = b.client.(*goredis.ClusterClient)
	options.Notice = func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.notices = append(b.notices, line)
	}
	running, err := bridge.New(redis.On(b.client), options)
	require.NoError(b.t, err)
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	var once sync.Once
	end = func() {
		once.Do(func() {
			cancel()
			require.NoError(b.t, <-ended)
		})
	}
	b.t.Cleanup(end)
	return running, end
}

func (b *bundle) noticed(part string) func() bool {
	return func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return slices.ContainsFunc(b.notices, func(line string) bool { return strings.Contains(line, part) })
	}
}

func (b *bundle) eventually(met func() bool, what string) {
	b.t.Helper()
	require.Eventually(b.t, met, 20*time.Second, 5*time.Millisecond, what)
}

func (b *bundle) delivered() []string {
	return b.client.LRange(b.ctx, b.names.Destination, 0, -1).Val()
}

// services are what Redissons of both sides do, all the time and without a pause: each runs its
// transfer with its clock, which is ahead by so much. They stop at the first failure.
func (b *bundle) services(ctx context.Context, ahead [2]time.Duration) error {
	var all sync.WaitGroup
	errs := make([]error, len(ahead))
	for i, release := range []wire.Release{{Major: 3, Minor: 21}, {Major: 4, Minor: 7}} {
		script, _ := release.Script(wire.ScriptTransfer)
		all.Go(func() {
			for ctx.Err() == nil {
				err := b.client.Eval(b.ctx, script.Body, []string{b.names.Destination, b.names.TimeoutSet, b.names.Pending},
					strconv.FormatInt(time.Now().Add(ahead[i]).UnixMilli(), 10), "100").Err()
				if err != nil && !errors.Is(err, goredis.Nil) {
					errs[i] = fmt.Errorf("Redisson %s: %w", release, err)
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Services of both sides look for due members all the time, and never meet one: all come
// through the bridge, once, when they are due, in order; also where the services' clocks are
// apart by less than the lead, and on a cluster.
func TestServicesOfBothSidesShareAQueue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		setup func(*testing.T) *bundle
		ahead [2]time.Duration
	}{
		{name: "one server", setup: setup},
		{name: "clocks apart", setup: setup, ahead: [2]time.Duration{-time.Minute, 1500 * time.Millisecond}},
		{name: "cluster", setup: setupCluster},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			servicesShareAQueue(c.setup(t), c.ahead)
		})
	}
}

func servicesShareAQueue(b *bundle, ahead [2]time.Duration) {
	b.t.Helper()
	_, end := b.start(bridge.Options{Queues: []string{"orders"}, Lead: 2 * time.Second})
	const messages = 300
	first := time.Now().Add(3 * time.Second).Truncate(time.Millisecond)
	expected := make([]string, messages)
	for i := range messages {
		layout := dLc0
		if i%3 == 0 {
			layout = bc0Lc0
		}
		expected[i] = fmt.Sprintf("order %03d", i)
		b.offer(layout, first.Add(time.Duration(i)*5*time.Millisecond), expected[i])
	}
	working, stop := context.WithCancel(b.ctx)
	served := make(chan error, 1)
	go func() { served <- b.services(working, ahead) }()
	for i, value := range expected {
		taken, err := b.client.BLPop(b.ctx, 20*time.Second, b.names.Destination).Result()
		require.NoError(b.t, err)
		require.Equal(b.t, value, taken[1])
		require.False(b.t, time.Now().Before(first.Add(time.Duration(i)*5*time.Millisecond)), "%s is early", value)
	}
	stop()
	require.NoError(b.t, <-served)
	end()
	for _, key := range []string{b.names.Destination, b.names.TimeoutSet, b.names.Pending, forensics.HeldKey("orders")} {
		require.Zero(b.t, b.client.Exists(b.ctx, key).Val(), key)
	}
}

// Without a bridge the same services fail: the test above tests something.
func TestServicesOfBothSidesFailWithoutABridge(t *testing.T) {
	b := setup(t)
	b.offer(dLc0, time.Now(), "old")
	b.offer(bc0Lc0, time.Now(), "new")
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	require.Error(t, b.services(ctx, [2]time.Duration{}))
}

// What is held when the bridge ends is delivered, when it is due; what is further ahead
// stays in the queue.
func TestWhatIsHeldIsDeliveredAtTheEnd(t *testing.T) {
	b := setup(t)
	due := time.Now().Add(time.Second)
	b.offer(dLc0, due, "soon")
	later := b.offer(bc0Lc0, due.Add(time.Hour), "later")
	running, end := b.start(bridge.Options{Queues: []string{"orders"}, Lead: 3 * time.Second})
	b.eventually(func() bool { return running.Summary().Total().Held == 1 }, "it is held")
	require.Empty(t, b.delivered())
	end()
	require.False(t, time.Now().Before(due.Truncate(time.Millisecond)), "it is early")
	require.Equal(t, []string{"soon"}, b.delivered())
	require.Equal(t, []string{later}, b.client.ZRange(b.ctx, b.names.TimeoutSet, 0, -1).Val())
	require.Equal(t, []string{later}, b.client.LRange(b.ctx, b.names.Pending, 0, -1).Val())
	all := running.Summary().Total()
	require.Equal(t, []int64{1, 0, 0, 0}, []int64{all.DLc0, all.Bc0Lc0, all.Held, all.Failures})
}

// A bridge that was killed has left what it held; the next one delivers it.
func TestTheNextBridgeDeliversWhatAKilledOneHeld(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.client.ZAdd(b.ctx, forensics.HeldKey("orders"), goredis.Z{Score: 1000, Member: b.member(dLc0, "left")}).Err())
	b.start(bridge.Options{})
	b.eventually(func() bool { return slices.Equal(b.delivered(), []string{"left"}) }, "it is delivered, though there is nothing else of the queue")
}

func TestTwoBridgesDeliverOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 2 {
		b.start(bridge.Options{Queues: []string{"orders"}, Lead: time.Second})
	}
	due := time.Now().Add(1500 * time.Millisecond)
	var expected []string
	for i := range 250 {
		expected = append(expected, strconv.Itoa(i))
		b.offer([]wire.Layout{dLc0, bc0Lc0}[i%2], due, strconv.Itoa(i))
	}
	b.eventually(func() bool { return len(b.delivered()) >= len(expected) }, "all are delivered")
	require.ElementsMatch(t, expected, b.delivered())
}

func TestWhatNobodyCanReadIsSetAside(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.client.ZAdd(b.ctx, b.names.TimeoutSet, goredis.Z{Score: 7, Member: "neither"}).Err())
	b.offer(dLc0, time.Now(), "good")
	running, _ := b.start(bridge.Options{Queues: []string{"orders"}})
	b.eventually(func() bool { return slices.Equal(b.delivered(), []string{"good"}) }, "what is behind it is delivered")
	aside := b.client.ZRangeWithScores(b.ctx, scripts.Quarantine("orders"), 0, -1).Val()
	require.Equal(t, []goredis.Z{{Score: 7, Member: "neither"}}, aside)
	require.Equal(t, int64(1), running.Summary().Total().Quarantined)
	require.True(t, b.noticed("set 1 members aside in redisson_delay_queue_quarantine:{orders}")())
}

// A call that fails changes nothing, is told, and is tried again.
func TestACallThatFailsIsTriedAgain(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.client.Set(b.ctx, b.names.Destination, "no list", 0).Err())
	member := b.offer(bc0Lc0, time.Now(), "a")
	running, _ := b.start(bridge.Options{Queues: []string{"orders"}})
	b.eventually(b.noticed("WRONGTYPE"), "it is told")
	require.Equal(t, []string{member}, b.client.ZRange(b.ctx, b.names.TimeoutSet, 0, -1).Val())
	require.Contains(t, running.Summary().Queues[0].Failing, "WRONGTYPE")
	require.NoError(t, b.client.Del(b.ctx, b.names.Destination).Err())
	b.eventually(func() bool { return slices.Equal(b.delivered(), []string{"a"}) }, "it is delivered then")
	b.eventually(b.noticed("it works again"), "it is told")
}

// A key beside the queue that is of a wrong type is named, and keeps nothing from being delivered but
// what it is for.
func TestKeysOfAWrongType(t *testing.T) {
	b := setup(t)
	keys := []string{scripts.Quarantine("orders"), scripts.UnlistingOf("orders").Unlisted[0], scripts.UnlistingOf("orders").Unlisted[1]}
	for _, key := range keys {
		require.NoError(t, b.client.Set(b.ctx, key, "no set", 0).Err())
	}
	for i := range 300 {
		require.NoError(t, b.client.ZAdd(b.ctx, b.names.TimeoutSet, goredis.Z{Score: 7, Member: fmt.Sprintf("neither %d", i)}).Err())
	}
	want := []string{}
	for i := range 250 {
		want = append(want, strconv.Itoa(i))
		b.offer(dLc0, time.Now(), strconv.Itoa(i))
	}
	running, end := b.start(bridge.Options{Queues: []string{"orders"}})
	b.offer(bc0Lc0, time.Now().Add(300*time.Millisecond), "later")
	b.eventually(func() bool { return len(b.delivered()) == 251 }, "all that can be read is delivered")
	require.ElementsMatch(t, append(want, "later"), b.delivered())
	for _, key := range keys {
		b.eventually(b.noticed(key), "it is told")
	}
	require.Equal(t, int64(300), b.client.ZCard(b.ctx, forensics.HeldKey("orders")).Val())
	require.Contains(t, running.Summary().Queues[0].Failing, "nobody can read stay held: 300")
	calls := running.Summary().Queues[0].Calls
	require.Less(t, calls, int64(200), "it does not turn in a circle")
	require.NoError(t, b.client.Del(b.ctx, keys...).Err())
	b.eventually(func() bool { return b.client.ZCard(b.ctx, keys[0]).Val() == 300 }, "they are set aside then")
	end()
	require.Empty(t, running.Summary().Queues[0].Failing)
}

// A bridge that could not do its work does not begin.
func TestWhoMayNotBridge(t *testing.T) {
	b := setup(t)
	server := b.client.(*goredis.Client).Options()
	for right, want := range map[string]string{
		"-eval -evalsha": "'evalsha' command", "-zadd": "zadd redisson_delay_queue_bridge:{", "-rpush": "may not rpush orders", "-lrem": "may not lrem redisson_delay_queue:{orders}",
		"resetkeys ~orders": "one of the keys",
	} {
		rights := []any{"ACL", "SETUSER", "limited", "reset", "on", ">secret", "~*", "&*", "+@all"}
		for word := range strings.FieldsSeq(right) {
			rights = append(rights, word)
		}
		require.NoError(t, b.client.Do(b.ctx, rights...).Err())
		options := *server
		options.Username, options.Password = "limited", "secret"
		client := goredis.NewClient(&options)
		t.Cleanup(func() { client.Close() })
		limited, err := bridge.New(redis.On(client), bridge.Options{Queues: []string{"orders"}, Lead: time.Second, Interval: time.Second})
		require.NoError(t, err)
		require.ErrorContains(t, limited.Run(b.ctx), want, right)
	}
	replica := setup(t)
	host, port, err := net.SplitHostPort(server.Addr)
	require.NoError(t, err)
	require.NoError(t, replica.client.Do(b.ctx, "REPLICAOF", host, port).Err())
	for _, queues := range [][]string{{"orders"}, nil} {
		onReplica, err := bridge.New(redis.On(replica.client), bridge.Options{Queues: queues, Lead: time.Second, Interval: time.Second})
		require.NoError(t, err)
		err = onReplica.Run(b.ctx)
		require.True(t, goredis.HasErrorPrefix(err, "READONLY"), "%v", err)
	}
}

// A head that is never due keeps Redisson from announcing anything.
func TestAHeadThatIsNeverDueHoldsNothingUp(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.client.ZAdd(b.ctx, b.names.TimeoutSet, goredis.Z{Score: -5, Member: b.member(dLc0, "overflow")}).Err())
	b.start(bridge.Options{Queues: []string{"orders"}, Interval: time.Hour})
	b.eventually(b.noticed("bridged"), "it runs")
	b.offer(bc0Lc0, time.Now().Add(300*time.Millisecond), "a")
	b.eventually(func() bool { return slices.Equal(b.delivered(), []string{"a"}) }, "it is delivered")
}

// A queue that comes into being is found by its announcement; one that may mean another is left
// alone.
func TestAllQueuesAreFound(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.client.ZAdd(b.ctx, wire.NamesOf("twins").TimeoutSet, goredis.Z{Score: 1000, Member: b.member(dLc0, "whose?")}).Err())
	require.NoError(t, b.client.RPush(b.ctx, "{twins}", "a").Err())
	running, _ := b.start(bridge.Options{Interval: time.Hour})
	b.eventually(b.noticed(`its keys are those of "{twins}" too`), "it is told")
	b.offer(dLc0, time.Now().Add(200*time.Millisecond), "a")
	b.eventually(func() bool { return slices.Equal(b.delivered(), []string{"a"}) }, "it is delivered")
	queues := running.Summary().Queues
	require.Len(t, queues, 1)
	require.Equal(t, "orders", queues[0].Queue)
	require.Zero(t, b.client.Exists(b.ctx, "twins").Val())
}

func TestAllQueuesOfAClusterAreFound(t *testing.T) {
	t.Parallel()
	b := setupCluster(t)
	running, _ := b.start(bridge.Options{Interval: 200 * time.Millisecond})
	names := []string{"orders", "refunds", "mails", "invoices", "parcels", "returns", "visits", "calls"}
	for i, name := range names {
		b.names = wire.NamesOf(name)
		b.offer([]wire.Layout{dLc0, bc0Lc0}[i%2], time.Now().Add(2*time.Second), name)
	}
	for _, name := range names {
		taken, err := b.client.BLPop(b.ctx, 20*time.Second, name).Result()
		require.NoError(t, err)
		require.Equal(t, name, taken[1])
	}
	require.Len(t, running.Summary().Queues, len(names))
}

func TestWhatWaitsIsRewrittenAhead(t *testing.T) {
	b := setup(t)
	to := bc0Lc0
	running, _ := b.start(bridge.Options{Queues: []string{"orders"}, To: &to})
	due := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	b.offer(dLc0, due, "a")
	b.offer(bc0Lc0, due.Add(time.Second), "b")
	b.eventually(func() bool { return running.Summary().Total().Rewritten == 1 }, "one is rewritten")
	for i, z := range b.client.ZRangeWithScores(b.ctx, b.names.TimeoutSet, 0, -1).Val() {
		m, err := bc0Lc0.Unpack([]byte(z.Member.(string)))
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}[i], string(m.Value))
		require.Equal(t, due.Add(time.Duration(i)*time.Second).UnixMilli(), int64(z.Score))
	}
}

func TestARunThatCannotBegin(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.client.Do(b.ctx, "ACL", "SETUSER", "limited", "on", ">secret", "~*", "+@all", "resetchannels").Err())
	options := *b.client.(*goredis.Client).Options()
	options.Username, options.Password = "limited", "secret"
	client := goredis.NewClient(&options)
	t.Cleanup(func() { client.Close() })
	limited, err := bridge.New(redis.On(client), bridge.Options{Queues: []string{"orders"}, Lead: time.Second, Interval: time.Second})
	require.NoError(t, err)
	require.ErrorContains(t, limited.Run(b.ctx), "subscribing to the announcements")

	_, err = bridge.New(redis.On(client), bridge.Options{Queues: []string{"a{b"}, Cluster: true, Interval: time.Second})
	require.ErrorContains(t, err, "in different slots")
}
