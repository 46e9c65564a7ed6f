package classfile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// Of a wildcard the class is told that it is erased to, and what bounds it from below.
func TestWildcards(t *testing.T) {
	of := func(t codec.JavaType) codec.JavaType { return t.Of[0] }
	require.Equal(t, codec.JavaType{Class: "java.lang.Number", Parameter: "?"}, of(typeOf("Ljava/util/List<+Ljava/lang/Number;>;")))
	below := of(typeOf("Ljava/util/List<-Ljava/lang/Integer;>;"))
	require.Equal(t, codec.JavaType{Class: "java.lang.Object", Parameter: "?", Of: []codec.JavaType{{Class: "java.lang.Integer"}}}, below)
	parameter := of(typeOf("Ljava/util/List<+TE;>;"))
	require.Equal(t, codec.JavaType{Class: "java.lang.Object", Parameter: "?", Of: []codec.JavaType{{Class: "java.lang.Object", Parameter: "E"}}}, parameter)
	require.Equal(t, codec.JavaType{Class: "java.lang.Object"}, of(typeOf("Ljava/util/List<*>;")))
}
