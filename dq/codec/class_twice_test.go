package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A HashMap with the key "@class" comes with that member twice, of which Java takes the first for the class.
// JsonJacksonCodec of Redisson 3.21.1 wrote it.
func TestClassTwice(t *testing.T) {
	type fin struct {
		_ struct{} `java:"a.M$Fin,final"`
		Q *string  `json:"q"`
	}
	data := []byte(`{"@class":"java.util.HashMap","q":"v","@class":"a.M$Fin"}`)
	require.Equal(t, Kind{"json|json3", "java.util.HashMap"}, Detect(data))
	require.Equal(t, Kind{"json|json3", "a.M$Fin"}, Detect([]byte(`{"q":"v","@class":"a.M$Fin"}`)))
	fins, err := NewJackson[fin]()
	require.NoError(t, err)
	values, err := NewJackson[any](Class{Of: fin{}})
	require.NoError(t, err)
	texts, err := NewJackson[map[string]string]()
	require.NoError(t, err)
	for _, twice := range []string{string(data), `{"@class":"java.util.HashMap","q":"v","@\u0063lass":"a.M$Fin"}`} {
		_, err = fins.Decode([]byte(twice))
		require.ErrorContains(t, err, `the key "@class" comes twice`)
		_, err = values.Decode([]byte(twice))
		require.ErrorContains(t, err, `the key "@class" comes twice`)
		_, err = texts.Decode([]byte(twice))
		require.ErrorContains(t, err, `the key "@class" comes twice`)
	}
	value, err := fins.Decode([]byte(`{"q":"{\"@class\":\"@class\"}","@class":"a.M$Fin"}`))
	require.NoError(t, err)
	require.Equal(t, `{"@class":"@class"}`, *value.Q)
}
