package codec_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

func typed(class string, of ...codec.JavaType) codec.JavaType {
	return codec.JavaType{Class: class, Of: of}
}

// wildcard is ? extends bound.
func wildcard(bound codec.JavaType) codec.JavaType {
	bound.Parameter = "?"
	return bound
}

// wildcardSuper is ? super bound.
func wildcardSuper(bound codec.JavaType) codec.JavaType {
	return wildcard(typed("java.lang.Object", bound))
}

// findField is what a Recoder asks for a class with one field.
func findField(class, field string, typ codec.JavaType) func(string) (codec.JavaClass, error) {
	return func(name string) (codec.JavaClass, error) {
		if name != class {
			return codec.JavaClass{}, fs.ErrNotExist
		}
		return codec.JavaClass{Name: name, SerialVersionUID: 1, Serializable: true, Fields: []codec.JavaField{{Name: field, Type: typ}}}, nil
	}
}

// TestRecodeWildcards: Kryo takes the class of a wildcard's bound, also of one from below, and drops its type
// arguments; Jackson does neither. The bytes are those of Redisson 4.7.0.
func TestRecodeWildcards(t *testing.T) {
	text, list := typed("java.lang.String"), "java.util.List"
	const (
		stream = "aced00057372000964656d6f2e5745787400000000000000010200014c00026c6c7400104c6a6176612f7574696c2f4c6973743b7870737200136a6176612e7574696c2e41727261794c6973747881d21d99c7619d03000149000473697a657870000000017704000000017371007e000300000001770400000001740001617878"
		kryo5  = "010064656d6f2e574578f401016a6176612e7574696c2e41727261794c6973f4820101008203008261"
	)
	for _, c := range []struct {
		name, class, field string
		typ                codec.JavaType
		stream, kryo5      string
		refused            string
	}{
		{"a bound with an argument", "demo.WExt", "ll", typed(list, wildcard(typed(list, text))), stream, kryo5, ""},
		{"a bound with arguments in a map", "demo.WExt2", "mm", typed("java.util.Map", text, wildcard(typed("java.util.Map", text, typed("java.lang.Long")))),
			"aced00057372000a64656d6f2e574578743200000000000000010200014c00026d6d74000f4c6a6176612f7574696c2f4d61703b7870737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f724900097468726573686f6c6478703f4000000000000177080000000200000001740001617371007e00033f4000000000000177080000000200000001740001627372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b020000787000000000000000057878", "010064656d6f2e57457874b201016a6176612e7574696c2e486173684d61f0028261010102038262090a", ""},
		{"super of a final class", "demo.WSuper", "si", typed(list, wildcardSuper(typed("java.lang.Integer"))),
			"aced00057372000b64656d6f2e57537570657200000000000000010200014c000273697400104c6a6176612f7574696c2f4c6973743b7870737200136a6176612e7574696c2e41727261794c6973747881d21d99c7619d03000149000473697a65787000000001770400000001737200116a6176612e6c616e672e496e746567657212e2a0a4f781873802000149000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b02000078700000000378", "010064656d6f2e5753757065f201016a6176612e7574696c2e41727261794c6973f40206",
			"? super java.lang.Integer"},
		{"a class with an argument", "demo.WExt", "ll", typed(list, wildcard(typed("demo.Box", text))), stream, kryo5, "Kryo5 knows no type arguments"},
		{"a type parameter", "demo.WExt", "ll", typed(list, wildcard(typed("java.lang.Object", codec.JavaType{Class: "java.lang.Object", Parameter: "T"}))), stream, kryo5, "a wildcard of the type parameter T"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, way := range []struct {
				from, to    codec.Name
				bytes, want string
			}{{codec.NameSerialization, codec.NameKryo5, c.stream, c.kryo5}, {codec.NameKryo5, codec.NameMarshalling, c.kryo5, ""}} {
				recoder, err := codec.NewRecoder(way.from, way.to, findField(c.class, c.field, c.typ), "")
				require.NoError(t, err)
				written, err := recoder.Recode(sample(t, way.bytes))
				switch {
				case c.refused != "":
					var refused *codec.RecodeError
					require.ErrorAs(t, err, &refused)
					require.ErrorContains(t, err, c.refused)
					require.Equal(t, c.class, refused.Class)
				case way.want == "":
					require.NoError(t, err)
				default:
					require.NoError(t, err)
					require.Equal(t, sample(t, way.want), written)
				}
			}
		})
	}
}
