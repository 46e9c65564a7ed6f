package inspect_test

import (
	"bytes"
	"encoding/json"
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

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const (
	second = 1000.0
	hour   = 3600 * second
)

func TestAQueueThatIsFine(t *testing.T) {
	b := setup(t)
	b.subscribe()
	for i := range 300 {
		b.offer(b.pack(bc0Lc0, fmt.Sprintf(`{"@class":"demo.Order","id":%d}`, i)), 2*hour+float64(i))
	}
	b.offer(b.pack(bc0Lc0, "hello"), 30*second)
	q := b.look(inspect.Options{})

	require.Empty(t, anomalies(q))
	require.Empty(t, q.Uncertain)
	require.Equal(t, inspect.Counts{TimeoutSet: 301, PendingList: 301}, q.Counts)
	require.Equal(t, []inspect.Layout{{Layout: "Bc0Lc0", WrittenBy: "3.21.1 and newer", Count: 301}}, q.Layouts)
	require.Equal(t, []inspect.Value{{Codec: "json|json3", Class: "demo.Order", Count: 300}, {Codec: "string", Class: "java.lang.String", Count: 1}}, q.Values)
	require.Equal(t, "hello", q.Head.Value)
	require.InDelta(t, float64(b.now)+30*second, *q.Head.DueMS, 0)
	require.Zero(t, q.Overdue)
	due := map[string]int64{}
	for _, span := range q.Due {
		if span.Count > 0 {
			due[span.Name] = span.Count
		}
	}
	require.Equal(t, map[string]int64{"in 10 s to 1 min": 1, "in 1 h to 6 h": 300}, due)
	require.Len(t, q.Samples, 3, "two of one class, one of the other")
	require.Equal(t, 1, q.Subscribers.Count)
	require.Len(t, q.Subscribers.Clients, 1)
	require.Positive(t, q.Memory.TimeoutSet)
	require.Positive(t, q.Memory.PendingList)
	require.Equal(t, 100, q.Transfer.Members)
	require.Equal(t, int64(99*100/2+301), q.Transfer.Entries, "99 from the head of the list on, and the last one")
	require.Equal(t, []int{0, 301}, []int{q.Redisson[0].Delivers, q.Redisson[1].Delivers})
}

// What is said of either side is what its own transfer script does.
func TestSidesAreAsTheirScriptsDo(t *testing.T) {
	b := setup(t)
	random := rand.New(rand.NewPCG(7, 7))
	for round := range 40 {
		b.clear()
		offered := map[string]string{}
		for i := range 150 + random.IntN(100) {
			value := fmt.Sprintf("value %d", i)
			member := b.pack(layouts[round%2], value)
			switch random.IntN(150) {
			case 0:
				member = b.pack(layouts[(round+1)%2], value)
			case 1:
				member = b.windows(layouts[round%2], value)
			case 2:
				member = "garbage " + value
			case 3: // a double whose first byte makes 3.21.1 read it
				id := [8]byte{7, 1, 2, 3, 4, 5, byte(i), 0x40}
				member = string(dLc0.Pack(id, []byte(value)))
			case 4: // what follows the value is ignored by Redisson
				member += "more"
			case 5: // read by 3.21.1 as an empty value
				member = string(dLc0.Pack([8]byte{0, byte(i)}, bytes.Repeat([]byte{0}, 9+i)))
			}
			offered[b.offer(member, float64(i-1000))] = value
		}
		q := b.look(inspect.Options{})
		content := b.client.Dump(b.ctx, b.names.TimeoutSet).Val()
		pending := b.client.Dump(b.ctx, b.names.Pending).Val()
		for i, l := range layouts {
			side := q.Redisson[i]
			b.clear()
			require.NoError(t, b.client.Restore(b.ctx, b.names.TimeoutSet, 0, content).Err())
			require.NoError(t, b.client.Restore(b.ctx, b.names.Pending, 0, pending).Err())
			var failed error
			for failed == nil && b.client.ZCard(b.ctx, b.names.TimeoutSet).Val() > 0 {
				failed = b.transfer(l)
			}
			first := len(b.delivered())
			require.Equal(t, first, side.Delivers, "round %d: %s", round, side.Text)
			require.Equal(t, len(offered)-first, side.Never, "round %d: %s", round, side.Text)
			require.Equal(t, failed != nil, side.StopsAt != nil, "round %d: %v", round, failed)
			if failed != nil {
				require.Error(t, b.transfer(l), "once more")
				require.Equal(t, side.Repeats, len(b.delivered())-first, "round %d: %s", round, side.Text)
			}
		}
	}
}

// Values of a codec that the release has not got are an anomaly; of one that it uses only where the code
// names it, worth a word.
func TestValuesOfAnotherCodec(t *testing.T) {
	b := setup(t)
	b.subscribe()
	b.offer(b.pack(bc0Lc0, "\x04\x3e\x05hello"), hour) // as a Redisson 3.16.6 writes "hello" where the code names no codec
	for _, c := range []struct {
		release string
		anomaly bool
	}{{"4.7.0", true}, {"3.50.0", false}} {
		release, err := wire.LookupRelease(c.release)
		require.NoError(t, err)
		q := b.look(inspect.Options{Release: &release})
		f := finding(t, q, inspect.OtherCodec)
		require.Equal(t, c.anomaly, f.Anomaly, c.release)
		require.Equal(t, int64(1), f.Count)
		require.Contains(t, f.What, "written by marshalling, which Redisson "+c.release)
		require.Contains(t, f.Do, "dq-bench migrate orders --codec marshalling:kryo5")
	}
	b.clear()
	b.offer(b.pack(dLc0, "\x04\x3e\x05hello"), hour)
	release, err := wire.LookupRelease("3.16.6")
	require.NoError(t, err)
	for _, f := range b.look(inspect.Options{Release: &release}).Findings {
		require.NotEqual(t, inspect.OtherCodec, f.Kind)
	}
}

// kindsOfAnomalies are one queue for each, and what must be found in it.
func TestAnomalies(t *testing.T) {
	b := setup(t)
	b.subscribe()
	for _, c := range []struct {
		kind  string
		count int64
		make  func()
	}{
		{inspect.ForeignMember, 2, func() {
			for range 3 {
				b.offer(b.pack(bc0Lc0, "new"), hour)
			}
			b.offer(b.pack(dLc0, "old"), hour)
			b.offer(b.pack(dLc0, "old"), hour)
		}},
		{inspect.WindowsMember, 1, func() { b.offer(b.windows(bc0Lc0, "hello"), hour) }},
		{inspect.Unreadable, 1, func() { b.offer("hello", hour) }},
		{inspect.StuckHead, 2, func() {
			require.NoError(t, b.client.ZAdd(b.ctx, b.names.TimeoutSet, goredis.Z{Score: -9e18, Member: b.pack(bc0Lc0, "x")}, goredis.Z{Score: math.Inf(1), Member: b.pack(bc0Lc0, "y")}).Err())
			for _, member := range b.client.ZRange(b.ctx, b.names.TimeoutSet, 0, -1).Val() {
				b.listed(member)
			}
		}},
		{inspect.Fractional, 1, func() { b.offer(b.pack(bc0Lc0, "x"), hour+0.5) }},
		{inspect.OverdueMembers, 2, func() {
			b.offer(b.pack(bc0Lc0, "x"), -hour)
			b.offer(b.pack(bc0Lc0, "x"), -2*second)
			b.offer(b.pack(bc0Lc0, "x"), hour)
		}},
		{inspect.Ghost, 1, func() { b.offer(b.pack(bc0Lc0, "x"), hour); b.listed(b.pack(bc0Lc0, "ghost")) }},
		{inspect.Orphan, 1, func() { b.offer(b.pack(bc0Lc0, "x"), hour); b.timed(b.pack(bc0Lc0, "orphan"), hour) }},
		{inspect.ListedAgain, 1, func() { b.listed(b.offer(b.pack(bc0Lc0, "x"), hour)) }},
		{inspect.Quarantined, 1, func() {
			require.NoError(t, b.client.ZAdd(b.ctx, scripts.Quarantine("orders"), goredis.Z{Score: 1, Member: "x"}).Err())
		}},
		{inspect.Held, 1, func() {
			require.NoError(t, b.client.ZAdd(b.ctx, forensics.HeldKey("orders"), goredis.Z{Score: 1, Member: "x"}).Err())
		}},
		{inspect.WrongType, 1, func() {
			require.NoError(t, b.client.Set(b.ctx, b.names.TimeoutSet, "x", 0).Err())
			b.listed(b.pack(bc0Lc0, "listed"))
		}},
		{inspect.WrongType, 1, func() { require.NoError(t, b.client.Set(b.ctx, b.names.Destination, "x", 0).Err()) }},
		{inspect.WrongType, 2, func() {
			b.offer(b.pack(bc0Lc0, "x"), hour)
			require.NoError(t, b.client.Set(b.ctx, scripts.Quarantine("orders"), "x", 0).Err())
			require.NoError(t, b.client.Set(b.ctx, forensics.HeldKey("orders"), "x", 0).Err())
		}},
	} {
		b.clear()
		c.make()
		q := b.look(inspect.Options{})
		require.Equal(t, []string{c.kind}, anomalies(q))
		f := finding(t, q, c.kind)
		require.Equal(t, c.count, f.Count, c.kind)
		for _, text := range []string{f.What, f.Old, f.New, f.Do} {
			require.NotEmpty(t, text, c.kind)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	b := setup(t)
	require.Empty(t, anomalies(b.look(inspect.Options{})), "nothing waits")
	b.offer(b.pack(bc0Lc0, "x"), hour)
	q := b.look(inspect.Options{})
	require.Equal(t, []string{inspect.NoSubscriber}, anomalies(q))
}

// A queue of one layout is an anomaly for a release of the other alone.
func TestTheReleaseThatAQueueIsMeantFor(t *testing.T) {
	b := setup(t)
	b.subscribe()
	for range 3 {
		b.offer(b.pack(dLc0, "old"), hour)
	}
	q := b.look(inspect.Options{})
	require.Empty(t, anomalies(q))
	note := finding(t, q, inspect.OtherSide)
	require.Equal(t, "delivers all, 3 members", note.Old)
	require.Regexp(t, `^stands still from \d{4}-.* UTC on: its transfer fails, and again every 5 s; never delivered: 3 members$`, note.New)

	old, recent := wire.Release{Major: 3, Minor: 16, Patch: 6}, wire.Newest()
	require.Empty(t, anomalies(b.look(inspect.Options{Release: &old})))
	q = b.look(inspect.Options{Release: &recent})
	require.Equal(t, []string{inspect.ForeignMember}, anomalies(q))
	require.Equal(t, int64(3), finding(t, q, inspect.ForeignMember).Count)
}

func TestRedactedInspectionsShowNoValue(t *testing.T) {
	b := setup(t)
	b.offer(b.pack(bc0Lc0, "secret"), -hour)
	b.offer(b.pack(dLc0, "secret"), -hour)
	b.offer(b.windows(dLc0, "secret"), hour)
	b.offer("secret", hour)
	b.listed(b.pack(bc0Lc0, "secret"))
	show := func(redact bool) string {
		document, err := json.Marshal(b.look(inspect.Options{Redact: redact}))
		require.NoError(t, err)
		return string(document)
	}
	require.Contains(t, show(false), "secret")
	redacted := show(true)
	require.NotContains(t, redacted, "secret")
	require.NotContains(t, redacted, "736563", "nor in hex")
}

// Looking changes nothing, and needs no right to write.
func TestLookingWritesNothing(t *testing.T) {
	b := setup(t)
	for i := range 1000 {
		b.offer(b.pack(layouts[i%2], "x"), float64(i))
	}
	b.listed(b.pack(bc0Lc0, "ghost"))
	before := map[string]string{}
	for _, key := range b.client.Keys(b.ctx, "*").Val() {
		before[key] = b.client.Dump(b.ctx, key).Val()
	}
	require.NoError(t, b.client.Do(b.ctx, "ACL", "SETUSER", "default", "-@write").Err())
	q := b.look(inspect.Options{})
	require.Equal(t, 1, q.Counts.Ghosts)
	require.Empty(t, q.Uncertain)
	for key, content := range before {
		require.Equal(t, content, b.client.Dump(b.ctx, key).Val(), key)
	}
	require.Len(t, b.client.Keys(b.ctx, "*").Val(), len(before))
}

// Who may not see more than the keys is told what was not looked at; who may not see
// those is refused.
func TestUsersWithFewRights(t *testing.T) {
	b := setup(t)
	b.offer(b.pack(bc0Lc0, "x"), hour)
	require.NoError(t, b.client.Do(b.ctx, "ACL", "SETUSER", "default", "-pubsub", "-client|list", "-memory", "-script").Err())
	q := b.look(inspect.Options{})
	require.Empty(t, anomalies(q), "nothing is said of subscribers")
	require.Len(t, q.Uncertain, 3)

	require.NoError(t, b.client.Do(b.ctx, "ACL", "SETUSER", "default", "-lrange").Err())
	_, err := inspect.LookAt(b.ctx, redis.On(b.client), "orders", inspect.Options{})
	require.ErrorContains(t, err, "LRANGE")
	require.True(t, goredis.HasErrorPrefix(err, "NOPERM"), "%v", err)
}

// A replica is fit to be asked, but nobody subscribes there.
func TestAReplica(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(b.pack(bc0Lc0, "x"), hour)
	host, port, err := net.SplitHostPort(b.client.(*goredis.Client).Options().Addr)
	require.NoError(t, err)
	replica := setup(t)
	require.NoError(t, replica.client.Do(b.ctx, "REPLICAOF", host, port).Err())
	require.Eventually(t, func() bool { return replica.client.Exists(b.ctx, b.names.Pending).Val() == 1 }, 30*time.Second, 10*time.Millisecond)
	q := replica.look(inspect.Options{})
	require.Empty(t, anomalies(q))
	require.Equal(t, int64(1), q.Counts.TimeoutSet)
	require.Equal(t, []string{"subscribers: this is a replica, and services subscribe to its master"}, q.Uncertain)
}

func TestAllQueuesOfACluster(t *testing.T) {
	t.Parallel()
	set := redistest.Cluster(t, 3, 0)
	client := redistest.Client(set)
	t.Cleanup(func() { client.Close() })
	names := []string{"a", "b", "c", "d", "{e}f"}
	for _, name := range names {
		b := with(t, client, name)
		b.offer(b.pack(bc0Lc0, name), hour)
		b.subscribe()
	}
	seen, err := inspect.Look(t.Context(), redis.On(client), inspect.Server{Cluster: true}, nil, inspect.Options{Samples: 1})
	require.NoError(t, err)
	require.Len(t, seen.Queues, len(names))
	for i, q := range seen.Queues {
		require.Equal(t, names[i], q.Name)
		require.Equal(t, names[i], q.Head.Value)
		require.Equal(t, 1, q.Subscribers.Count, q.Name)
		require.Empty(t, anomalies(q))
	}
	require.Zero(t, seen.Anomalies)
	var text bytes.Buffer
	require.NoError(t, seen.WriteText(&text))
	require.Contains(t, text.String(), "{e}f")
}

// What a guard took out comes only while one runs.
func TestHeldWhereNobodyListens(t *testing.T) {
	b := setup(t)
	due := float64(time.Now().Add(time.Hour).UnixMilli())
	require.NoError(t, b.client.ZAdd(b.ctx, forensics.HeldKey("orders"), goredis.Z{Score: due, Member: "x"}).Err())
	held := func() inspect.Finding {
		q, err := inspect.LookAt(b.ctx, redis.On(b.client), "orders", inspect.Options{})
		require.NoError(t, err)
		i := slices.IndexFunc(q.Findings, func(f inspect.Finding) bool { return f.Kind == inspect.Held })
		require.GreaterOrEqual(t, i, 0)
		return q.Findings[i]
	}
	found := held()
	require.True(t, found.Anomaly)
	require.Contains(t, found.Do, "dq-bench guard orders")

	s := b.client.PSubscribe(b.ctx, "redisson_delay_queue_channel:*") // as a guard of all queues
	defer s.Close()
	_, err := s.Receive(b.ctx)
	require.NoError(t, err)
	require.False(t, held().Anomaly)
}

// What a Worker keeps: what consumers hold is nothing to see to while somebody puts back what they hold
// too long, and dead letters always are.
func TestWhatAWorkerHolds(t *testing.T) {
	b := setup(t)
	names := scripts.LeaseNamesOf("orders")
	now := float64(time.Now().UnixMilli())
	require.NoError(t, b.client.ZAdd(b.ctx, names.Leases, goredis.Z{Score: now + 30_000, Member: "x"}).Err())
	look := func() (inspect.Queue, []string) {
		q, err := inspect.LookAt(b.ctx, redis.On(b.client), "orders", inspect.Options{})
		require.NoError(t, err)
		var kinds []string
		for _, f := range q.Findings {
			kinds = append(kinds, f.Kind)
		}
		return q, kinds
	}
	q, kinds := look()
	require.Empty(t, kinds)
	require.Equal(t, int64(1), q.Counts.Reserved)

	require.NoError(t, b.client.ZAdd(b.ctx, names.Leases, goredis.Z{Score: now - 60_000, Member: "x"}).Err())
	require.NoError(t, b.client.ZAdd(b.ctx, names.Dead, goredis.Z{Score: now, Member: "y"}, goredis.Z{Score: now, Member: "z"}).Err())
	q, kinds = look()
	require.Equal(t, []string{inspect.Abandoned, inspect.DeadLetters}, kinds)
	require.Equal(t, int64(2), q.Counts.Dead)
	require.Contains(t, q.Findings[0].What, "1 value; the first was to go back")
}

// Of all queues of a server, those that the user may look at are shown.
func TestAllQueuesButThoseThatAreForbidden(t *testing.T) {
	b := setup(t)
	b.offer(b.pack(bc0Lc0, "x"), hour)
	require.NoError(t, b.client.ZAdd(b.ctx, wire.NamesOf("secret").TimeoutSet, goredis.Z{Score: 1, Member: "x"}).Err())
	require.NoError(t, b.client.Do(b.ctx, "ACL", "SETUSER", "default", "resetkeys", "~*{orders}*", "~orders").Err())
	defer b.client.Do(b.ctx, "ACL", "SETUSER", "default", "allkeys")
	i, err := inspect.Look(b.ctx, redis.On(b.client), inspect.Server{}, nil, inspect.Options{})
	require.NoError(t, err)
	require.Len(t, i.Queues, 1)
	require.Equal(t, "orders", i.Queues[0].Name)
	require.Contains(t, strings.Join(i.Uncertain, "\n"), `queue "secret": not looked at: `)

	require.NoError(t, b.client.Do(b.ctx, "ACL", "SETUSER", "default", "resetkeys").Err())
	_, err = inspect.Look(b.ctx, redis.On(b.client), inspect.Server{}, nil, inspect.Options{})
	require.ErrorContains(t, err, "NOPERM")
	_, err = inspect.Look(b.ctx, redis.On(b.client), inspect.Server{}, []string{"secret"}, inspect.Options{})
	require.ErrorContains(t, err, "NOPERM")
}
