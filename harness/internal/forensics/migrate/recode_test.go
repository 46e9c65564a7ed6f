package migrate_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// recoding returns the options for two codecs: of texts, and of the values in ofKryo5.
func recoding(from, to string) migrate.RecodeOptions {
	return migrate.RecodeOptions{From: from, To: to, Recode: func(_ context.Context, values [][]byte) ([]migrate.Outcome, error) {
		outcomes := make([]migrate.Outcome, len(values))
		for i, value := range values {
			plain, err := strconv.Unquote(string(value))
			switch fresh, known := ofKryo5[string(value)]; {
			case to == "kryo5" && known:
				outcomes[i].Value = []byte(fresh)
			case to == "json":
				outcomes[i].Value = []byte(strconv.Quote(string(value)))
			case from == "json" && err == nil:
				outcomes[i].Value = []byte(plain)
			default:
				outcomes[i] = migrate.Outcome{Reason: "it would be read as another value", Example: "a becomes b"}
			}
		}
		return outcomes, nil
	}}
}

// ofKryo5 has values of Marshalling as Kryo5 writes them: "hello", 42, 42L, and one that only Java reads.
var ofKryo5 = map[string]string{
	"\x04\x3e\x05hello": "\x03hell\xef", "\x04\x4b\x00\x00\x00\x2a": "\x02\x54", "\x04\x4c\x00\x00\x00\x00\x00\x00\x00\x2a": "\x09\x54",
	"\x04\xff\x01": "\x02\x56",
}

func (b *bundle) recode(o migrate.RecodeOptions) *migrate.Recoding {
	b.t.Helper()
	done, err := migrate.Recode(b.ctx, redis.On(b.client), b.names.Destination, o)
	require.NoError(b.t, err)
	return done
}

// recoded is the state with each value written anew; those of no layout stay.
func (s state) recoded(write func(value string) string) state {
	again := func(member string) string {
		m, err := wire.LayoutBc0Lc0.UnpackAny([]byte(member))
		if err != nil {
			return member
		}
		m.Value = []byte(write(string(m.Value)))
		return string(m.Bytes())
	}
	moved := state{Set: map[string]string{}, Ghosts: s.Ghosts, Quarantine: s.Quarantine, List: []string{}}
	for _, entry := range s.List {
		moved.List = append(moved.List, again(entry))
	}
	for member, score := range s.Set {
		moved.Set[again(member)] = score
	}
	return moved
}

func quoted(value string) string { return `"` + strings.ReplaceAll(value, `"`, `\"`) + `"` }

