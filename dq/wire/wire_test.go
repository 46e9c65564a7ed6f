package wire_test

import (
	"crypto/sha1"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
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

func TestDestinationOf(t *testing.T) {
	for _, dest := range []string{"orders", "q{a}b", "{a}b", "a{b", "a}b", "{a}{b}", "app:orders", "{", "{}"} {
		n := wire.NamesOf(dest)
		for _, key := range []string{n.TimeoutSet, n.Pending} {
			got, ok := wire.DestinationOf(key)
			require.True(t, ok, key)
			require.Equal(t, dest, got, key)
		}
	}
	shared, ok := wire.DestinationOf(wire.NamesOf("{orders}").Pending)
	require.True(t, ok)
	require.Equal(t, "orders", shared, "both names have the same keys")

	for _, key := range []string{
		"orders", "redisson_delay_queue", "redisson_delay_queue:orders", "redisson_delay_queues:{orders}",
		wire.NamesOf("orders").Channel, "redisson_delay_queue_quarantine:{orders}",
	} {
		_, ok := wire.DestinationOf(key)
		require.False(t, ok, key)
	}
}

// A key that belongs to a queue is one of those that the queue's name gives.
func FuzzDestinationOf(f *testing.F) {
	f.Add("redisson_delay_queue:{orders}")
	f.Add("redisson_delay_queue_timeout:q{a}b")
	f.Add("redisson_delay_queue:{a}{b}")
	f.Fuzz(func(t *testing.T, key string) {
		dest, ok := wire.DestinationOf(key)
		if n := wire.NamesOf(dest); ok && key != n.Pending && key != n.TimeoutSet {
			t.Fatalf("%q is taken for a key of %q, whose keys are %q and %q", key, dest, n.Pending, n.TimeoutSet)
		}
	})
}

// The slots are those that CLUSTER KEYSLOT of Redis 7.0.15 gives.
func TestSlot(t *testing.T) {
	for key, want := range map[string]int{
		"123456789": 12739, "foo": 12182, "{foo}bar": 12182, "a{foo}b{c}": 12182, "{}": 15257, "foo{}{bar}": 8363, "": 0,
	} {
		require.Equal(t, want, wire.Slot(key), "%q", key)
	}
	for _, name := range []string{"orders", "q{a}b", "Zürich ✓"} {
		n := wire.NamesOf(name)
		for _, key := range []string{n.TimeoutSet, n.Pending, n.Channel} {
			require.Equal(t, wire.Slot(name), wire.Slot(key), "%q", key)
		}
	}
}

// Each script of the catalogue has a constant, and each constant a script: a name that is
// added to one has to be added to the other.
func TestScriptNamesAreThoseOfTheCatalogue(t *testing.T) {
	constants := scriptNames(t)
	named := map[wire.ScriptName]bool{}
	for _, s := range wire.Scripts() {
		require.Contains(t, constants, s.Name, "script_name.go lacks a constant for a script of variants.csv")
		named[s.Name] = true
	}
	for _, name := range constants {
		require.Contains(t, named, name, "variants.csv lacks a script that script_name.go names")
	}
	require.Len(t, constants, len(named), "a script has two constants")
}

// scriptNames reads the constants from the source, which alone knows them all.
func scriptNames(t *testing.T) (names []wire.ScriptName) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "script_name.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		require.Len(t, spec.Values, 1, "%s: expected a name and its text", spec.Names[0])
		literal, ok := spec.Values[0].(*ast.BasicLit)
		require.True(t, ok, "%s: expected a string", spec.Names[0])
		text, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		names = append(names, wire.ScriptName(text))
		return false
	})
	return names
}
