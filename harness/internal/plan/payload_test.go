package plan

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The form is shared with drivers in other languages: it must not change.
func TestPayloadForm(t *testing.T) {
	h := Header{RunID: 0xdeadbeef, Producer: 0x1f, Seq: 0xabc, Due: 0x18a1b2c3d4e5f607, Phase: Measured}
	const want = "dqb2|deadbeef|001f|00000abc|18a1b2c3d4e5f607|m|518db8ff|..."
	require.Equal(t, want, string(Payload(h, len(want))))
	back, err := ParsePayload([]byte(want))
	require.NoError(t, err)
	require.Equal(t, h, back)
	require.Len(t, Payload(h, 1), HeaderSize)
}

func TestParsePayloadRefuses(t *testing.T) {
	good := string(Payload(Header{Phase: Warmup}, 70))
	_, err := ParsePayload([]byte(good))
	require.NoError(t, err)
	for _, foreign := range []string{"", "x" + good, "dqb1|", strings.Replace(good, "dqb2", "dqb1", 1)} {
		_, err := ParsePayload([]byte(foreign))
		require.ErrorIs(t, err, errNoPayload, "%q", foreign)
	}
	// Whatever changes on the way is seen.
	for i := len(payloadMagic); i < len(good); i++ {
		changed := []byte(good)
		changed[i] ^= 1
		_, err := ParsePayload(changed)
		require.ErrorIs(t, err, ErrCorrupt, "%q", changed)
	}
	for _, corrupt := range []string{"dqb2|", good[:HeaderSize-1], good[:len(good)-1], good + ".", strings.ToUpper(good[:5]) + good[5:]} {
		_, err := ParsePayload([]byte(corrupt))
		require.Error(t, err, "%q", corrupt)
	}
	for _, h := range []Header{{Phase: 'x'}, {Phase: Measured, Due: -1}} {
		_, err := ParsePayload(Payload(h, 70))
		require.ErrorIs(t, err, errNoPayload)
	}
}

func TestFindPayloadInsideAMember(t *testing.T) {
	h := Header{RunID: 1, Producer: 2, Seq: 3, Due: 4, Phase: Measured}
	member := append([]byte("\x08random!!dqb2|broken"), Payload(h, 60)...)
	got, ok := FindPayload(append(member, "tail"...))
	require.True(t, ok)
	require.Equal(t, h, got)
	_, ok = FindPayload(member[:40])
	require.False(t, ok)
}

func FuzzParsePayload(f *testing.F) {
	f.Add(Payload(Header{RunID: 1, Phase: Warmup}, HeaderSize))
	f.Add([]byte("dqb2|deadbeef|001f|00000abc|18a1b2c3d4e5f607|m|518db8ff|..."))
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
