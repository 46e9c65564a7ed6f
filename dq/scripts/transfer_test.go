package scripts_test

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// now is the time of most transfers here; members are due around it.
const now = 1_700_000_000_000

// situation is one row: what is in the queue, and what a transfer makes of it.
type situation struct {
	name  string
	given func(*bundle)
	limit int // 100 unless given
	own   []wire.Layout
	want  scripts.Transferred
	// delivered, timed and pending are what D, T and Q hold then; T and Q as the
	// values of their members. timed stands for both where pending is nil.
	delivered, timed, pending []string
	quarantine                map[string]float64
}

func situations() []situation {
	next := fmt.Sprint
	return []situation{
		{name: "nothing there"},
		{
			name: "nothing due", given: func(b *bundle) { b.put(b.pack(d, "a"), now+1) }, want: scripts.Transferred{Next: next(now + 1)}, timed: []string{"a"},
		},
		{
			name: "mixed layouts, by score",
			given: func(b *bundle) {
				b.put(b.pack(bc, "4"), now, b.pack(d, "1"), 0, b.pack(bc, "2"), now-7, b.pack(d, "3"), now-6, b.pack(d, "5"), now+5)
			},
			want: scripts.Transferred{Next: next(now + 5), OtherLayout: 2}, delivered: []string{"1", "2", "3", "4"}, timed: []string{"5"},
		},
		{
			name: "Windows members", given: func(b *bundle) { b.put(b.windows(d, "1"), now-3, b.windows(bc, "2"), now-2, b.windows(d, ""), now-1) },
			want: scripts.Transferred{OtherLayout: 3}, delivered: []string{"1", "2", ""},
		},
		{
			name: "unreadable ones",
			given: func(b *bundle) {
				b.put(b.pack(d, "1"), now-9, "short", now-8, b.pack(bc, "2"), now-7, b.pack(bc, "cut")+"!", "1699999999999.25", "later", now+1)
				b.do("ZADD", b.names.TimeoutSet, 0, "") // in T only
			},
			want:      scripts.Transferred{Next: next(now + 1), OtherLayout: 1, Quarantined: 3},
			delivered: []string{"1", "2"}, timed: []string{"later"}, quarantine: map[string]float64{"short": now - 8, "cut!": now - 0.75, "": 0},
		},
		{
			name: "ghost and orphan",
			given: func(b *bundle) {
				b.do("RPUSH", b.names.Pending, b.pack(bc, "ghost"))
				b.do("ZADD", b.names.TimeoutSet, now-1, b.pack(d, "orphan"))
				b.put(b.pack(d, "1"), now)
			},
			own: []wire.Layout{d}, delivered: []string{"orphan", "1"}, timed: []string{}, pending: []string{"ghost"},
		},
		{
			name: "twice in Q, as an offer sent again",
			given: func(b *bundle) {
				m := b.pack(d, "again")
				b.put(m, now, m, now)
			},
			own: []wire.Layout{d}, delivered: []string{"again"}, timed: []string{}, pending: []string{"again"},
		},
		{
			name: "empty and binary values",
			given: func(b *bundle) {
				b.put(b.pack(d, ""), now-4, b.pack(bc, ""), now-3, b.pack(d, "\x00\xff\r\n\x08"), now-2, b.pack(bc, "\x00\x00"), now-1)
			},
			want: scripts.Transferred{OtherLayout: 2}, delivered: []string{"", "", "\x00\xff\r\n\x08", "\x00\x00"},
		},
		{
			name: "negative and fractional scores",
			given: func(b *bundle) {
				b.put(b.pack(d, "never"), -1, b.pack(bc, "1"), 0.5, b.pack(d, "2"), "1699999999999.5", b.pack(bc, "3"), "1700000000000.5")
			},
			want:      scripts.Transferred{Next: "1700000000000.5", OtherLayout: 1, Stuck: true},
			delivered: []string{"1", "2"}, timed: []string{"never", "3"},
		},
		{
			name: "a negative score, one layout", given: func(b *bundle) { b.put(b.pack(d, "never"), -1, b.pack(d, "1"), 0, b.pack(d, "2"), now+1) },
			own: []wire.Layout{d}, want: scripts.Transferred{Next: next(now + 1), Stuck: true}, delivered: []string{"1"}, timed: []string{"never", "2"},
		},
		{
			name: "a length beyond 4 GiB", given: func(b *bundle) {
				b.put(strings.Replace(b.pack(d, "12"), "\x02\x00\x00\x00\x00", "\x02\x00\x00\x00\x01", 1), now)
			},
			own: []wire.Layout{d}, want: scripts.Transferred{Quarantined: 1}, quarantine: map[string]float64{"2": now},
		},
		{name: "an id of 7 bytes", given: func(b *bundle) { b.put("\x07"+b.pack(bc, "12")[1:], now) }, own: []wire.Layout{bc},
			want: scripts.Transferred{Quarantined: 1}, quarantine: map[string]float64{"12": now}},
		{
			name: "a fractional score comes next", given: func(b *bundle) { b.put(b.pack(bc, "3"), "1700000000000.5") },
			want: scripts.Transferred{Next: "1700000000000.5"}, timed: []string{"3"},
		},
		{
			name: "both layouts fit: dLc0", given: func(b *bundle) { b.put(string(bc.Pack([8]byte{7: 1}, nil)), now) }, own: []wire.Layout{d},
			delivered: []string{"\x00"},
		},
		{
			name: "both layouts fit: Bc0Lc0",
			given: func(b *bundle) {
				b.put(string(bc.Pack([8]byte{7: 1}, nil)), now-1, string(bc.Pack([8]byte{7: 5}, nil)), now)
			},
			own: []wire.Layout{bc}, delivered: []string{"", ""},
		},
		{
			name: "limit", limit: 2, given: func(b *bundle) { b.put(b.pack(d, "1"), now-3, "none", now-2, b.pack(d, "2"), now-1) }, own: []wire.Layout{d},
			want:      scripts.Transferred{Next: next(now - 1), Quarantined: 1},
			delivered: []string{"1"}, timed: []string{"2"}, quarantine: map[string]float64{"none": now - 2},
		},
	}
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, s := range situations() {
		t.Run(s.name, func(t *testing.T) { checkSituation(t, b, s) })
	}
}

