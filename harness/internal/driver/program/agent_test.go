package program

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecordsSurviveTheirWay(t *testing.T) {
	item := Item{Index: Warm | 7, CancelAfter: 3, At: 1 << 60, Delay: 5, Due: -1}
	var items []Item
	keepItem := func(i Item) error { items = append(items, i); return nil }
	require.NoError(t, Decode(Append(nil, item), keepItem))
	require.Equal(t, []Item{item}, items)
	require.ErrorContains(t, Decode(make([]byte, 33), keepItem), "records of 32 bytes, got 33")

	sample := Sample{Kind: Taken, Waited: 1<<32 - 1, Index: 7, A: -1, B: 1 << 60}
	var got []Sample
	keep := func(s Sample) error { got = append(got, s); return nil }
	require.NoError(t, Decode(Append(nil, sample), keep))
	require.Equal(t, []Sample{sample}, got)
	require.ErrorContains(t, Decode(make([]byte, sampleSize+1), keep), "records of 25 bytes")
}

func TestDueAt(t *testing.T) {
	require.EqualValues(t, 1_000_000_123+5e6, Item{Delay: 5}.DueAt(1_000_000_123))
	require.EqualValues(t, 1_000_000_123+7e6, Item{Due: 1007}.DueAt(1_000_000_123))
	require.EqualValues(t, 1_000_000_123, Item{Due: 3}.DueAt(1_000_000_123), "what should have been due is due at once")
}

// The value of the protocol's document.
func TestPayload(t *testing.T) {
	value := Payload(0xabcd, 7, 1234, 60)
	require.Len(t, value, 60)
	require.True(t, strings.HasPrefix(string(value), "dqb3|0000abcd|00000007|00000000000004d2|"))
	kind, index, due := ParsePayload(value, 0xabcd)
	require.Equal(t, []any{Taken, uint32(7), int64(1234)}, []any{kind, index, due})
	found, due, ok := FindPayload([]byte("\x08framed "+string(value)+" so"), 0xabcd)
	require.True(t, ok)
	require.Equal(t, []any{uint32(7), int64(1234)}, []any{found, due})
	for name, changed := range map[string]struct {
		value []byte
		run   uint32
		want  Kind
	}{
		"another run": {value, 1, Foreign}, "other text": {[]byte("hello"), 0xabcd, Foreign},
		"cut off": {value[:30], 0xabcd, Corrupt}, "a byte is gone": {value[:59], 0xabcd, Corrupt}, "another byte": {append(value[:59:59], '!'), 0xabcd, Corrupt},
	} {
		kind, _, _ := ParsePayload(changed.value, changed.run)
		require.Equal(t, changed.want, kind, name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Payload(1, 2, 3, 60))
	f.Add([]byte("dqb3|00000001|0000000"))
	f.Fuzz(func(t *testing.T, value []byte) {
		if kind, index, due := ParsePayload(value, 1); kind == Taken {
			require.Equal(t, string(Payload(1, index, due, len(value)))[:HeaderSize-10], string(value)[:HeaderSize-10])
		}
		FindPayload(value, 1)
	})
}
