package scripts_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// unlistings is how many histories TestUnlisting runs; each has its seed from its number.
const unlistings = 1500

// waiting is a member that was offered and has neither come nor been removed.
type waiting struct {
	member, value string
	due           int64
	listed        bool // in the pending list, where everybody sees it
}

// unlisting is a queue on which a pass is made while Redisson's own scripts run between any
// two of its calls. It says at every moment what the queue should hold.
type unlisting struct {
	*bundle
	random    *rand.Rand
	layout    wire.Layout
	keys      scripts.Unlisting
	now       int64
	offered   int
	members   []waiting // in the order of their offers
	came      []string  // what should be in D, in order
	token     string    // of the pass under way, empty for none
	abandon   bool      // a pass that was left is not over yet
	disturbed bool      // by more than offers and cancels, since the pass began
	horizon   int64
	count     int
	stages    map[scripts.Stage]int
}

func (b *bundle) unlisting(seed uint64, layout wire.Layout, stages map[scripts.Stage]int) *unlisting {
	return &unlisting{
		bundle: b, random: rand.New(rand.NewPCG(seed, 1)), layout: layout, now: now,
		keys: scripts.UnlistingOf(b.names.Destination), stages: stages,
	}
}

// Whatever Redisson does to the queue between any two calls of a pass, the pending list is right at every moment: all that waits, in the
// order of the offers, less what was unlisted by a pass that ended. Each value comes once, when it is due, or is removed once.
func TestUnlisting(t *testing.T) {
	t.Parallel()
	of, stages := setup(t), map[scripts.Stage]int{}
	step := 19 // odd: both layouts
	if redistest.Thorough() {
		step = 1
	}
	for seed := 0; seed < unlistings; seed += step {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := *of
			b.t = t
			b.do("FLUSHDB")
			u := b.unlisting(uint64(seed), layouts[seed%2], stages)
			for range 10 + u.random.IntN(60) {
				u.step()
				u.check()
			}
			u.finish()
		})
	}
	for _, stage := range []scripts.Stage{scripts.UnlistMore, scripts.UnlistDone, scripts.UnlistRaced, scripts.UnlistBusy, scripts.UnlistFull} {
		require.NotZero(t, stages[stage], stage)
	}
}

func (u *unlisting) step() {
	u.now += u.random.Int64N(3)
	what := u.random.IntN(26)
	u.disturbed = u.disturbed || what >= 4 && what <= 11
	switch what {
	case 0, 1, 2, 3:
		for range 1 + u.random.IntN(8) {
			u.offer()
		}
	case 4, 5:
		u.transferByRedisson()
	case 6, 7:
		u.transferByUs()
	case 8:
		u.poll(1 + u.random.IntN(3))
	case 9:
		u.remove()
	case 10:
		u.rare()
	case 11:
		u.leave()
	case 12, 13:
		u.cancel()
	default:
		for range 1 + u.random.IntN(4) {
			u.pass()
		}
	}
}

// rare is what happens seldom, or ends all else.
func (u *unlisting) rare() {
	switch u.random.IntN(4) {
	case 0:
		_, err := u.bundle.redis.Del(u.ctx, u.names.Pending, u.names.TimeoutSet).Result() // clear()
		require.NoError(u.t, err)
		u.members = nil
	case 1:
		u.poll(30)
	case 2:
		u.retain()
	default:
		u.expire()
	}
}

func (u *unlisting) offer() {
	u.offered++
	id, value := u.id(), fmt.Sprintf("value %d", u.offered)
	var argument any = id[:]
	if u.layout == d {
		argument = strconv.FormatUint(uint64(u.offered), 10)
	}
	due := u.now - 3 + u.random.Int64N(40)
	if u.random.IntN(30) == 0 {
		due = -due // an overflowed delay: never due
	}
	n := u.names
	u.redisson(u.layout, wire.ScriptOffer, []string{n.Destination, n.TimeoutSet, n.Pending, n.Channel}, due, argument, value)
	u.members = append(u.members, waiting{member: u.redis.LIndex(u.ctx, n.Pending, -1).Val(), value: value, due: due, listed: true})
}

// due moves up to limit members to what should have come, in the order of the set.
func (u *unlisting) due(limit int) {
	var due []waiting
	for _, m := range u.members {
		if m.due >= 0 && m.due <= u.now {
			due = append(due, m)
		}
	}
	slices.SortFunc(due, func(a, b waiting) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.member, b.member)) })
	for _, m := range due[:min(limit, len(due))] {
		u.came = append(u.came, m.value)
		u.gone(m.value)
	}
}

func (u *unlisting) gone(value string) {
	u.members = slices.DeleteFunc(u.members, func(m waiting) bool { return m.value == value })
}

func (u *unlisting) transferByRedisson() {
	u.redisson(u.layout, wire.ScriptTransfer, u.transferKeys()[:3], u.now, 100)
	u.due(100)
}

