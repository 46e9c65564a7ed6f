package codec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// A Vector in a field does not become an ArrayList by reading and writing. Redisson 3.21.1 wrote the bytes.
func TestOriginLost(t *testing.T) {
	type deque1 struct {
		_      struct{}     `java:"demo.Deque1,serialVersionUID=1"`
		Al     []*string    `json:"al"`
		D      []*string    `json:"d"`
		Hs     []*string    `json:"hs"`
		It     []*string    `json:"it"`
		Ns     []*string    `json:"ns"`
		Q      []*string    `json:"q"`
		Tm     []*string    `json:"tm"`
		V      []*string    `json:"v"`
		Origin codec.Origin `json:"-"`
	}
	values, err := codec.NewMarshalling[deque1]()
	require.NoError(t, err)
	value, err := values.Decode(sample(t, "0404093e0b64656d6f2e4465717565310000000000000001000000083e02616c16003e016416003e02687316003e02697416003e026e7316003e017116003e02746d16003e0176160016010101010101015301753e0161"))
	require.NoError(t, err)
	require.Equal(t, []*string{new("a")}, value.V)
	_, err = values.Encode(value)
	var refused *codec.ValueError
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "field v: a java.util.Vector, which is read and not written here")

	other := value
	other.V = nil
	_, err = values.Encode(other)
	require.NoError(t, err)
	value.Origin = codec.Origin{}
	_, err = values.Encode(value)
	require.NoError(t, err)
}
