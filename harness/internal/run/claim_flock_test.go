//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package run

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// claimVariable names the folder that a process of TestAClaimGoesWithItsProcess claims.
const claimVariable = "DQ_TEST_CLAIM"

// A folder has one process that writes to it, and nobody once that one is killed.
func TestAClaimGoesWithItsProcess(t *testing.T) {
	if folder := os.Getenv(claimVariable); folder != "" {
		_, err := NewFolder(folder)
		fmt.Println(err)
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
		return
	}
	above := filepath.Join(t.TempDir(), "above")
	folder := filepath.Join(above, "out")
	self, err := os.Executable()
	require.NoError(t, err)
	first := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	first.Env = append(os.Environ(), claimVariable+"="+folder)
	stdin, err := first.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := first.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, first.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "<nil>\n", line)

	_, err = NewFolder(folder)
	require.ErrorIs(t, err, errClaimed)
	require.ErrorContains(t, err, "output folder "+folder+": another process that runs now writes there, or above or below it; choose another with --out")
	require.DirExists(t, folder)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries, "a claim leaves nothing")

	for _, nested := range []string{above, filepath.Join(folder, "in", "it")} {
		_, err = NewFolder(nested)
		require.ErrorIs(t, err, errClaimed, "one holds the runs of the other")
	}
	require.NoDirExists(t, filepath.Join(folder, "in"), "what was made for it is gone")
	beside, err := NewFolder(filepath.Join(above, "beside"))
	require.NoError(t, err)
	beside()

	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())
	tidy, err := NewFolder(folder)
	require.NoError(t, err)
	tidy()
}