func (u *unlisting) transferByUs() {
	limit, keys := 1+u.random.IntN(6), u.transferKeys()[:4+4*u.random.IntN(2)]
	u.transfer(keys, u.now, limit, u.layout)
	u.due(limit)
	require.Len(u.t, u.delivered(), len(u.came))
}

// poll has Redisson take those offered first, one by one.
func (u *unlisting) poll(n int) {
	for range n {
		reply := u.redisson(u.layout, wire.ScriptPoll, []string{u.names.Pending, u.names.TimeoutSet})
		i := slices.IndexFunc(u.members, func(m waiting) bool { return m.listed })
		if i < 0 {
			require.Nil(u.t, reply)
			return
		}
		require.Equal(u.t, u.members[i].value, reply)
		u.gone(u.members[i].value)
	}
}

// remove has Redisson remove some value: only one that is listed is found.
func (u *unlisting) remove() {
	if len(u.members) == 0 {
		return
	}
	m := u.members[u.random.IntN(len(u.members))]
	reply := u.redisson(u.layout, wire.ScriptRemove, []string{u.names.Pending, u.names.TimeoutSet}, m.value)
	require.Equal(u.t, m.listed, reply == int64(1), "%v", m)
	if m.listed {
		u.gone(m.value)
	}
}

// cancel removes some value by its due time and id, listed or not, or offers it anew.
func (u *unlisting) cancel() {
	if len(u.members) == 0 {
		return
	}
	m := u.members[u.random.IntN(len(u.members))]
	packed := must(u.layout.Unpack([]byte(m.member)))
	var later []any
	anew := waiting{member: u.pack(u.layout, m.value), value: m.value, due: u.now + u.random.Int64N(40), listed: true}
	if u.random.IntN(2) == 0 {
		id := must(u.layout.Unpack([]byte(anew.member))).ID
		later = []any{anew.due, u.layout.String(), u.names.Channel, id[:]}
	}
	reply := u.bundle.cancel(u.now, m.due, packed.ID[:], later...)
	require.Equal(u.t, m.listed || m.due > u.now, reply == int64(1), "%v", m)
	require.Equal(u.t, int64(0), u.bundle.cancel(u.now, m.due, packed.ID[:]), "it is gone")
	if reply == int64(1) {
		u.gone(m.value)
		if later != nil {
			u.members = append(u.members, anew)
		}
	}
}

// retain is Redisson's retainAll of all but one value, which takes that out of the list alone: it still comes.
func (u *unlisting) retain() {
	var values []any
	drop := -1
	for i, m := range u.members {
		if drop < 0 && m.listed {
			drop = i
			continue
		}
		values = append(values, m.value)
	}
	if drop < 0 || len(values) == 0 {
		return
	}
	u.redisson(u.layout, wire.ScriptRetainAll, []string{u.names.Pending}, values...)
	u.members[drop].listed = false
}

// leave abandons the pass, as a client does that is killed; expire is the end of its lease.
func (u *unlisting) leave() {
	u.abandon = u.abandon || u.token != ""
	u.token = ""
}

func (u *unlisting) expire() {
	if u.abandon {
		u.do("DEL", u.keys.Pass, u.keys.Next, u.keys.Leaving)
		u.abandon = false
	}
}

// pass makes one call of a pass, or of a new one.
func (u *unlisting) pass() {
	horizon := ""
	if u.token == "" {
		u.token, u.horizon = fmt.Sprint(u.random.Uint64()), u.now+u.random.Int64N(20)
		u.count = []int{1, 2, 5, 20}[u.random.IntN(4)]
		horizon, u.disturbed = fmt.Sprint(u.horizon), false
	}
	stage, n, err := scripts.ReadUnlisted(u.unlist(u.token, horizon, u.count))
	require.NoError(u.t, err)
	u.stages[stage]++
	switch stage {
	case scripts.UnlistMore:
		return
	case scripts.UnlistDone:
		left := 0
		for i, m := range u.members {
			if m.listed && m.due >= 0 && m.due <= u.horizon {
				u.members[i].listed = false
				left++
			}
		}
		require.LessOrEqual(u.t, left, n, "what others transferred meanwhile may be counted too")
		u.abandon = false
	case scripts.UnlistRaced, scripts.UnlistLost:
		require.Zero(u.t, u.redis.Exists(u.ctx, u.keys.Pass, u.keys.Next, u.keys.Leaving).Val(), "nothing is left")
		require.True(u.t, u.disturbed || stage == scripts.UnlistLost, "all that was passed was cancelled")
		u.abandon = false
	}
	u.token = ""
}

func (u *unlisting) check() {
	var listed, timed []string
	for _, m := range u.members {
		timed = append(timed, m.member)
		if m.listed {
			listed = append(listed, m.member)
		}
	}
	p := u.redis.Pipeline()
	pending, waiting, delivered := p.LRange(u.ctx, u.names.Pending, 0, -1), p.ZRange(u.ctx, u.names.TimeoutSet, 0, -1), p.LRange(u.ctx, u.names.Destination, 0, -1)
	life := p.TTL(u.ctx, u.names.Pending)
	_, err := p.Exec(u.ctx)
	require.NoError(u.t, err)
	require.Equal(u.t, listed, append([]string(nil), pending.Val()...), "the list, in the order of the offers")
	require.ElementsMatch(u.t, timed, waiting.Val())
	require.Equal(u.t, u.came, append([]string(nil), delivered.Val()...))
	require.Equal(u.t, len(listed) > 0, life.Val() == -1, "the list lives on")
}

