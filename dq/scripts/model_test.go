package scripts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// histories is how many TestHistories runs; each has its seed from its number.
const histories = 2000

// history is one queue that clients of both layouts share for a while.
type history struct {
	*bundle
	random *rand.Rand
	own    wire.Layout
	now    int64
	// offered counts the values so far, which are their numbers as text.
	offered int
	// taken are the values that left by a poll, broken the members that are none.
	taken, broken []string
	// sum is what all transfers of ours did, in all histories.
	sum *scripts.Transferred
}

// TestHistories has clients of both layouts offer, poll and transfer in any order.
// At the end each value must have come out once.
func TestHistories(t *testing.T) {
	t.Parallel()
	seeds := redistest.Sample(t, numbers(histories), 5)
	b := setup(t)
	for _, l := range layouts {
		for _, name := range []wire.ScriptName{wire.ScriptOffer, wire.ScriptTransfer} {
			s, ok := releaseOf(l).Script(name)
			require.True(t, ok)
			b.do("SCRIPT", "LOAD", s.Body)
		}
	}
	var sum scripts.Transferred
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := *b
			b.t = t
			b.do("FLUSHDB")
			random := rand.New(rand.NewPCG(uint64(seed), 0))
			h := &history{bundle: &b, random: random, own: layouts[seed%2], now: now, sum: &sum}
			for range 4 + random.IntN(12) {
				h.step()
			}
			h.finish()
		})
	}
	t.Logf("%+v", sum)
	for _, what := range []int{sum.Delivered, sum.OtherLayout, sum.Quarantined} {
		require.Greater(t, what, len(seeds)/10, "of %+v", sum)
	}
}

func (h *history) step() {
	h.now += h.random.Int64N(4)
	switch h.random.IntN(10) {
	case 0, 1, 2, 3:
		for range 1 + h.random.IntN(4) {
			h.offer(layouts[h.random.IntN(2)])
		}
	case 4:
		h.write()
	case 5:
		h.poll()
	case 6:
		h.redissonTransfers(h.own)
	case 7:
		h.redissonTransfers(h.own.Other())
	default:
		h.transfer()
	}
}

func (h *history) score() int64 { return h.now - 3 + h.random.Int64N(8) }

// value is text that no layout can take for a part of its own.
func (h *history) value() string {
	h.offered++
	return fmt.Sprintf("value %d", h.offered)
}

// offer runs the offer script of a release. Scores repeat, so that bytes decide.
func (h *history) offer(l wire.Layout) {
	var id any
	if l == d {
		id = h.random.Int64()
	} else {
		raw := make([]byte, 8)
		for i := range raw {
			raw[i] = byte(h.random.IntN(256))
		}
		id = raw
	}
	n := h.names
	_, err := h.redisson(l, wire.ScriptOffer, []string{n.Destination, n.TimeoutSet, n.Pending, n.Channel}, h.score(), id, h.value())
	require.NoError(h.t, err)
}

// write puts a member there that is of neither 64-bit layout.
func (h *history) write() {
	if h.random.IntN(2) == 0 {
		h.put(h.windows(layouts[h.random.IntN(2)], h.value()), h.score())
		return
	}
	h.ids++
	m := fmt.Sprintf("none %d", h.ids)
	h.broken = append(h.broken, m)
	h.put(m, h.score())
}

// poll takes the first member as a client does that reads both layouts.
func (h *history) poll() {
	first := h.redis.LIndex(h.ctx, h.names.Pending, 0).Val()
	m, err := h.own.UnpackAny([]byte(first))
	if err != nil {
		return
	}
	h.do("LPOP", h.names.Pending)
	h.do("ZREM", h.names.TimeoutSet, first)
	h.taken = append(h.taken, string(m.Value))
}

// redissonTransfers runs Redisson's own script, unless it would fail, which nobody can mend.
func (h *history) redissonTransfers(l wire.Layout) {
	if !slices.ContainsFunc(h.due(h.now), func(m string) bool { return !luaReads(l, m) }) {
		require.NoError(h.t, h.redissonTransfer(l, h.now))
	}
}

