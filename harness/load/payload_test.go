package load

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The form is shared with drivers in other languages: it must not change.
func TestPayloadForm(t *testing.T) {
	h := Header{RunID: 0xdeadbeef, Producer: 0x1f, Seq: 0xabc, Due: 0x18a1b2c3d4e5f607, Phase: Measured}
	const want = "dqb1|deadbeef|001f|00000abc|18a1b2c3d4e5f607|m|..."
	require.Equal(t, want, string(Payload(h, len(want))))
	back, err := ParsePayload([]byte(want))
	require.NoError(t, err)
	require.Equal(t, h, back)
	require.Len(t, Payload(h, 1), HeaderSize)
}

func TestParsePayloadRefuses(t *testing.T) {
	good := string(Payload(Header{Phase: Warmup}, 60))
	_, err := ParsePayload([]byte(good))
	require.NoError(t, err)
	for _, bad := range []string{
		"", "dqb1|", good[:HeaderSize-1], "x" + good, good + "x", strings.Replace(good, "|w|", "|x|", 1),
		strings.Replace(good, "00000000", "0000000G", 1), strings.Replace(good, "00000000", "0000000A", 1),
		strings.Replace(good, "|0000000000000000|", "|ffffffffffffffff|", 1), strings.Replace(good, "|w|", "|w.", 1),
		strings.Replace(good, "|0000|", "|00000", 1),
	} {
		_, err := ParsePayload([]byte(bad))
		require.ErrorIs(t, err, errNoPayload, "%q", bad)
	}
}

func TestFindPayloadInsideAMember(t *testing.T) {
	h := Header{RunID: 1, Producer: 2, Seq: 3, Due: 4, Phase: Measured}
	member := append([]byte("\x08random!!dqb1|broken"), Payload(h, 50)...)
	got, ok := FindPayload(append(member, "tail"...))
	require.True(t, ok)
	require.Equal(t, h, got)
	_, ok = FindPayload(member[:40])
	require.False(t, ok)
}

func FuzzParsePayload(f *testing.F) {
	f.Add(Payload(Header{RunID: 1, Phase: Warmup}, 47))
	f.Add([]byte("dqb1|deadbeef|001f|00000abc|18a1b2c3d4e5f607|m|..."))
	f.Fuzz(func(t *testing.T, value []byte) {
		h, err := ParsePayload(value)
		if err != nil {
			return
		}
		require.True(t, bytes.Equal(value, Payload(h, len(value))))
		found, ok := FindPayload(value)
		require.True(t, ok)
		require.Equal(t, h, found)
	})
}
