package scripts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func (b *bundle) ahead(count int, own wire.Layout) (int64, error) {
	b.t.Helper()
	reply, err := b.run(scripts.Ahead(), []string{b.names.TimeoutSet}, count, own.String())
	if err != nil {
		return 0, err
	}
	return reply.(int64), nil
}

func TestAhead(t *testing.T) {
	b := setup(t)
	n, err := b.ahead(1000, d)
	require.NoError(t, err)
	require.Zero(t, n, "nothing there")

	// Ranks 0 to 9, the first with a score that is never due.
	for i, m := range []string{
		b.pack(d, "0"), b.pack(d, ""), b.pack(bc, "2"), b.pack(d, "3"), b.windows(d, "4"), b.windows(bc, "5"), "none", "",
		string(bc.Pack([8]byte{7: 1}, nil)), // fits both
		b.pack(bc, "\x00\xff"),
	} {
		b.do("ZADD", b.names.TimeoutSet, i-1, m)
	}
	for _, row := range []struct {
		own   wire.Layout
		count int
		want  int64
	}{
		{d, 1, 0}, {d, 2, 0}, {d, 3, 1}, {d, 4, 1}, {d, 5, 2}, {d, 6, 3}, {d, 8, 5}, {d, 9, 5}, {d, 10, 6}, {d, 10_000, 6},
		{bc, 1, 1}, {bc, 2, 2}, {bc, 3, 2}, {bc, 8, 7}, {bc, 9, 7}, {bc, 10, 7}, {bc, 1000, 7},
	} {
		before := b.dump()
		n, err := b.ahead(row.count, row.own)
		require.NoError(t, err)
		require.Equal(t, row.want, n, "%s, %d", row.own, row.count)
		require.Equal(t, before, b.dump())
	}
}

// What ahead calls the own layout, Redisson's transfer of that release moves.
func TestAheadAgreesWithUnpack(t *testing.T) {
	b := setup(t)
	members := []string{"", "\x08", strings.Repeat("\x00", 16), strings.Repeat("\x00", 17), "\x08" + strings.Repeat("\x00", 16)}
	for _, l := range layouts {
		for _, v := range []string{"", "\x00", "\x00\x00\x00\x00\x00", "v", strings.Repeat("v", 300)} {
			for _, first := range []byte{0, 7, 8, 9, 255} {
				for _, last := range []byte{0, 1, 5, 77} {
					id := [8]byte{0: first, 7: last}
					members = append(members, string(l.Pack(id, []byte(v))),
						string(wire.Member{Layout: l, ID: id, Value: []byte(v), LengthSize: wire.WindowsLengthSize}.Bytes()))
				}
			}
		}
	}
	for _, m := range members {
		for _, own := range layouts {
			b.do("FLUSHDB")
			b.put(m, now)
			n, err := b.ahead(1, own)
			require.NoError(t, err)
			u, err := own.Unpack([]byte(m))
			require.Equal(t, err != nil, n == 1, "%s: %q", own, m)
			moved := b.transfer(now, 1, own, 0)
			both, errAny := own.UnpackAny([]byte(m))
			if errAny != nil {
				require.Equal(t, scripts.Transferred{Quarantined: 1}, moved)
				continue
			}
			require.Equal(t, scripts.Transferred{Delivered: 1, OtherLayout: int(n)}, moved)
			require.Equal(t, []string{string(both.Value)}, b.delivered())
			if err == nil {
				b.do("FLUSHDB")
				b.put(m, now)
				require.NoError(t, b.redissonTransfer(own, now))
				require.Equal(t, []string{string(u.Value)}, b.delivered())
			}
		}
	}
}

func TestAheadReadOnly(t *testing.T) {
	b := setup(t)
	require.True(t, scripts.Ahead().ReadOnly)
	b.put(b.pack(d, "1"), now)
	b.do("SCRIPT", "LOAD", scripts.Ahead().Body)
	n, err := b.redis.EvalShaRO(b.ctx, scripts.Ahead().SHA1, []string{b.names.TimeoutSet}, 1, bc.String()).Result()
	if err != nil && strings.HasPrefix(err.Error(), "ERR unknown command") {
		redistest.Missing(t, "redis", fmt.Errorf("EVALSHA_RO, which came with Redis 7.0: %w", err))
	}
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
}

func TestAheadRefuses(t *testing.T) {
	b := setup(t)
	for _, count := range []int{0, -1, scripts.MaxLimit + 1} {
		_, err := b.ahead(count, d)
		require.ErrorContains(t, err, "expected a count")
	}
	_, err := b.ahead(1, wire.Layout(9))
	require.ErrorContains(t, err, "expected dLc0 or Bc0Lc0")
	b.do("SET", b.names.TimeoutSet, "a string")
	_, err = b.ahead(1, d)
	require.True(t, redis.HasErrorPrefix(err, "WRONGTYPE"), "%v", err)
}

// BenchmarkAhead is what the server is busy for with 1000 members of 200 bytes.
func BenchmarkAhead(b *testing.B) {
	q := setup(b)
	for i := range 1000 {
		q.put(q.pack(d, fmt.Sprintf("%0200d", i)), i)
	}
	for b.Loop() {
		n, err := q.ahead(1000, d)
		require.NoError(b, err)
		require.Zero(b, n)
	}
	reportServerTime(b, q, "evalsha")
}
