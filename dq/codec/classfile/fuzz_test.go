package classfile

import (
	"archive/zip"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse: no panic, whatever the bytes.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"../testdata/corpus/acme.jar", "../testdata/constructors/constructors.jar"} {
		addClasses(f, path)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		if c, err := parse(data); err == nil {
			c.describe()
			itself := func(string) (*class, error) { return c, nil }
			c.constructed(itself)
			c.beans(itself)
			c.isAnnotated(itself, map[string]bool{})
		}
	})
}

func addClasses(f *testing.F, path string) {
	f.Helper()
	jar, err := zip.OpenReader(path)
	require.NoError(f, err)
	defer jar.Close()
	for _, file := range jar.File[:20] {
		class, err := file.Open()
		require.NoError(f, err)
		data, err := io.ReadAll(class)
		require.NoError(f, err)
		f.Add(data)
	}
}

// FuzzTypeOf: no panic, and no end of depth.
func FuzzTypeOf(f *testing.F) {
	for _, s := range []string{"I", "[[J", "Ljava/util/Map<Ljava/lang/String;+TT;>;", "La/B<*>.C<[I>;", "["} {
		f.Add(s)
	}
	f.Add("<K:Ljava/lang/Object;V::Ljava/lang/Runnable;>La/B<TK;>;")
	f.Fuzz(func(_ *testing.T, signature string) {
		_ = typeOf(signature).String()
		_, _ = parametersOf(signature), superOf(signature)
	})
}
