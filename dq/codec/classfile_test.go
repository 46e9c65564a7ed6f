package codec_test

import (
	"archive/zip"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
)

// jarredClasses is how many of the corpus are in testdata/corpus/acme.jar, the first ones,
// which refer to none of the others.
const jarredClasses = 60

// checkClassFiles compares what class files say with the classes that their source was
// made of, and with the serialVersionUIDs that Java computes.
func checkClassFiles(t *testing.T, path string, classes []*corpusClass, uids map[string]int64) {
	for _, c := range classes {
		name := "acme." + c.name
		loaded, err := classfile.Load(path, name)
		if c.kind == corpusInterface {
			require.ErrorContains(t, err, "is an interface")
			continue
		}
		require.NoError(t, err)
		i := slices.IndexFunc(loaded, func(java codec.JavaClass) bool { return java.Name == name })
		require.GreaterOrEqual(t, i, 0)
		java := loaded[i]
		require.Equal(t, uids[name], java.SerialVersionUID, name)
		require.Equal(t, c.constants, java.Constants, name)
		require.Equal(t, c.kind == corpusRecord, java.Record)
		if c.super != nil {
			require.Equal(t, "acme."+c.super.name, java.Super)
		}
		fields := slices.DeleteFunc(slices.Clone(c.fields), func(f corpusField) bool { return f.transient })
		slices.SortFunc(fields, func(a, b corpusField) int { return cmp.Compare(a.name, b.name) })
		require.Len(t, java.Fields, len(fields), name)
		for k, f := range fields {
			require.Equal(t, f.name, java.Fields[k].Name)
			require.Equal(t, declaredIn(f.java), declaredIn(java.Fields[k].Type.String()), "%s.%s", name, f.name)
		}
	}
}

// declaredIn returns a declared type as class files tell it: full names, and Object for a
// type parameter.
func declaredIn(source string) string {
	source = strings.ReplaceAll(source, "java.lang.", "")
	for _, parameter := range []string{"<T>", ", T>"} {
		source = strings.ReplaceAll(source, parameter, strings.Replace(parameter, "T", "Object", 1))
	}
	if source == "T" {
		return "Object"
	}
	return source
}

// TestClassFiles reads compiled classes of the corpus.
func TestClassFiles(t *testing.T) {
	eachSample(t, func(t *testing.T, all corpus) {
		checkClassFiles(t, "testdata/corpus/acme.jar", newCorpus(corpusSeed, codec.NameSerialization, nil)[:jarredClasses], all.uids)
	})
	_, err := classfile.Load("testdata/corpus/acme.jar", "acme.Missing")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = classfile.Load("testdata/corpus/3.21.1.tsv", "acme.Class10")
	require.ErrorContains(t, err, "expected a jar or a folder")
}

// writeJar keeps the first classes of a compiled corpus.
func writeJar(t *testing.T, dir, file string) {
	out, err := os.Create(file)
	require.NoError(t, err)
	defer out.Close()
	jar := zip.NewWriter(out)
	for _, c := range newCorpus(corpusSeed, codec.NameSerialization, nil)[:jarredClasses] {
		data, err := os.ReadFile(filepath.Join(dir, "acme", c.name+".class"))
		require.NoError(t, err)
		entry, err := jar.Create("acme/" + c.name + ".class")
		require.NoError(t, err)
		_, err = entry.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, jar.Close())
}
