package adopt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// checkout is a folder with the files that name releases, as they are here.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{releasesFile, variantsFile, columnsFile} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		require.NoError(t, err)
		require.NoError(t, writeFile(filepath.Join(dir, name), string(text)))
	}
	return dir
}

func fileIn(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

// takeOut takes a release out of the catalogue of a checkout: before is the one known before it.
func takeOut(t *testing.T, dir, release, before string) {
	t.Helper()
	releases := fileIn(t, dir, releasesFile)
	without := strings.Replace(releases, "\n"+release+"\n", "\n", 1)
	require.NotEqual(t, releases, without)
	columns := strings.Replace(fileIn(t, dir, columnsFile), "\n"+release+"\n", "\n", 1)
	require.NoError(t, writeFile(filepath.Join(dir, columnsFile), columns))
	require.NoError(t, writeFile(filepath.Join(dir, releasesFile), without))
	variants := strings.ReplaceAll(fileIn(t, dir, variantsFile), ","+release+",,,", ","+before+",,,")
	variants = strings.ReplaceAll(variants, ","+release+",2.", ","+before+",2.")
	require.NoError(t, writeFile(filepath.Join(dir, variantsFile), variants))
}

// A release that is taken out of the catalogue and adopted again brings back the same files.
func TestTakenOutAndAdoptedAgain(t *testing.T) {
	for text, before := range map[string]string{"3.46.0": "3.45.1", "4.7.0": "4.6.1"} {
		t.Run(text, func(t *testing.T) {
			dir := checkout(t)
			takeOut(t, dir, text, before)
			if text == wire.Newest().String() {
				require.NotContains(t, fileIn(t, dir, variantsFile), ",4.7.0,,,")
			}
			c, err := OpenCheckout(dir)
			require.NoError(t, err)
			require.ErrorContains(t, c.Matches(), "has another catalogue than this dq-bench")
			require.False(t, c.Recorded(release(t, text)))
			files, left, err := c.Write(compared(t, text, text, nil))
			require.NoError(t, err)
			require.Empty(t, left)
			for _, name := range []string{releasesFile, variantsFile, columnsFile} {
				require.Equal(t, fileIn(t, "../..", name), fileIn(t, dir, name))
			}
			require.True(t, c.Recorded(release(t, text)))
			again, err := OpenCheckout(dir)
			require.NoError(t, err)
			require.NoError(t, again.Matches())
			require.Len(t, Summary(files), 4, "%v", files)

			stored, err := monitor.ReadTree(filepath.Join("../..", recordedFolder, text))
			require.NoError(t, err)
			written, err := monitor.ReadTree(filepath.Join(dir, recordedFolder, text))
			require.NoError(t, err)
			require.Len(t, written, len(stored))
			for name := range stored {
				outcomes, err := trace.Diff(stored[name], written[name], trace.DefaultTolerance)
				require.NoError(t, err)
				for _, o := range outcomes {
					require.Nil(t, o.Finding, "%s", o.Case)
				}
			}
			left, err = filepath.Glob(filepath.Join(dir, ".adopt-*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// What cannot be written whole is not written at all.
func TestNothingIsHalfWritten(t *testing.T) {
	dir := checkout(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, columnsFile), []byte("none\n"), 0o644))
	c, err := OpenCheckout(dir)
	require.NoError(t, err)
	_, _, err = c.Write(compared(t, "4.8.0", "4.7.0", nil))
	require.ErrorContains(t, err, `"none" is not a Redisson release`)
	require.Equal(t, fileIn(t, "../..", releasesFile), fileIn(t, dir, releasesFile))
	require.Equal(t, fileIn(t, "../..", variantsFile), fileIn(t, dir, variantsFile))
	require.False(t, c.Recorded(release(t, "4.8.0")))

	_, err = OpenCheckout(t.TempDir())
	require.ErrorContains(t, err, "expected a checkout of dq-bench, found no dq/wire/releases.txt in it")
}

// A column that cannot be run says which command failed, and where.
func TestColumnOfSomethingElse(t *testing.T) {
	c, err := OpenCheckout(checkout(t))
	require.NoError(t, err)
	var log strings.Builder
	err = c.Column(t.Context(), release(t, "4.8.0"), "process", &log)
	require.ErrorContains(t, err, "go build in "+c.dir)
	require.NotEmpty(t, log.String())
}
