package plan

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the program in Java computed of the same plans: the two must agree on every
// message.
func TestVectorsOfTheProtocol(t *testing.T) {
	s := Schedule{{1000, 10 * time.Millisecond}, {300.5, 20 * time.Millisecond}}
	spans := Delay{Max: 300 * time.Millisecond, Choices: []Span{{0, 10 * time.Millisecond}, {200 * time.Millisecond, 300 * time.Millisecond}}}
	at := []int64{
		0, 1618033, 2236067, 3854101, 4472135, 5090169, 6708203, 7326237, 8944271, 9562305, 10000000, 13945821, 16891642, 20837463, 23783284,
		26729105, 30674926,
	}
	delays := []int64{8, 6, 247, 224, 207, 232, 7, 6, 264, 5, 203, 272, 2, 4, 297, 204, 6}
	require.EqualValues(t, len(at), s.Messages())
	var chosen []int64
	for i := range s.Messages() {
		require.InDelta(t, at[i], int64(s.At(i)), 1, "message %d", i)
		require.EqualValues(t, delays[i], spans.Of(1, i, s.Messages()).Milliseconds(), "message %d", i)
		if (Cancel{Share: .3}).Chosen(1, i) {
			chosen = append(chosen, i)
		}
	}
	require.Equal(t, []int64{13, 15, 16}, chosen)
	for text, want := range map[string]map[uint64][]int64{
		"1s..10s": {
			1:              {4726, 4945, 9139, 6556, 1379, 1520, 1573, 9955, 2643, 1459, 7772, 9028},
			math.MaxUint64: {6881, 2168, 6627, 7515, 1269, 8617, 3021, 9568, 4644, 8988, 9172, 5074},
		},
		"@1500ms..1700ms": {1: {1500, 1516, 1533, 1550, 1566, 1583, 1600, 1616, 1633, 1650, 1666, 1683}},
		"@1500ms..1700ms shuffled": {
			1:              {1534, 1606, 1611, 1692, 1679, 1570, 1611, 1548, 1596, 1502, 1563, 1580},
			math.MaxUint64: {1607, 1527, 1650, 1579, 1652, 1637, 1651, 1661, 1696, 1690, 1532, 1573},
		},
		"10ms..1s|1s..60s|1h": {
			1:              {3600000, 33119, 279, 22498, 59262, 52076, 26854, 3600000, 3600000, 45039, 3600000, 3600000},
			math.MaxUint64: {307, 40744, 4768, 13136, 3600000, 3600000, 944, 3600000, 997, 3600000, 969, 675},
		},
	} {
		d, err := ParseDelay(text)
		require.NoError(t, err)
		for seed, ms := range want {
			for i, delay := range ms {
				require.EqualValues(t, delay, d.Of(seed, int64(i), 12).Milliseconds(), "%s, seed %d, message %d", text, seed, i)
			}
		}
	}
	h := Header{RunID: 0x0badcafe, Producer: 0x12, Seq: 0x345, Due: 0x18abcdef01234567, Phase: Measured}
	require.Equal(t, "dqb2|0badcafe|0012|00000345|18abcdef01234567|m|fae3d079|........", string(Payload(h, 64)))
}
