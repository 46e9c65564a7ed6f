package trace

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = "# source: a document\n# a remark without a key\n# version: 3.16.6\n" +
	`1.000000 [0 127.0.0.1:1] "PING"` + "\n" +
	`2.000000 [0 127.0.0.1:1] "ECHO" "case:DQ.offer/first"` + "\n" +
	`3.000000 [0 lua] "rpush" "k" "v"` + "\n"

func TestReadToleratesHowLogsAreSaved(t *testing.T) {
	want, err := Read(strings.NewReader(sample), "a.monitor")
	require.NoError(t, err)
	require.Equal(t, "a document", want.Field("source"))
	require.Equal(t, "3.16.6", want.Field("version"))
	require.Empty(t, want.Field("absent"))
	require.Len(t, want.Lines, 3)
	require.Equal(t, 4, want.Lines[0].Number)

	for name, text := range map[string]string{
		"CR LF":         strings.ReplaceAll(sample, "\n", "\r\n"),
		"no final end":  strings.TrimSuffix(sample, "\n"),
		"blank lines":   strings.ReplaceAll(sample, "\n", "\n\n"),
		"blanks behind": strings.ReplaceAll(sample, "\n", "  \n"),
		"redis-cli":     "OK\n" + sample,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(strings.NewReader(text), "a.monitor")
			require.NoError(t, err)
			require.Equal(t, want.Fields, got.Fields)
			for i := range want.Lines {
				require.Equal(t, want.Lines[i].Raw, got.Lines[i].Raw)
			}
		})
	}
}

func TestReadNamesTheBadLine(t *testing.T) {
	for _, text := range []string{
		"\n" + `1.000000 [0 lua] "get" "k" // a remark`,
		`1.000000 [0 lua] "get" "k"` + "\n# metadata too late",
		`1.000000 [0 lua] "get" "k"` + "\nOK",
		"OK\nOK",
	} {
		_, err := Read(strings.NewReader(text), "a.monitor")
		var bad *FileError
		require.ErrorAs(t, err, &bad, "%q", text)
		require.Equal(t, 2, bad.Line)
		require.Contains(t, err.Error(), "a.monitor:2: not a MONITOR line")
	}
}

func TestCases(t *testing.T) {
	rec, err := Read(strings.NewReader(sample), "a.monitor")
	require.NoError(t, err)
	cases := rec.Cases()
	require.Len(t, cases, 2)
	require.Empty(t, cases[0].ID)
	require.Equal(t, "DQ.offer/first", cases[1].ID)
	require.Equal(t, "rpush", cases[1].Lines[0].Name())
}

func TestWriteFileIsWhole(t *testing.T) {
	rec, err := Read(strings.NewReader(sample), "a.monitor")
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "b.monitor")
	require.NoError(t, rec.WriteFile(path))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, sample, string(got))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)

	require.Error(t, rec.WriteFile(filepath.Join(dir, "absent", "b.monitor")))
	_, err = ReadFile(t.Context(), filepath.Join(dir, "absent.monitor"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzRecording(f *testing.F) {
	f.Add(sample)
	f.Add("OK\r\n#\n#x\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		rec, err := Read(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		var out bytes.Buffer
		require.NoError(t, rec.Write(&out))
		again, err := Read(&out, "f")
		require.NoError(t, err)
		require.Len(t, again.Lines, len(rec.Lines))
		for i := range rec.Lines {
			require.Equal(t, rec.Lines[i].Args, again.Lines[i].Args)
		}
	})
}

func TestReadTree(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a"), 0o755))
	for _, name := range []string{"a/x.monitor", "y.monitor", "a/notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(sample), 0o644))
	}
	all, err := ReadTree(t.Context(), dir)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Contains(t, all, "a/x.monitor")

	one, err := ReadTree(t.Context(), filepath.Join(dir, "y.monitor"))
	require.NoError(t, err)
	require.Contains(t, one, ".")

	_, err = ReadTree(t.Context(), t.TempDir())
	require.ErrorContains(t, err, "found no *.monitor file")
	_, err = ReadTree(t.Context(), filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