// transfer runs our own, and checks what it did against what it found.
func (h *history) transfer() {
	if h.random.IntN(8) == 0 { // clocks differ
		h.now -= 2
	}
	limit := 1 + h.random.IntN(6)
	before, already := h.due(h.now), h.delivered()
	quarantined := len(h.set(h.quarantine))
	moved := h.bundle.transfer(h.now, limit, h.own)

	all := h.delivered()
	require.Equal(h.t, already, all[:len(already)], "D only grows")
	require.Len(h.t, all[len(already):], moved.Delivered)
	require.Len(h.t, h.set(h.quarantine), quarantined+moved.Quarantined)
	left := h.timed()
	gone := slices.DeleteFunc(slices.Clone(before), func(m string) bool { return slices.Contains(left, m) })
	require.Equal(h.t, before[:len(gone)], gone, "the first members go")
	require.Len(h.t, gone, moved.Delivered+moved.Quarantined)
	require.Equal(h.t, h.expected(gone), all[len(already):], "in the order of T")
	h.checkRest(moved)
	h.sum.Delivered += moved.Delivered
	h.sum.OtherLayout += moved.OtherLayout
	h.sum.Quarantined += moved.Quarantined
}

// expected are the values of the members gone, but for those that are none.
func (h *history) expected(gone []string) []string {
	all := []string{}
	for _, m := range gone {
		if u, err := h.own.UnpackAny([]byte(m)); err == nil {
			all = append(all, string(u.Value))
		}
	}
	return all
}

// checkRest checks that T and Q agree again, and that the reply names the head.
func (h *history) checkRest(moved scripts.Transferred) {
	timed, pending := h.timed(), h.pending()
	slices.Sort(timed)
	slices.Sort(pending)
	require.Equal(h.t, timed, pending)
	head := h.redis.ZRangeWithScores(h.ctx, h.names.TimeoutSet, 0, 0).Val()
	if len(head) == 0 {
		require.Empty(h.t, moved.Next)
		return
	}
	require.Equal(h.t, fmt.Sprintf("%.0f", head[0].Score), moved.Next)
}

// finish moves all that is left and closes the account.
func (h *history) finish() {
	h.now += 100
	for len(h.timed()) > 0 {
		h.transfer()
	}
	var want []string
	for i := range h.offered {
		want = append(want, fmt.Sprintf("value %d", i+1))
	}
	require.ElementsMatch(h.t, want, append(h.delivered(), h.taken...), "each value once")
	require.ElementsMatch(h.t, h.broken, h.set(h.quarantine))
	require.Empty(h.t, h.pending())
}

// due are the members in T with a score from 0 to a time, in order.
func (h *history) due(until int64) []string {
	return h.redis.ZRangeArgs(h.ctx, redis.ZRangeArgs{Key: h.names.TimeoutSet, ByScore: true, Start: 0, Stop: until}).Val()
}

// luaReads reports whether struct.unpack reads the member, which is more than the
// layout says: the id of a Bc0Lc0 may be of any size, bytes may follow the value.
func luaReads(l wire.Layout, member string) bool {
	rest, id := member, 8
	if l == bc {
		if rest == "" {
			return false
		}
		id, rest = int(rest[0]), rest[1:]
	}
	if len(rest) < id+8 {
		return false
	}
	length := uint64(0)
	for i := range 8 {
		length |= uint64(rest[id+i]) << (8 * i)
	}
	return length <= uint64(len(rest)-id-8)
}

// The model above must be as lax as the server.
func TestLuaReads(t *testing.T) {
	t.Parallel()
	b := setup(t)
	random := rand.New(rand.NewPCG(1, 2))
	reads := 0
	for range 2000 {
		m := b.pack(layouts[random.IntN(2)], strings.Repeat("\x00", random.IntN(12)))
		raw := []byte(m)
		if random.IntN(2) == 0 {
			raw = raw[:random.IntN(len(raw)+1)]
		}
		if len(raw) > 0 {
			raw[random.IntN(len(raw))] = byte(random.IntN(20))
			raw[0] = byte(random.IntN(12))
		}
		for _, l := range layouts {
			err := b.redis.Eval(b.ctx, "return {struct.unpack(ARGV[1], ARGV[2])}", nil, l.String(), raw).Err()
			require.Equal(t, err == nil, luaReads(l, string(raw)), "%s %q: %v", l, raw, err)
			if err == nil {
				reads++
			}
		}
	}
	require.Greater(t, reads, 200)
}