func checkSituation(t *testing.T, b *bundle, s situation) {
	own := s.own
	if own == nil {
		own = layouts
	}
	for i := range 2 * len(own) {
		l := own[i/2]
		b.do("FLUSHALL")
		q := b.queue("orders")
		q.t = t
		if s.given != nil {
			s.given(q)
		}
		limit := cmp.Or(s.limit, 100)
		require.Equal(t, s.want, q.transfer(q.transferKeys()[:4+i%2*4], now, limit, l), l.String())
		require.Equal(t, append([]string{}, s.delivered...), q.delivered())
		require.ElementsMatch(t, s.timed, values(q.timed()))
		pending := s.pending
		if pending == nil {
			pending = s.timed
		}
		require.ElementsMatch(t, pending, values(q.pending()))
		quarantine := make(map[string]float64)
		for _, z := range q.redis.ZRangeWithScores(q.ctx, q.quarantine, 0, -1).Val() {
			quarantine[values([]string{z.Member.(string)})[0]] = z.Score
		}
		require.True(t, maps.Equal(s.quarantine, quarantine), "%v", quarantine)
	}
}

// values unpacks members by their length as the rows above made them; others it returns as they are, without an id in front.
func values(members []string) []string {
	all := make([]string, len(members))
	for i, m := range members {
		if u, err := bc.UnpackAny([]byte(m)); err == nil {
			all[i] = string(u.Value)
		} else if len(m) > 17 {
			all[i] = m[17:]
		} else {
			all[i] = m
		}
	}
	return all
}

// In a long list a member is looked for near both ends, which shows in the copy that is taken of one that an old Redisson has sent twice:
// that at the head, that near the tail where there is none near the head, and that nearer the head where there is none near either.
func TestTransferFromBothEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, row := range []struct {
		name               string
		length, first, far int
		taken              int
	}{
		{"short", 5000, 2000, 4990, 2000},
		{"at the head", 16_000, 900, 15_900, 900},
		{"near the tail", 16_000, 2000, 15_900, 15_900},
		{"in the middle", 16_000, 2000, 14_000, 2000},
	} {
		b.do("FLUSHALL")
		twice := b.pack(bc, "twice")
		var list []any
		for i := range row.length {
			if i == row.first || i == row.far {
				list = append(list, twice)
			} else {
				list = append(list, b.pack(bc, fmt.Sprint(i)))
			}
		}
		b.do(append([]any{"RPUSH", b.names.Pending}, list...)...)
		b.do("ZADD", b.names.TimeoutSet, now, twice)
		b.transfer(b.transferKeys(), now, 100, bc)
		got := b.pending()
		require.Len(t, got, row.length-1)
		other := row.first + row.far - row.taken
		if row.taken < other {
			other--
		}
		require.Equal(t, twice, got[other], row.name)
		require.Equal(t, []string{"twice"}, b.delivered())
	}
}

// More values than one RPUSH takes keep their order.
func TestTransferOfMoreThanOneCallHolds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var want []string
	for i := range 1203 {
		v := fmt.Sprint(i)
		want = append(want, v)
		b.put(b.pack(bc, v), i)
		b.put(fmt.Sprintf("none %d", i), i)
	}
	require.Equal(t, scripts.Transferred{Quarantined: 1203}, b.transfer(b.transferKeys(), now, 10_000, bc))
	require.Equal(t, want, b.delivered())
	require.Empty(t, b.timed())
	require.Empty(t, b.pending())
}
