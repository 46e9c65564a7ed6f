package migrate_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
)

// recoding returns the options for two codecs.
func recoding(t testing.TB, from, to codec.Name) migrate.RecodeOptions {
	recoder, err := codec.NewRecoder(from, to, nil, "")
	require.NoError(t, err)
	return migrate.RecodeOptions{From: string(from), To: string(to), Recoder: recoder}
}

func (b *bundle) recode(o migrate.RecodeOptions) *migrate.Recoding {
	b.t.Helper()
	done, err := migrate.Recode(b.ctx, b.client, b.names.Destination, o)
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

	plan := recoding(t, codec.NameString, codec.NameJSON)
	plan.DryRun = true
	planned := b.recode(plan)
	require.Equal(t, before, b.state(), "a dry run")
	require.Equal(t, 603, planned.Before.Members)
	require.Equal(t, 603, planned.Before.Entries)
	require.Equal(t, 1, planned.Before.Unreadable)

	done := b.recode(recoding(t, codec.NameString, codec.NameJSON))
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

	again := b.recode(recoding(t, codec.NameString, codec.NameJSON))
	require.Zero(t, again.Done.Batches)
	require.Equal(t, before.recoded(quoted), b.state())
	require.Equal(t, want, b.list("orders"))

	b.recode(recoding(t, codec.NameJSON, codec.NameString))
	require.Equal(t, before, b.state())
	require.Equal(t, len(delivered), len(b.list("orders")))
	for i, value := range b.list("orders") {
		require.Equal(t, delivered[i], value)
	}
}

// A value of Marshalling tells what it is, so that nothing is kept of what is done.
func TestRecodeToTheDefaultOfNewerReleases(t *testing.T) {
	b := setup(t, 22)
	values := map[string]string{"043e0568656c6c6f": "0368656c6cef", "044b0000002a": "0254", "044c000000000000002a": "0954"}
	write := map[string]string{}
	for old, fresh := range values {
		from, err := hex.DecodeString(old)
		require.NoError(t, err)
		to, err := hex.DecodeString(fresh)
		require.NoError(t, err)
		write[string(from)] = string(to)
		for _, l := range []wire.Layout{dLc0, bc0Lc0} {
			member := b.member(l, wire.LengthSize, from)
			b.timed(member, "4000000000000")
			b.listed(member)
		}
		require.NoError(t, b.client.RPush(b.ctx, "orders", from).Err())
	}
	before := b.state()
	done := b.recode(recoding(t, codec.NameMarshalling, codec.NameKryo5))
	require.Empty(t, done.Left())
	require.Equal(t, migrate.Recoded{Members: 6, Entries: 6, Waiting: 3}, migrate.Recoded{Members: done.Done.Members, Entries: done.Done.Entries, Waiting: done.Done.Waiting})
	require.Equal(t, before.recoded(func(value string) string { return write[value] }), b.state())
	require.Zero(t, b.client.Exists(b.ctx, migrate.JournalKey("orders")).Val())

	// Compressed, and back.
	kryo := b.state()
	b.recode(recoding(t, codec.NameKryo5, "lz4/kryo5"))
	require.NotEqual(t, kryo, b.state())
	b.recode(recoding(t, "lz4/kryo5", codec.NameKryo5))
	require.Equal(t, kryo, b.state())
}

// One value that is refused refuses all; or it is left as it is.
func TestRecodeRefuses(t *testing.T) {
	b := setup(t, 23)
	serialized, err := hex.DecodeString("aced000574000568656c6c6f")
	require.NoError(t, err)
	text, err := hex.DecodeString("043e0568656c6c6f")
	require.NoError(t, err)
	for _, value := range [][]byte{text, serialized, text} {
		member := b.member(bc0Lc0, wire.LengthSize, value)
		b.timed(member, "4000000000000")
		b.listed(member)
	}
	require.NoError(t, b.client.RPush(b.ctx, "orders", serialized, text).Err())
	before := b.state()
	options := recoding(t, codec.NameMarshalling, codec.NameKryo5)
	_, err = migrate.Recode(b.ctx, b.client, "orders", options)
	var refused *migrate.RefusedError
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "2 of the values would not come out as they are in kryo5")
	require.ErrorContains(t, err, "these are no bytes of marshalling: they seem to be of serialization")
	require.Equal(t, "java.lang.String", refused.Values.Refused[0].Class)
	require.Equal(t, before, b.state())

	options.Partial = true
	done := b.recode(options)
	require.Equal(t, "2 values that were refused", done.Left())
	require.Equal(t, before.recoded(func(value string) string {
		if value == string(text) {
			return "\x03hell\xef"
		}
		return value
	}), b.state())
	require.Equal(t, []string{string(serialized), "\x03hell\xef"}, b.list("orders"))
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
	before := b.state()

	options := recoding(t, codec.NameString, codec.NameJSON)
	_, err = migrate.Recode(b.ctx, b.client, "orders", options)
	var subscribed *migrate.CodecSubscribedError
	require.ErrorAs(t, err, &subscribed)
	require.ErrorContains(t, err, "stop all that offer or take here")
	options.Force = true
	_, err = migrate.Recode(b.ctx, b.client, "orders", options)
	require.ErrorContains(t, err, "both string and json read it, and a service that runs may have offered it in either")
	require.Equal(t, before, b.state())
}

func TestRecodeOfLittle(t *testing.T) {
	b := setup(t, 25)
	done := b.recode(recoding(t, codec.NameMarshalling, codec.NameKryo5))
	require.Empty(t, done.Left())
	var text strings.Builder
	require.NoError(t, done.WriteText(&text))
	require.Contains(t, text.String(), "nothing waits: all was taken, or the name of the queue is another")

	reliable := scripts.ReliableNamesOf("orders")
	require.NoError(t, b.client.ZAdd(b.ctx, reliable.Held, redis.Z{Score: 1, Member: "held"}).Err())
	require.NoError(t, b.client.ZAdd(b.ctx, reliable.Dead, redis.Z{Score: 1, Member: "dead"}).Err())
	done = b.recode(recoding(t, codec.NameMarshalling, codec.NameKryo5))
	require.Equal(t, "1 values that a dq.ReliableQueue holds, 1 dead letters of a dq.ReliableQueue", done.Left())

	require.NoError(t, b.client.Set(b.ctx, reliable.Dead, "no set", 0).Err())
	done = b.recode(recoding(t, codec.NameMarshalling, codec.NameKryo5))
	require.Contains(t, done.ReliableUnknown, "WRONGTYPE")

	require.NoError(t, b.client.Set(b.ctx, "orders", "no list", 0).Err())
	_, err := migrate.Recode(b.ctx, b.client, "orders", recoding(t, codec.NameMarshalling, codec.NameKryo5))
	require.ErrorContains(t, err, "WRONGTYPE")
}
