package dq_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// stored returns the ticket after a way through JSON, as callers store tickets.
func stored(t *testing.T, ticket dq.Ticket) dq.Ticket {
	t.Helper()
	row, err := json.Marshal(map[string]dq.Ticket{"ticket": ticket})
	require.NoError(t, err)
	var read map[string]dq.Ticket
	require.NoError(t, json.Unmarshal(row, &read))
	require.Equal(t, ticket, read["ticket"])
	return read["ticket"]
}

// A message that has come cannot be cancelled, be it taken or not.
func TestCancelOfWhatHasCome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.delayed(t)
	ticket, err := d.OfferTicket(t.Context(), "v", 0)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(b.left(t)) == 1 }, testDeadline, time.Millisecond)
	require.ErrorIs(t, d.Cancel(t.Context(), stored(t, ticket)), dq.ErrNotWaiting)
	v, err := b.queue.Take(deadline(t))
	require.NoError(t, err)
	require.Equal(t, "v", v)
	require.ErrorIs(t, d.Cancel(t.Context(), stored(t, ticket)), dq.ErrNotWaiting)
}

// ticket is that of a member made by fill.
func ticket(t testing.TB, i int, due int64) dq.Ticket {
	t.Helper()
	var id [8]byte
	for k := range id {
		id[k] = byte(i >> (8 * k))
	}
	parsed, err := dq.ParseTicket(fmt.Sprintf("%d-%x", due, id))
	require.NoError(t, err)
	return parsed
}

// What was unlisted is found: by its ticket, by its value and by a function.
func TestCancelAndRemoveOfWhatIsUnlisted(t *testing.T) {
	t.Parallel()
	const n = 2000
	var p passes
	b := setup(t, p.observer())
	start := time.Now().Add(5 * time.Second).UnixMilli() // a pass that a busy machine gives up is made again
	due := func(i int) int64 { return start + int64(i)*200/n }
	b.fill(t, wire.LayoutBc0Lc0, n, due)
	q := queueOf(t, b, codec.String{})
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(p.whole(), func(u dq.Unlisted) bool { return u.Members > n/2 })
	}, testDeadline, time.Millisecond)
	cancelled := map[string]bool{}
	found := func(v string, found bool, err error) {
		t.Helper()
		require.NoError(t, err)
		if cancelled[v] = found; !found { // a slow machine: it has come
			require.NotEmpty(t, b.left(t))
			delete(cancelled, v)
		}
	}
	removed, err := q.Remove(t.Context(), "1999")
	found("1999", removed, err)
	more, err := q.RemoveFunc(t.Context(), func(v string) bool { return v == "1998" })
	found("1998", more == 1, err)
	for i := 0; i < n; i += 50 {
		if err = q.Cancel(t.Context(), ticket(t, i, due(i))); errors.Is(err, dq.ErrNotWaiting) {
			found(fmt.Sprint(i), false, nil)
		} else {
			found(fmt.Sprint(i), true, err)
		}
	}
	last := int64(0)
	for _, v := range takeAll(t, deadline(t), b.queue, n-len(cancelled)) {
		require.False(t, cancelled[v], v)
		i, err := strconv.Atoi(v)
		require.NoError(t, err)
		require.GreaterOrEqual(t, due(i), last, "in the order of their due times")
		last = due(i)
	}
	require.Zero(t, b.redis.Exists(t.Context(), b.names.Pending, b.names.TimeoutSet).Val())
}

// The reply to an offer is lost: its ticket reports whether it was queued.
func TestTicketOfAnUncertainOffer(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	p := redistest.NewProxy(t, s.Addr)
	b := at(t, s, "redis://"+p.Addr+"?max_retries=5")
	d := b.delayed(t)
	require.NoError(t, d.Offer(t.Context(), "first", time.Hour)) // the script is known
	p.Set(proxy.Fault{Drop: proxy.Replies}, nil)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	uncertain, err := d.OfferTicket(short, "second", time.Hour)
	require.ErrorIs(t, err, dq.ErrUncertain)
	p.Heal()
	p.Reset()
	require.Equal(t, int64(2), b.redis.LLen(t.Context(), b.names.Pending).Val(), "it was never sent twice")
	direct := dq.NewSender(setupOn(t, s, "orders").queue)
	require.NoError(t, direct.Cancel(t.Context(), uncertain))
	require.Equal(t, int64(1), b.redis.LLen(t.Context(), b.names.Pending).Val())

	refused, err := d.OfferTicket(t.Context(), "v", -1)
	require.ErrorIs(t, err, dq.ErrNegativeDelay)
	require.Zero(t, refused)
}

// A user without the keys of unlisting cancels; one without a command that it takes is told, and
// nothing has changed.
func TestCancelWithFewRights(t *testing.T) {
	t.Parallel()
	const keys = "~orders ~redisson_delay_queue:* ~redisson_delay_queue_timeout:* ~redisson_delay_queue_channel:* &* "
	s := redistest.Redis(t)
	b := setupOn(t, s, "orders")
	ticket, err := dq.NewSender(b.queue).OfferTicket(t.Context(), "v", time.Hour)
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
