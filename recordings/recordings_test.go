package recordings_test

import (
	"strconv"
	"testing"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, name string) *monitor.Recording {
	t.Helper()
	f, err := recordings.Files.Open("documents/" + name)
	require.NoError(t, err)
	defer f.Close()
	rec, err := monitor.Read(f, name)
	require.NoError(t, err)
	return rec
}

// The recording of document 002 holds together: the scripts are the recorded
// ones of the catalogue, and the member is what they make of the arguments.
func TestDocument002(t *testing.T) {
	rec := read(t, "002-zlyx.monitor")
	require.Len(t, rec.Lines, 12)
	for _, l := range rec.Lines {
		require.Equal(t, l.Raw, l.String(), "the transcription is what a server prints")
	}
	names := wire.NamesOf("zlyx")
	offer, transfer := rec.Lines[0].Args, rec.Lines[5].Args
	release := wire.Release{Major: 3, Minor: 16, Patch: 6}
	for name, args := range map[wire.ScriptName][]string{wire.ScriptOffer: offer, wire.ScriptTransfer: transfer} {
		script, ok := release.Script(name)
		require.True(t, ok)
		require.Equal(t, script.Body, args[1])
	}
	require.Equal(t, []string{names.Destination, names.TimeoutSet, names.Pending, names.Channel}, offer[3:7])

	random, err := strconv.ParseInt(offer[8], 10, 64)
	require.NoError(t, err)
	member := wire.Member{
		Layout: wire.LayoutDLc0, ID: wire.DoubleID(random), Value: []byte(offer[9]),
		LengthSize: wire.WindowsLengthSize,
	}
	packed := string(member.Bytes())
	require.Equal(t, []string{"zadd", names.TimeoutSet, offer[7], packed}, rec.Lines[1].Args)
	require.Equal(t, []string{"rpush", names.Pending, packed}, rec.Lines[2].Args)
	require.Equal(t, []string{"rpush", names.Destination, offer[9]}, rec.Lines[7].Args)
	require.Equal(t, []string{"lrem", names.Pending, "1", packed}, rec.Lines[8].Args)
	require.Equal(t, []string{"zrem", names.TimeoutSet, packed}, rec.Lines[9].Args)

	due, err := strconv.ParseInt(offer[7], 10, 64)
	require.NoError(t, err)
	delay := due*1000 - rec.Lines[0].Time
	require.InDelta(t, 5_000_000, delay, 1_000, "a delay of 5 s, by one clock")
}

// The recording of document 004: five members of MarshallingCodec values, and a
// client clock about 4.3 s behind the server's.
func TestDocument004(t *testing.T) {
	rec := read(t, "004-dest_queue1.monitor")
	require.Len(t, rec.Lines, 44)
	names := wire.NamesOf("dest_queue1")
	offers := 0
	for _, l := range rec.Lines {
		require.Equal(t, l.Raw, l.String(), "the transcription is what a server prints")
		if l.Name() != "zadd" {
			continue
		}
		offers++
		require.Equal(t, names.TimeoutSet, l.Args[1])
		m, err := wire.LayoutDLc0.Unpack([]byte(l.Args[3]))
		require.NoError(t, err)
		_, integer := wire.RandomForID(m.ID)
		require.True(t, integer)
		require.Equal(t, "\x04>\nfffffffff"+strconv.Itoa(offers), string(m.Value))
		due, err := strconv.ParseInt(l.Args[2], 10, 64)
		require.NoError(t, err)
		clientClock := (due - 13_000) * 1000
		require.InDelta(t, 4_280_000, l.Time-clientClock, 15_000)
	}
	require.Equal(t, 5, offers)
}
