package codec_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
)

// settersTooMany are classes that Jackson 3 reads right, or did so here: of overloaded setters it passes over one, and what
// a setter keeps on a condition may be a value that was not tried.
var settersTooMany = map[string]bool{"demo.Setters$Twice": true, "demo.Setters$Unless": true}

// Jackson 3 alone goes by setters: those that were seen to change an object are known.
func TestSettersOfRedisson(t *testing.T) {
	library, err := classfile.Open("testdata/setters/setters.jar")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	seen, err := os.ReadFile("testdata/setters/4.7.0.tsv")
	require.NoError(t, err)
	wrong := map[string]bool{}
	for line := range strings.Lines(string(seen)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		isWrong := cells[2] != "="
		require.False(t, isWrong && (cells[1] == "json" || cells[1] == "typed-json"), line)
		wrong[cells[0]] = wrong[cells[0]] || isWrong
	}
	for name, isWrong := range wrong {
		java, err := library.Class(name)
		require.NoError(t, err)
		require.Equal(t, isWrong || settersTooMany[name], len(java.Jackson3) > 0, "%s %v", name, java.Jackson3)
	}
}

func TestMigrationToJackson3GoesBySetters(t *testing.T) {
	library, err := classfile.Open("testdata/setters/setters.jar")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	type bean struct {
		_ struct{} `java:"demo.Setters$Bean,serialVersionUID=1"`
	}
	type value struct {
		_ struct{} `java:"demo.Setters$Nulls,serialVersionUID=1"`
		bean
		A *string `json:"a"`
		B *string `json:"b"`
	}
	serialization, err := codec.ByName(codec.NameSerialization, codec.Class{Of: value{}})
	require.NoError(t, err)
	data, err := serialization.Encode(value{bean: bean{}})
	require.NoError(t, err)
	for to, refused := range map[codec.Name]string{codec.NameJSON: "", codec.NameJSON3: "setA()", codec.NameTypedJSON3: "setA()"} {
		recoder, err := codec.NewRecoder(codec.NameSerialization, to, library.Class, "demo.Setters$Nulls")
		require.NoError(t, err)
		_, err = recoder.Recode(data)
		if refused == "" {
			require.NoError(t, err, to)
			continue
		}
		require.ErrorContains(t, err, refused, to)
	}
}
