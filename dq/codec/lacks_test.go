package codec_test

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// acme.Task { String before = "be"; TimeUnit unit = SECONDS; String zafter = "af" } of
// Redisson 4.7.0's Kryo5Codec, which a struct without the enum reads as "\x04af".
const taskInKryo5 = "010061636d652e546173eb62e50461e6"

type lackingTask struct {
	_      struct{} `java:"acme.Task,serialVersionUID=1,lacks=unit"`
	Before string   `json:"before"`
	After  string   `json:"zafter"`
}

func TestAStructThatSaysWhatItLacksIsNeitherMisreadNorWritten(t *testing.T) {
	kryo, err := codec.NewKryo5[lackingTask]()
	require.NoError(t, err)
	data, err := hex.DecodeString(taskInKryo5)
	require.NoError(t, err)
	_, err = kryo.Decode(data)
	require.ErrorContains(t, err, `leaves out its field "unit": Kryo5 names no fields`)
	require.NotEmpty(t, codec.Check[lackingTask](codec.NameKryo5, data))

	for _, name := range []codec.Name{codec.NameKryo5, codec.NameSerialization, codec.NameMarshalling, codec.NameJSON, codec.NameTypedJSON3} {
		values, err := codec.ByName(name, codec.Class{Of: lackingTask{}})
		require.NoError(t, err)
		_, err = values.Encode(lackingTask{Before: "be"})
		require.ErrorContains(t, err, `leaves out the field "unit" of acme.Task`, name)
	}
	values, err := codec.NewJackson[lackingTask]()
	require.NoError(t, err)
	task, err := values.Decode([]byte(`{"@class":"acme.Task","before":"be","unit":"SECONDS","zafter":"af"}`))
	require.NoError(t, err)
	require.Equal(t, "af", task.After)
}

type pageOf[T any] struct {
	_     struct{} `java:"acme.Page,serialVersionUID=1"`
	First T        `json:"first" java:"T"`
}

type textPage struct {
	_ struct{} `java:"acme.TextPage,serialVersionUID=2"`
	pageOfText
}

type pageOfText = pageOf[*string]

// Of the Go types of a generic class the one that was given takes an object that nothing
// declares, wherever others are among the classes.
func TestAGivenGenericStructIsTaken(t *testing.T) {
	for _, classes := range [][]codec.Class{
		{{Of: pageOf[any]{}}, {Of: textPage{}}},
		{{Of: textPage{}}, {Of: pageOf[any]{}}},
	} {
		for _, name := range []codec.Name{codec.NameKryo5, codec.NameSerialization, codec.NameMarshalling, codec.NameJSON} {
			t.Run(fmt.Sprintf("%s, %T first", name, classes[0].Of), func(t *testing.T) {
				values, err := codec.ByName(name, classes...)
				require.NoError(t, err)
				data, err := values.Encode([]any{pageOf[any]{First: int32(7)}})
				require.NoError(t, err)
				again, err := values.Decode(data)
				require.NoError(t, err)
				require.Equal(t, []any{pageOf[any]{First: int32(7)}}, again)
			})
		}
	}
}

// A class with an Optional is known to all codecs, so that those of its neighbours that are
// Serializable, or JSON, are written.
func TestOptionalIsWrittenByKryo5Alone(t *testing.T) {
	type holder struct {
		_     struct{} `java:"acme.Holder,serialVersionUID=1"`
		Value *string  `json:"value" java:"Optional"`
	}
	type plain struct {
		_     struct{} `java:"acme.Holder,serialVersionUID=1"`
		Value *string  `json:"value"`
	}
	for _, name := range []codec.Name{codec.NameSerialization, codec.NameMarshalling, codec.NameJSON, codec.NameJSON3} {
		values, err := codec.ByName(name, codec.Class{Of: holder{}})
		require.NoError(t, err)
		_, err = values.Encode(holder{})
		require.ErrorContains(t, err, "a java.util.Optional, which only Kryo5 writes", name)
		others, err := codec.ByName(name, codec.Class{Of: plain{}})
		require.NoError(t, err)
		data, err := others.Encode(plain{})
		require.NoError(t, err)
		require.NotEmpty(t, codec.Check[holder](name, data), name)
	}
}
