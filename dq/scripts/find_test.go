package scripts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

func (b *bundle) find(at scripts.Place, own wire.Layout, value string) (scripts.Place, []string, bool) {
	b.t.Helper()
	reply, err := b.run(scripts.Find(), []string{b.names.TimeoutSet}, own.String(), at.Score, at.Seen, value)
	require.NoError(b.t, err)
	next, found, more, err := scripts.ReadFound(reply)
	require.NoError(b.t, err)
	return next, found, more
}

// A value is found in whatever layout it is packed, and no value that only ends like it.
func TestFindAValue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, m := range []string{
		b.pack(d, "1"), b.pack(bc, "21"), b.windows(d, "3"), b.windows(bc, "4"), b.pack(bc, ""), "no member", b.pack(d, strings.Repeat("x", 300)),
	} {
		b.put(m, now+i)
	}
	for value, at := range map[string]int{"1": 0, "21": 1, "3": 2, "4": 3, "": 4, strings.Repeat("x", 300): 6} {
		for _, own := range layouts {
			_, found, more := b.find(scripts.Place{}, own, value)
			require.True(t, more)
			require.Len(t, found, 2, value)
			require.Equal(t, fmt.Sprint(now+at), found[1])
			m, err := own.UnpackAny([]byte(found[0]))
			require.NoError(t, err)
			require.Equal(t, value, string(m.Value))
		}
	}
	next, found, more := b.find(scripts.Place{}, d, "absent")
	require.True(t, more)
	require.Empty(t, found)
	_, _, more = b.find(next, d, "absent")
	require.False(t, more)
}

// A long queue takes many calls, which pass each member once, also where many come due in one millisecond and while those
// in front are transferred.
func TestFindGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 5000
	for i := range n {
		p := b.redis.Pipeline()
		p.ZAdd(b.ctx, b.names.TimeoutSet, redis.Z{Score: float64(now + i/3000), Member: b.pack(bc, "v")})
		_, err := p.Exec(b.ctx)
		require.NoError(t, err)
	}
	seen, calls, at := map[string]bool{}, 0, scripts.Place{}
	for {
		next, found, more := b.find(at, bc, "v")
		if !more {
			break
		}
		for i := 0; i < len(found); i += 2 {
			require.False(t, seen[found[i]])
			seen[found[i]] = true
		}
		at, calls = next, calls+1
	}
	require.Len(t, seen, n)
	require.LessOrEqual(t, calls, 4)

	at, _, _ = b.find(scripts.Place{}, bc, "v")
	next, _, _ := b.find(at, bc, "v")
	b.do("ZREMRANGEBYRANK", b.names.TimeoutSet, 0, 2999)
	again, _, _ := b.find(scripts.Place{Score: fmt.Sprint(now + 1), Seen: 0}, bc, "v")
	require.Equal(t, next.Score, again.Score)
}

func (b *bundle) cancel(due, id any, more ...any) any {
	b.t.Helper()
	u := scripts.UnlistingOf(b.names.Destination)
	reply, err := b.run(scripts.Cancel(), []string{b.names.TimeoutSet, b.names.Pending, u.Unlisted[0], u.Unlisted[1], u.Leaving},
		append([]any{due, id, now}, more...)...)
	require.NoError(b.t, err)
	return reply
}

// A message that is offered anew keeps its id and value, comes last in the list, is packed in the own layout, and is
// announced where it comes first.
func TestCancelOffersAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, own := range layouts {
		for name, member := range map[string]string{
			"own": b.pack(own, "v"), "other": b.pack(own.Other(), "v"), "windows": b.windows(own, "v"), "unlisted": b.pack(own, "v"),
		} {
			b.do("FLUSHALL")
			first := b.pack(own, "first")
			b.put(member, now+9)
			b.put(first, now+5)
			if name == "unlisted" {
				b.do("LREM", b.names.Pending, 1, member)
				b.do("SADD", scripts.UnlistingOf(b.names.Destination).Unlisted[1], member)
			}
			heard := b.redis.Subscribe(b.ctx, b.names.Channel)
			_, err := heard.Receive(b.ctx)
			require.NoError(t, err)
			m, err := own.UnpackAny([]byte(member))
			require.NoError(t, err)
			id := string(m.ID[:])
			require.Equal(t, int64(1), b.cancel(now+9, id, now+7, own.String(), b.names.Channel), name)
			want := string(own.Pack(m.ID, []byte("v")))
			require.Equal(t, []string{first, want}, b.pending())
			require.Equal(t, []string{first, want}, b.timed())
			require.Equal(t, int64(1), b.cancel(now+7, id, now+1, own.String(), b.names.Channel))
			require.Equal(t, []string{want, first}, b.timed())
			message, err := heard.ReceiveMessage(b.ctx)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(now+1), message.Payload, "what does not come first is not announced")
			require.Equal(t, int64(0), b.cancel(now+9, id, now+2, own.String(), b.names.Channel), "it has gone")
			require.Equal(t, int64(0), b.redis.Exists(b.ctx, scripts.UnlistingOf(b.names.Destination).Unlisted[1]).Val())
			require.NoError(t, heard.Close())
		}
	}
}
