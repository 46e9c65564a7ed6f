package dq_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
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
