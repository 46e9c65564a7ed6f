package redis

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMember(t *testing.T) {
	t.Parallel()
	m, err := parseMember("07c3 127.0.0.1:30001@31001,host myself,master - 0 1426238317239 4 connected 0-5 7 [9->-e7d1] [11-<-67ed]\n")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:30001", m.addr)
	require.True(t, m.flags["myself"] && m.flags["master"] && m.linked)
	require.Equal(t, 4, m.epoch)
	for slot, want := range map[int]bool{0: true, 5: true, 6: false, 7: true, 9: false, 11: false} {
		require.Equal(t, want, m.owns(slot), slot)
	}
	m, err = parseMember("e7d1 :0@0 slave,fail,noaddr 07c3 1 1 2 disconnected")
	require.NoError(t, err)
	require.Equal(t, "07c3", m.master)
	require.False(t, m.linked)
	for _, line := range []string{"", "a b c", "a b c d e f x h", "a b c d e f 1 h 5-"} {
		_, err := parseMember(line)
		require.Error(t, err, line)
	}
}

func FuzzParseMember(f *testing.F) {
	f.Add("07c3 127.0.0.1:30001@31001 myself,master - 0 0 4 connected 0-5 7 [9->-e7d1]")
	f.Fuzz(func(_ *testing.T, line string) { _, _ = parseMember(line) })
}