// finish has all come that waits.
func (u *unlisting) finish() {
	u.now += 100
	for range len(u.members) + 1 {
		if u.random.IntN(2) == 0 {
			u.transferByRedisson()
		} else {
			u.transferByUs()
		}
		u.check()
	}
	for _, m := range u.members {
		require.Negative(u.t, m.due, "all that can come due has come")
	}
}

func (b *bundle) survey(now int64, cost float64, least int) scripts.Surveyed {
	b.t.Helper()
	n, u := b.names, scripts.UnlistingOf(b.names.Destination)
	keys := []string{n.TimeoutSet, n.Pending, u.State, u.Pass, u.Unlisted[0], u.Unlisted[1]}
	return must(scripts.ReadSurveyed(b.run(scripts.Survey(), keys, now, cost, least)))
}

// unlistAll makes one pass.
func (b *bundle) unlistAll(horizon int64) {
	b.t.Helper()
	for stage := scripts.UnlistMore; stage != scripts.UnlistDone; {
		var err error
		stage, _, err = scripts.ReadUnlisted(b.unlist("one", fmt.Sprint(horizon), 10_000))
		require.NoError(b.t, err)
		require.Contains(b.t, []scripts.Stage{scripts.UnlistMore, scripts.UnlistDone}, stage)
	}
}

func (b *bundle) unlist(token, horizon string, count int) any {
	b.t.Helper()
	n, u := b.names, scripts.UnlistingOf(b.names.Destination)
	return b.run(scripts.Unlist(), []string{
		n.TimeoutSet, n.Pending, u.State, u.Pass, u.Next, u.Leaving, u.Unlisted[0], u.Unlisted[1],
	}, token, horizon, count, 60_000, 3_600_000)
}

func TestSurvey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, scripts.Surveyed{Window: 1000}, b.survey(now, 3, 1000), "nothing there")
	const n = 40_000
	_, err := b.redis.Pipelined(b.ctx, func(p goredis.Pipeliner) error {
		for i := range n { // the first half is due last
			member := b.pack(bc, fmt.Sprint(i))
			p.Do(b.ctx, "ZADD", b.names.TimeoutSet, now+(i+n/2)%n, member)
			p.Do(b.ctx, "RPUSH", b.names.Pending, member)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, scripts.Surveyed{Length: n, Window: 1200, Due: 1201, Seen: 32, Far: 32}, b.survey(now, 3, 1000))
	b.do("ZREMRANGEBYSCORE", b.names.TimeoutSet, now, now+n/2-1)
	require.Zero(t, b.survey(now+n/2, 3, 1000).Far, "those at the head of the list")

	require.Equal(t, scripts.Surveyed{Length: n, Window: 30_000}, b.survey(now, 300, n+1), "no more than its length")

	b.unlistAll(now + n/2 + 99)
	require.Equal(t,
		scripts.Surveyed{Length: n - 100, Covered: now + n/2 + 99, Unlisted: true, Window: 1197, Due: 1098, Seen: 32},
		b.survey(now+n/2, 3, 1000))
	b.unlist("other", fmt.Sprint(now+n), 10)
	require.True(t, b.survey(now, 3, 1000).Passing)
}

// A pass keeps the time to live of the list, and what it made has one.
func TestUnlistKeepsTimesToLive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := scripts.UnlistingOf("orders")
	b.put(b.pack(bc, "soon"), now, b.pack(bc, "later"), now+1000)
	b.do("PEXPIRE", b.names.Pending, 500_000)
	b.do("PEXPIRE", b.names.TimeoutSet, 500_000)
	b.unlist("a", fmt.Sprint(now), 1)
	for _, key := range []string{u.Pass, u.Leaving} {
		require.InDelta(t, 60_000, b.do("PTTL", key), 5000, key)
	}
	b.unlist("a", "", 10)
	require.Equal(t, []string{"later"}, values(b.pending()))
	require.InDelta(t, 500_000, b.do("PTTL", b.names.Pending), 5000)
	for _, key := range []string{u.State, u.Unlisted[0]} {
		require.InDelta(t, 3_600_000, b.do("PTTL", key), 5000, key)
	}
	require.Zero(t, b.redis.Exists(b.ctx, u.Pass, u.Next, u.Leaving).Val())
}

func TestUnlistingOf(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"orders", "q{a}b", "{orders}"} {
		for _, key := range scripts.UnlistingOf(queue).All() {
			require.Equal(t, wire.Slot(wire.NamesOf(queue).Pending), wire.Slot(key))
			_, ok := wire.DestinationOf(key)
			require.False(t, ok, "%s is no queue of its own", key)
		}
	}
}
