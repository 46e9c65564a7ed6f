package codec_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// TestRecodeTypeArgumentsToJSON: of a Long that is the argument of a class's type parameter Jackson 3 leaves the class
// out, Jackson 2 does not. Redisson 4.7.0 wrote the stream, and these texts of the same value.
func TestRecodeTypeArgumentsToJSON(t *testing.T) {
	find := func(name string) (codec.JavaClass, error) {
		java := codec.JavaClass{Name: name, SerialVersionUID: 1, Serializable: true}
		switch name {
		case "demo.UPub":
			java.Fields = []codec.JavaField{{Name: "g", Type: typed("demo.PubGen", typed("java.lang.Long"))}}
		case "demo.PubGen":
			java.Parameters = []string{"T"}
			java.Fields = []codec.JavaField{{Name: "v", Type: codec.JavaType{Class: "java.lang.Object", Parameter: "T"}}}
		default:
			return java, fs.ErrNotExist
		}
		return java, nil
	}
	for to, text := range map[codec.Name]string{
		codec.NameJSON:  `{"@class":"demo.UPub","g":{"@class":"demo.PubGen","v":["java.lang.Long",5]}}`,
		codec.NameJSON3: `{"@class":"demo.UPub","g":{"@class":"demo.PubGen","v":5}}`,
	} {
		recoder, err := codec.NewRecoder(codec.NameSerialization, to, find, "")
		require.NoError(t, err)
		written, err := recoder.Recode(sample(t, "aced00057372000964656d6f2e5550756200000000000000010200014c00016774000d4c64656d6f2f50756247656e3b78707372000b64656d6f2e50756247656e00000000000000010200014c0001767400124c6a6176612f6c616e672f4f626a6563743b78707372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b02000078700000000000000005"))
		require.NoError(t, err)
		require.Equal(t, text, string(written))
	}
}
