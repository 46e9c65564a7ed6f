package wire_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
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

// Each script of the catalogue has a constant, and each constant a script. The source alone knows all constants.
func TestScriptNamesAreThoseOfTheCatalogue(t *testing.T) {
	source, err := os.ReadFile("script_name.go")
	require.NoError(t, err)
	var constants, catalogue []string
	for _, found := range regexp.MustCompile(`(?m)^\tScript\w+ +ScriptName = "(.+)"$`).FindAllSubmatch(source, -1) {
		constants = append(constants, string(found[1]))
	}
	require.Len(t, constants, strings.Count(string(source), "ScriptName = "), "each constant has a line")
	for _, s := range wire.Scripts() {
		catalogue = append(catalogue, string(s.Name))
	}
	slices.Sort(catalogue)
	require.ElementsMatch(t, slices.Compact(catalogue), constants)
}

var layouts = []wire.Layout{wire.LayoutDLc0, wire.LayoutBc0Lc0}

func TestUnpackAny(t *testing.T) {
	const d, bc = wire.LayoutDLc0, wire.LayoutBc0Lc0
	id := [8]byte{8, 2, 3, 4, 5, 6, 7, 9}
	windows := func(l wire.Layout, value string) []byte {
		return wire.Member{Layout: l, ID: id, Value: []byte(value), LengthSize: wire.WindowsLengthSize}.Bytes()
	}
	for name, row := range map[string]struct {
		member []byte
		own    []wire.Layout // that read it so
		layout wire.Layout
		size   int
		value  string
	}{
		"seen, of 3.21.0":       {[]byte("D\xff\x8da2\x9d\xdb\xc3\x07\x00\x00\x00\x00\x00\x00\x00\"hello\""), layouts, d, 8, `"hello"`},
		"seen, of 3.21.1":       {[]byte("\x08\xaf\x82%\"\x04\x18\x0b\xb4\x07\x00\x00\x00\x00\x00\x00\x00\"hello\""), layouts, bc, 8, `"hello"`},
		"dLc0, empty":           {d.Pack(id, nil), layouts, d, 8, ""},
		"dLc0, zero bytes":      {d.Pack(id, []byte("\x00\x00")), layouts, d, 8, "\x00\x00"},
		"Bc0Lc0, empty":         {bc.Pack(id, nil), layouts, bc, 8, ""},
		"Bc0Lc0, binary":        {bc.Pack(id, []byte("\x08\x00\xff")), layouts, bc, 8, "\x08\x00\xff"},
		"dLc0, Windows":         {windows(d, "hello"), layouts, d, 4, "hello"},
		"dLc0, Windows, empty":  {windows(d, ""), layouts, d, 4, ""},
		"Bc0Lc0, Windows":       {windows(bc, "hello"), layouts, bc, 4, "hello"},
		"Bc0Lc0, Windows, long": {windows(bc, string(make([]byte, 300))), layouts, bc, 4, string(make([]byte, 300))},

		// An empty value in Bc0Lc0 whose id ends with 1 is the one byte 0 in dLc0.
		"both fit, dLc0 is the own":   {bc.Pack([8]byte{7: 1}, nil), []wire.Layout{d}, d, 8, "\x00"},
		"both fit, Bc0Lc0 is the own": {bc.Pack([8]byte{7: 1}, nil), []wire.Layout{bc}, bc, 8, ""},
		// One whose id ends with 5 also fits as five bytes behind a Windows length.
		"Windows comes last": {bc.Pack([8]byte{7: 5}, nil), layouts, bc, 8, ""},
		"Windows comes last, five zero bytes": {
			wire.Member{Layout: d, ID: id, Value: make([]byte, 5), LengthSize: 4}.Bytes(), []wire.Layout{bc}, bc, 8, ""},
		// The same as the first among the Windows lengths.
		"both fit, Windows, dLc0 is the own": {
			wire.Member{Layout: bc, ID: [8]byte{7: 1}, LengthSize: 4}.Bytes(), []wire.Layout{d}, d, 4, "\x00"},
		"both fit, Windows, Bc0Lc0 is the own": {
			wire.Member{Layout: bc, ID: [8]byte{7: 1}, LengthSize: 4}.Bytes(), []wire.Layout{bc}, bc, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, own := range row.own {
				m, err := own.UnpackAny(row.member)
				require.NoError(t, err)
				require.Equal(t, row.layout, m.Layout)
				require.Equal(t, row.size, m.LengthSize)
				require.Equal(t, row.value, string(m.Value))
				require.Equal(t, row.member, m.Bytes())
				require.True(t, row.size != 8 || string(m.Layout.Pack(m.ID, m.Value)) == string(row.member))
				_, err = row.layout.Other().Unpack(row.member)
				require.True(t, err != nil || len(row.own) == 1, "it refuses the other layout")
			}
		})
	}
}

