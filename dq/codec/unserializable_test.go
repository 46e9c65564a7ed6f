package codec_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// kids are acme.M$SerKid{a: "s332", c: 270} of Redisson 3.21.1, whose super class
// acme.M$NonSerBase{nb: 3, ns: "q"} is not java.io.Serializable.
var kids = map[codec.Name]string{
	codec.NameSerialization: "aced00057372000d61636d652e4d245365724b69646fe23186210a5f14020002490001634c0001617400124c6a6176612f6c616e672f537472696e673b78700000010e74000473333332",
	codec.NameMarshalling:   "0404093e0d61636d652e4d245365724b69646fe23186210a5f14000000023e016116003e01632300163e04733333320000010e",
}

type (
	markedBase struct {
		_  struct{} `java:"acme.M$NonSerBase,serialVersionUID=7,serializable=no"`
		Nb int32    `json:"nb"`
		Ns *string  `json:"ns"`
	}
	markedKid struct {
		_ struct{} `java:"acme.M$SerKid,serialVersionUID=8062060735096315668"`
		markedBase
		A *string `json:"a"`
		C int32   `json:"c"`
	}
	plainBase struct {
		_  struct{} `java:"acme.M$NonSerBase,serialVersionUID=7"`
		Nb int32    `json:"nb"`
		Ns *string  `json:"ns"`
	}
	plainKid struct {
		_ struct{} `java:"acme.M$SerKid,serialVersionUID=8062060735096315668"`
		plainBase
		A *string `json:"a"`
		C int32   `json:"c"`
	}
	surelyBase struct {
		_  struct{} `java:"acme.M$NonSerBase,serialVersionUID=7,serializable=yes"`
		Nb int32    `json:"nb"`
	}
	surelyKid struct {
		_ struct{} `java:"acme.M$SerKid,serialVersionUID=8062060735096315668"`
		surelyBase
		C int32 `json:"c"`
	}
)

const lostInJava = "a value in acme.M$NonSerBase.nb, a field that acme.M$SerKid has of its super class acme.M$NonSerBase, "

func TestSuperClassThatIsNotSerializableIsLeftOut(t *testing.T) {
	for name, text := range kids {
		t.Run(string(name), func(t *testing.T) {
			java, err := hex.DecodeString(text)
			require.NoError(t, err)
			c, err := codec.ByName(name, codec.Class{Of: markedKid{}})
			require.NoError(t, err)
			_, err = c.Encode(markedKid{markedBase: markedBase{Nb: 77}})
			require.ErrorContains(t, err, lostInJava+"which is not java.io.Serializable, as its java tag says")
			back, err := c.Decode(java)
			require.NoError(t, err)
			data, err := c.Encode(back)
			require.NoError(t, err)
			require.Equal(t, text, hex.EncodeToString(data))
			require.Empty(t, codec.Check[markedKid](name, java))
			_, err = c.Encode(markedBase{})
			require.ErrorContains(t, err, "acme.M$NonSerBase is not java.io.Serializable")
		})
	}
}

// Without the tag the first object of Java tells it, in which the class has no super class.
func TestSuperClassThatJavaDoesNotWriteIsLeftOut(t *testing.T) {
	type holder struct {
		_    struct{}    `java:"acme.Holder,serialVersionUID=1"`
		Kid  *plainKid   `json:"kid"`
		Kids []*plainKid `json:"kids" java:"array"`
	}
	for name, text := range kids {
		t.Run(string(name), func(t *testing.T) {
			java, err := hex.DecodeString(text)
			require.NoError(t, err)
			c, err := codec.ByName(name, codec.Class{Of: holder{}})
			require.NoError(t, err)
			with := plainKid{plainBase: plainBase{Nb: 77}}
			whole, err := c.Encode(with)
			require.NoError(t, err, "nothing tells of it yet")

			back, err := c.Decode(java)
			require.NoError(t, err)
			data, err := c.Encode(back)
			require.NoError(t, err)
			require.Equal(t, text, hex.EncodeToString(data))
			_, err = c.Encode(holder{Kids: []*plainKid{&with}})
			require.ErrorContains(t, err, "field kids: element 0: field nb: ")
			require.ErrorContains(t, err, lostInJava+"which the objects that Java wrote do not have")
			kid := back.(plainKid)
			data, err = c.Encode(holder{Kids: []*plainKid{&kid}, Kid: &kid})
			require.NoError(t, err)
			require.NotContains(t, string(data), "NonSerBase")
			again, err := c.Decode(data)
			require.NoError(t, err)
			require.Equal(t, holder{Kids: []*plainKid{&kid}, Kid: &kid}, again)

			// The objects without it were of an older version of the class, where others have it.
			_, err = c.Decode(whole)
			require.NoError(t, err)
			_, err = c.Decode(java)
			require.NoError(t, err)
			_, err = c.Encode(with)
			require.NoError(t, err)

			sure, err := codec.ByName(name, codec.Class{Of: surelyKid{}})
			require.NoError(t, err)
			_, err = sure.Decode(java)
			require.NoError(t, err)
			_, err = sure.Encode(surelyKid{surelyBase: surelyBase{Nb: 77}})
			require.NoError(t, err)
		})
	}
	_, err := codec.ByName(codec.NameKryo5, codec.Class{Of: struct {
		_ struct{} `java:"demo.E,serializable=maybe"`
	}{}})
	require.ErrorContains(t, err, "expected yes or no")
}
