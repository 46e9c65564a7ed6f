package wire_test

import (
	"crypto/sha1"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/dq-bench/dq-bench/dq/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNamesOf(t *testing.T) {
	require.Equal(t, wire.Names{
		Destination: "orders",
		TimeoutSet:  "redisson_delay_queue_timeout:{orders}",
		Pending:     "redisson_delay_queue:{orders}",
		Channel:     "redisson_delay_queue_channel:{orders}",
	}, wire.NamesOf("orders"))

	for dest, pending := range map[string]string{
		"q{a}b":          "redisson_delay_queue:q{a}b",
		"a{b":            "redisson_delay_queue:a{b",
		"a}b":            "redisson_delay_queue:{a}b}",
		"redisson:queue": "redisson_delay_queue:{redisson:queue}",
	} {
		require.Equal(t, pending, wire.NamesOf(dest).Pending)
	}
}

// The bytes were seen on Redis 7.0.15 with Redisson 3.21.0 and 3.21.1.
func TestLayoutsAgainstSeenMembers(t *testing.T) {
	value := []byte(`"hello"`)
	for layout, seen := range map[wire.Layout]string{
		wire.LayoutDLc0:   "44ff8d61329ddbc3" + "0700000000000000" + "2268656c6c6f22",
		wire.LayoutBc0Lc0: "08af82252204180bb4" + "0700000000000000" + "2268656c6c6f22",
	} {
		member, err := hex.DecodeString(seen)
		require.NoError(t, err)
		m, err := layout.Unpack(member)
		require.NoError(t, err)
		require.Equal(t, value, m.Value)
		require.Equal(t, member, m.Bytes())
		require.Equal(t, member, layout.Pack(m.ID, value))
	}
}

// From a MONITOR log of a Redis for Windows, queue zlyx.
func TestWindowsMember(t *testing.T) {
	member := []byte("\xe3\x8a\xdd}\x94.\xc1C\x06\x00\x00\x00\"0001\"")
	_, err := wire.LayoutDLc0.Unpack(member)
	require.ErrorContains(t, err, "not a dLc0 member")

	m, err := wire.LayoutDLc0.UnpackSized(member, wire.WindowsLengthSize)
	require.NoError(t, err)
	require.Equal(t, wire.DoubleID(2476180431764309577), m.ID)
	require.Equal(t, member, m.Bytes())
}

func TestRandomOf(t *testing.T) {
	for _, random := range []int64{0, 1, -1, 1 << 53, -1 << 63, 1<<63 - 1, 2476180431764309577} {
		id := wire.DoubleID(random)
		back, ok := wire.RandomForID(id)
		require.True(t, ok)
		require.Equal(t, id, wire.DoubleID(back))
	}
	_, ok := wire.RandomForID(wire.DoubleID(0))
	require.True(t, ok)
	_, ok = wire.RandomForID([8]byte{1})
	require.False(t, ok, "a denormal double is no integer")
}

func TestReleases(t *testing.T) {
	all := wire.Releases()
	require.Equal(t, "2.7.0", all[0].String())
	for i := 1; i < len(all); i++ {
		require.Negative(t, all[i-1].Compare(all[i]), "%s before %s", all[i-1], all[i])
	}

	r, err := wire.LookupRelease("3.16.6")
	require.NoError(t, err)
	require.Equal(t, wire.LayoutDLc0, r.Layout())
	require.False(t, r.CachesScripts())
	require.Equal(t, wire.LayoutBc0Lc0, wire.Newest().Layout())
	require.True(t, wire.Newest().CachesScripts())

	for text, nearest := range map[string]string{
		"3.16.9": "3.16.8", "4.7.1": "4.7.0", "5.0.0": "4.7.0", "9.9.9": "4.7.0", "3.0.0": "3.2.0", "2.99.0": "2.15.2", "3.45.9": "3.45.1", "1.0.0": "2.7.0",
	} {
		var unknown *wire.ReleaseError
		_, err := wire.LookupRelease(text)
		require.ErrorAs(t, err, &unknown, text)
		require.Equal(t, nearest, unknown.Nearest.String(), text)
		require.ErrorContains(t, err, nearest)
	}
	some := []wire.Release{{Major: 3, Minor: 42}, {Major: 3, Minor: 50}, {Major: 4}}
	require.Equal(t, some[0], wire.Closest(some, wire.Release{Major: 3, Minor: 46}), "the one before, where both share as much")
	require.Equal(t, some[0], wire.Closest(some, wire.Release{Major: 2, Minor: 7}))
	for _, text := range []string{"", "3", "3.16", "3.16.x", "3.16.6.1", "03.16.6", "-1.2.3", "3.16.99999"} {
		_, err := wire.LookupRelease(text)
		require.ErrorContains(t, err, "expected three numbers", text)
	}
}

// The recorded text is the contract: EVALSHA names its SHA-1.
func TestScriptBodiesHaveTheirSHA1(t *testing.T) {
	require.Len(t, wire.Scripts(), 55)
	for _, s := range wire.Scripts() { // a release that is not in the catalogue sends what the nearest one does
		require.Equal(t, s.SentBy(wire.Newest()), s.SentBy(wire.Release{Major: 4, Minor: 99}), s.Variant)
		sum := sha1.Sum([]byte(s.Body))
		require.Equal(t, s.SHA1, hex.EncodeToString(sum[:]), s.Variant)
		require.NotEmpty(t, s.RecordedFrom, s.Variant)
		found, ok := wire.ScriptBySHA1(s.SHA1)
		require.True(t, ok)
		require.Equal(t, s.Variant, found.Variant)
	}
}

func TestEveryReleaseHasOneVariantOfEachScript(t *testing.T) {
	for _, r := range wire.Releases() {
		sent := make(map[wire.ScriptName][]string)
		for _, s := range wire.Scripts() {
			if s.SentBy(r) {
				sent[s.Name] = append(sent[s.Name], s.Variant)
			}
		}
		for name, variants := range sent {
			require.Len(t, variants, 1, "%s of %s", name, r)
		}
		require.Contains(t, sent, wire.ScriptOffer, r.String())
		require.Contains(t, sent, wire.ScriptTransfer, r.String())
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("\xe3\x8a\xdd}\x94.\xc1C\x06\x00\x00\x00\"0001\""))
	f.Add(wire.LayoutBc0Lc0.Pack([8]byte{1}, []byte("x")))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, l := range []wire.Layout{wire.LayoutDLc0, wire.LayoutBc0Lc0} {
			for _, size := range []int{wire.LengthSize, wire.WindowsLengthSize} {
				if m, err := l.UnpackSized(b, size); err == nil {
					require.Equal(t, b, m.Bytes())
				}
			}
		}
	})
}

func FuzzLookupRelease(f *testing.F) {
	f.Add("3.16.6")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := wire.LookupRelease(text); err == nil {
			require.Equal(t, text, r.String())
		}
	})
}
