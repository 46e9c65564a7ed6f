package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	for name, content := range generated {
		there, err := os.ReadFile(filepath.Join("../../../docs/spec", name))
		require.NoError(t, err, "make spec writes it")
		want, err := content(there)
		require.NoError(t, err, name)
		require.Equal(t, string(want), string(there), "docs/spec/%s is not what `make spec` writes", name)
	}
}

// A file that was changed by hand is written anew, and one that is right is left alone.
func TestWriteMakesFilesAnew(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "vectors"), 0o755))
	scripts := filepath.Join(folder, "scripts.md")
	require.NoError(t, os.WriteFile(scripts, []byte("before\n"+tableBegin+"old\n"+tableEnd+"\nafter\n"), 0o644))
	changes, err := os.ReadFile("../../../docs/spec/changes.md")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "changes.md"), changes, 0o644))
	require.NoError(t, write(folder))
	text, err := os.ReadFile(scripts)
	require.NoError(t, err)
	require.NotContains(t, string(text), "old")
	require.True(t, strings.HasPrefix(string(text), "before\n") && strings.HasSuffix(string(text), "\nafter\n"))
	for _, s := range wire.Scripts() {
		require.Contains(t, string(text), "wire/scripts/"+s.File+")")
	}
	require.FileExists(t, filepath.Join(folder, "vectors", "members.json"))

	_, err = withCatalogue([]byte("no marks"))
	require.ErrorContains(t, err, "expected the lines")
}

// The table of changes has a row for each release at which a statement begins or ends, and no
// other.
func TestEveryChangeHasARow(t *testing.T) {
	there, err := os.ReadFile("../../../docs/spec/changes.md")
	require.NoError(t, err)
	for want, text := range map[string]string{
		"expected a table":                             "no table",
		"expected four columns":                        changesHead + "| 3.2.1 |\n",
		"expected a row for 3.42.0, at which W-STOP-3": regexp.MustCompile(`(?m)^\| 3\.42\.0 .*\n`).ReplaceAllString(string(there), ""),
		"no statement begins or ends at 3.43.0":        strings.Replace(string(there), "| 3.42.0 ", "| 3.43.0 ", 1),
	} {
		_, err := withChanges([]byte(text))
		require.ErrorContains(t, err, want)
	}
	spoilt := regexp.MustCompile(`(?m)^(\| 3\.21\.1 .*\|) [^|]* \|$`).ReplaceAllString(string(there), "$1 nothing |")
	require.NotEqual(t, string(there), spoilt)
	repaired, err := withChanges([]byte(spoilt + "\nafter\n"))
	require.NoError(t, err)
	require.Equal(t, string(there)+"\nafter\n", string(repaired))
}

func TestRangesAreReadBack(t *testing.T) {
	for _, text := range []string{"2.7.0 to 2.15.2, 3.2.0 on", "3.13.3", "2.9.3 to 2.15.2, 3.4.3 to 3.21.0", "3.6.2 to 3.13.2, 3.13.4 on"} {
		r, err := spec.ParseRanges(text)
		require.NoError(t, err)
		require.Equal(t, text, rangesOf(r.Contain))
	}
	require.Empty(t, rangesOf(func(wire.Release) bool { return false }))
}

func TestBytesKeepWhatTheyAre(t *testing.T) {
	for bytes, want := range map[string]string{"orders": `"orders"`, "\b\x00": `"\b\u0000"`, "\xff\x01": `{"hex":"ff01"}`, "延迟": `"延迟"`} {
		text, err := json.Marshal(bytesVector(bytes))
		require.NoError(t, err)
		require.JSONEq(t, want, string(text))
	}
}

func TestAKeyThatNobodyKnowsIsAnError(t *testing.T) {
	_, err := keysOf(wire.Script{Variant: "new-v1", Keys: "<dest> <something>"})
	require.ErrorContains(t, err, `new-v1: expected a key that keyNames knows, got "<something>"`)
}