// Text becomes JSON, which is text too: what is done is known all the same, the second run does nothing,
// and the way back restores every byte. Due times, order, ids and layouts stay.
func TestRecode(t *testing.T) {
	b := setup(t, 21)
	b.fill(300, dLc0)
	b.fill(300, bc0Lc0)
	b.listed(b.member(bc0Lc0, wire.LengthSize, []byte("ghost")))
	orphan, early := b.member(dLc0, wire.LengthSize, []byte("orphan")), b.member(bc0Lc0, wire.LengthSize, []byte("unlisted"))
	twice := b.member(bc0Lc0, wire.WindowsLengthSize, []byte("of Windows, listed twice"))
	b.timed(orphan, "4000000000000.5")
	b.timed(early, "4000000000001")
	b.timed(twice, "9007199254740993")
	b.listed(twice, twice)
	b.timed("of neither layout", "5")
	u := scripts.UnlistingOf("orders")
	require.NoError(t, b.client.SAdd(b.ctx, u.Unlisted[0], early).Err())
	delivered := []any{"a", `"a"`, "42", `"a"`, "a", `"\"a\""`, "order"}
	require.NoError(t, b.client.RPush(b.ctx, "orders", delivered...).Err())
	before := b.state()

	plan := recoding("string", "json")
	plan.DryRun = true
	planned := b.recode(plan)
	require.Equal(t, before, b.state(), "a dry run")
	require.Equal(t, 603, planned.Before.Members)
	require.Equal(t, 603, planned.Before.Entries)
	require.Equal(t, 1, planned.Before.Unreadable)

	done := b.recode(recoding("string", "json"))
	require.Equal(t, "1 unreadable members", done.Left())
	require.Equal(t, before.recoded(quoted), b.state())
	var want []string
	for _, value := range delivered {
		want = append(want, quoted(strings.ReplaceAll(value.(string), `\`, `\\`)))
	}
	require.Equal(t, want, b.list("orders"))
	unlisted := b.client.SMembers(b.ctx, u.Unlisted[0]).Val()
	require.Len(t, unlisted, 1)
	require.Contains(t, b.state().Set, unlisted[0])

	again := b.recode(recoding("string", "json"))
	require.Zero(t, again.Done.Batches)
	require.Equal(t, before.recoded(quoted), b.state())
	require.Equal(t, want, b.list("orders"))

	b.recode(recoding("json", "string"))
	require.Equal(t, before, b.state())
	require.Equal(t, len(delivered), len(b.list("orders")))
	for i, value := range b.list("orders") {
		require.Equal(t, delivered[i], value)
	}
}

// A value of Marshalling tells what it is, so that nothing is kept of what is done.
func TestRecodeToTheDefaultOfNewerReleases(t *testing.T) {
	b := setup(t, 22)
	for old := range ofKryo5 {
		for _, l := range []wire.Layout{dLc0, bc0Lc0} {
			member := b.member(l, wire.LengthSize, []byte(old))
			b.timed(member, "4000000000000")
			b.listed(member)
		}
		require.NoError(t, b.client.RPush(b.ctx, "orders", old).Err())
	}
	before := b.state()
	done := b.recode(recoding("marshalling", "kryo5"))
	require.Empty(t, done.Left())
	require.Equal(t, migrate.Recoded{Members: 8, Entries: 8, Waiting: 4}, migrate.Recoded{Members: done.Done.Members, Entries: done.Done.Entries, Waiting: done.Done.Waiting})
	require.Equal(t, before.recoded(func(value string) string { return ofKryo5[value] }), b.state())
	require.Zero(t, b.client.Exists(b.ctx, migrate.JournalKey("orders")).Val())
}

// A value that is refused stays as it is, and stops no other.
func TestRecodeRefuses(t *testing.T) {
	b := setup(t, 23)
	const serialized, text, cycle = "\xac\xed\x00\x05t\x00\x05hello", "\x04\x3e\x05hello", "\x04\x3e\x01a"
	for _, value := range []string{text, serialized, cycle, text} {
		member := b.member(bc0Lc0, wire.LengthSize, []byte(value))
		b.timed(member, "4000000000000")
		b.listed(member)
	}
	require.NoError(t, b.client.RPush(b.ctx, "orders", serialized, text).Err())
	before := b.state()
	done := b.recode(recoding("marshalling", "kryo5"))
	require.Equal(t, "3 refused values, which stay of marshalling", done.Left())
	require.Equal(t, []migrate.Refused{
		{Class: "java.lang.String", Reason: "these are no bytes of marshalling: they seem to be of serialization", Count: 2},
		{Class: "java.lang.String", Reason: "it would be read as another value", Example: "a becomes b", Count: 1, First: 4000000000000},
	}, done.After.Refused)
	require.Equal(t, before.recoded(func(value string) string {
		if value == text {
			return "\x03hell\xef"
		}
		return value
	}), b.state())
	require.Equal(t, []string{serialized, "\x03hell\xef"}, b.list("orders"))

	// What fails as a whole changes nothing.
	options := recoding("kryo5", "marshalling")
	options.Recode = func(context.Context, [][]byte) ([]migrate.Outcome, error) { return nil, errors.New("no Java") }
	now := b.state()
	_, err := migrate.Recode(b.ctx, redis.On(b.client), "orders", options)
	require.EqualError(t, err, "writing values of kryo5 as marshalling does: no Java")
	require.Equal(t, now, b.state())

	// A codec that nothing here knows writes what looks like anything: the journal tells what is done.
	options = recoding("kryo5", "acme.MyCodec")
	options.Recode = func(_ context.Context, values [][]byte) ([]migrate.Outcome, error) {
		outcomes := make([]migrate.Outcome, len(values))
		for i := range values {
			outcomes[i].Value = values[i]
			outcomes[i].Value = append([]byte("\x03"), "hellO"...)[:6]
		}
		return outcomes, nil
	}
	done = b.recode(options)
	require.Equal(t, 2, done.Done.Members)
	require.Zero(t, b.recode(options).Done.Members)
}

// While services run, nobody can tell whether text that is JSON too is done.
func TestRecodeBesideServices(t *testing.T) {
	b := setup(t, 24)
	for _, value := range []string{"order", "42"} {
		member := b.member(bc0Lc0, wire.LengthSize, []byte(value))
		b.timed(member, "4000000000000")
		b.listed(member)
	}
	listener := b.client.Subscribe(b.ctx, b.names.Channel)
	defer listener.Close()
	_, err := listener.Receive(b.ctx)
	require.NoError(t, err)

	options := recoding("string", "json")
	_, err = migrate.Recode(b.ctx, redis.On(b.client), "orders", options)
	var subscribed *migrate.CodecSubscribedError
	require.ErrorAs(t, err, &subscribed)
	require.ErrorContains(t, err, "stop all that offer or take here")
	options.Force = true
	done := b.recode(options)
	require.Equal(t, "both string and json read it, and a service that runs may have offered it in either", done.After.Refused[0].Reason)
	require.Equal(t, "1 refused values, which stay of string", done.Left())
}

func TestRecodeOfLittle(t *testing.T) {
	b := setup(t, 25)
	done := b.recode(recoding("marshalling", "kryo5"))
	require.Empty(t, done.Left())
	var text strings.Builder
	require.NoError(t, done.WriteText(&text))
	require.Contains(t, text.String(), "nothing waits: all was taken, or the name of the queue is another")

	leases := scripts.LeaseNamesOf("orders")
	require.NoError(t, b.client.ZAdd(b.ctx, leases.Leases, goredis.Z{Score: 1, Member: "held"}).Err())
	require.NoError(t, b.client.ZAdd(b.ctx, leases.Dead, goredis.Z{Score: 1, Member: "dead"}).Err())
	done = b.recode(recoding("marshalling", "kryo5"))
	require.Equal(t, "1 values that a dq.Worker holds, 1 dead letters of a dq.Worker", done.Left())

	require.NoError(t, b.client.Set(b.ctx, leases.Dead, "no set", 0).Err())
	done = b.recode(recoding("marshalling", "kryo5"))
	require.Contains(t, done.ReliableUnknown, "WRONGTYPE")

	require.NoError(t, b.client.Set(b.ctx, "orders", "no list", 0).Err())
	_, err := migrate.Recode(b.ctx, redis.On(b.client), "orders", recoding("marshalling", "kryo5"))
	require.ErrorContains(t, err, "WRONGTYPE")
}
