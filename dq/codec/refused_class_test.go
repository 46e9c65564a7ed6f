package codec_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

type (
	paid struct {
		_     struct{} `java:"demo.Paid,serialVersionUID=1"`
		ID    int32    `json:"id"`
		Other any      `json:"other"`
	}
	// timed has a field that no codec of JSON takes, and so has what refers to it.
	timed struct {
		_      struct{}   `java:"demo.Timed,serialVersionUID=1"`
		Holder *timesHeld `json:"holder"`
		At     time.Time  `json:"at"`
	}
	timesHeld struct {
		_     struct{} `java:"demo.TimesHeld,serialVersionUID=1"`
		Timed *timed   `json:"timed"`
	}
)

// A Class that JSON has no form for is refused when a value of it comes, not with all others of the list.
func TestClassWithoutAFormIsRefusedWhenItComes(t *testing.T) {
	classes := []codec.Class{{Of: paid{}}, {Of: timed{}}, {Of: timesHeld{}}}
	const reason = "field At: codec json"
	for _, name := range []codec.Name{codec.NameJSON, codec.NameJSON3, codec.NameTypedJSON3} {
		t.Run(string(name), func(t *testing.T) {
			c, err := codec.ByName(name, classes...)
			require.NoError(t, err)
			data, err := c.Encode(paid{ID: 7, Other: "x"})
			require.NoError(t, err)
			back, err := c.Decode(data)
			require.NoError(t, err)
			require.Equal(t, paid{ID: 7, Other: "x"}, back)
			for _, held := range []any{timed{}, &timesHeld{}} {
				_, err = c.Encode(paid{Other: held})
				require.ErrorAs(t, err, new(*codec.TypeError))
				require.ErrorContains(t, err, "field At: ")
			}
		})
	}
	c, err := codec.NewJackson[paid](classes...)
	require.NoError(t, err)
	for _, class := range []string{"demo.Timed", "demo.TimesHeld"} {
		_, err = c.Decode([]byte(`{"@class":"demo.Paid","id":7,"other":{"@class":"` + class + `"}}`))
		require.ErrorContains(t, err, `the value holds the Java class "`+class+`", and this codec takes none of it: the Class of codec_test.time`)
		require.ErrorContains(t, err, reason)
	}
	require.Empty(t, codec.Check[paid](codec.NameJSON, []byte(`{"@class":"demo.Paid","id":7,"other":"x"}`), classes...))

	_, err = codec.NewJackson[timesHeld](classes...)
	require.ErrorContains(t, err, "field At: ", "the value itself has it")
	_, err = codec.ByName(codec.NameTypedJSON3, codec.Class{Of: timed{}})
	require.ErrorContains(t, err, "field At: ", "so has the first class, which objects are read as")
}