func TestUnpackAnyOfNoMember(t *testing.T) {
	whole := wire.LayoutBc0Lc0.Pack([8]byte{1, 2, 3, 4, 5, 6, 7, 9}, []byte("hello"))
	for _, b := range [][]byte{
		nil, {8}, []byte("hello"), make([]byte, 11), []byte("0123456789abcdefghi"),
		whole[:len(whole)-1], append(whole[:len(whole):len(whole)], 0),
	} {
		for _, own := range layouts {
			_, err := own.UnpackAny(b)
			require.ErrorContains(t, err, fmt.Sprintf("no length field fits its %d bytes", len(b)), "%q", b)
		}
	}
}

// FuzzUnpackAny packs and unpacks: what comes out is what went in, but for the ambiguous ones, which read as the own layout.
func FuzzUnpackAny(f *testing.F) {
	f.Add([]byte("12345678"), []byte("hello"), []byte("\xe3\x8a\xdd}\x94.\xc1C\x06\x00\x00\x00\"0001\""))
	f.Add([]byte("\x08234567\x01"), []byte(""), []byte{8})
	f.Add([]byte("\x08234567\x05"), []byte("\x00"), []byte(nil))
	f.Fuzz(func(t *testing.T, seed, value, raw []byte) {
		var id [8]byte
		copy(id[:], seed)
		for _, own := range layouts {
			if m, err := own.UnpackAny(raw); err == nil {
				require.Equal(t, raw, m.Bytes())
			}
			m, err := own.UnpackAny(own.Pack(id, value))
			require.NoError(t, err)
			require.Equal(t, own, m.Layout)
			require.Equal(t, string(value), string(m.Value))

			other := own.Other()
			for _, size := range []int{wire.LengthSize, wire.WindowsLengthSize} {
				m, err = own.UnpackAny(wire.Member{Layout: other, ID: id, Value: value, LengthSize: size}.Bytes())
				require.NoError(t, err)
				if !slices.Contains([]string{"", "\x00", "\x00\x00\x00\x00\x00"}, string(value)) { // these may fit two layouts
					require.Equal(t, wire.Member{Layout: other, ID: id, Value: value, LengthSize: size}, m)
				}
			}
		}
	})
}

// A queue on which Redisson was upgraded across 3.21.1 holds members of both layouts.
func ExampleLayout_UnpackAny() {
	id := [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
	for _, member := range [][]byte{
		wire.LayoutDLc0.Pack(id, []byte("offered by 3.21.0")),
		wire.LayoutBc0Lc0.Pack(id, []byte("offered by 3.21.1")),
	} {
		m, err := wire.LayoutBc0Lc0.UnpackAny(member)
		fmt.Printf("%s %s %v\n", m.Layout, m.Value, err)
	}
	_, err := wire.LayoutBc0Lc0.UnpackAny([]byte("no member"))
	fmt.Println(err)
	// Output:
	// dLc0 offered by 3.21.0 <nil>
	// Bc0Lc0 offered by 3.21.1 <nil>
	// neither a dLc0 nor a Bc0Lc0 member: no length field fits its 9 bytes: "no member"
}
