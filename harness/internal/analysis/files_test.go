package analysis_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
)

// readFiles takes in files of a new folder, or the folder where no name is given.
func readFiles(t *testing.T, content map[string]string, names ...string) (*analysis.Document, error) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range content {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	paths := []string{}
	for _, name := range names {
		paths = append(paths, filepath.Join(folder, name))
	}
	if len(paths) == 0 {
		paths = []string{folder}
	}
	r := &analysis.Reader{Analysis: analysis.New()}
	err := r.Files(t.Context(), paths)
	return r.Document(), err
}

// A log that was rotated goes on in the next file, whatever their names; a line of the
// first file that shows an anomaly found in the second is told with its text.
func TestRotatedLog(t *testing.T) {
	s := newStory("4.7.0")
	s.transfer(true)
	m := s.offer("a", 1000)
	first := s.out.String()
	s.wait(3000)
	s.transfer(true, m)
	second := strings.TrimPrefix(s.out.String(), first)

	d, err := readFiles(t, map[string]string{"monitor.log": second, "monitor.log.1": first}, "monitor.log", "monitor.log.1")
	require.NoError(t, err)
	require.Equal(t, []analysis.Kind{analysis.Overdue}, kinds(d))
	lines := d.Anomalies[0].Lines
	require.Equal(t, "monitor.log.1", filepath.Base(lines[0].File))
	require.EqualValues(t, 4, lines[0].Number)
	require.Equal(t, strings.Split(first, "\n")[3], lines[0].Text)
	require.Equal(t, "monitor.log", filepath.Base(lines[1].File))
	require.EqualValues(t, 1, lines[1].Number)
	require.EqualValues(t, 1, d.Queues[0].Transferred)
}

// Files of the same time are logs of several servers.
func TestLogsOfSeveralServers(t *testing.T) {
	s := newStory("4.7.0")
	s.offer("a", 60_000)
	d, err := readFiles(t, map[string]string{"a.monitor": s.out.String(), "b.monitor": s.out.String(), "readme": "no log"})
	require.NoError(t, err)
	require.Empty(t, d.Anomalies)
	require.EqualValues(t, 2, d.Queues[0].Offers)
	require.EqualValues(t, 2, d.Queues[0].StillPending)
	require.Zero(t, d.Unparsed)
}

func TestFilesThatCannotBeRead(t *testing.T) {
	_, err := readFiles(t, nil, "absent.monitor")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = readFiles(t, map[string]string{"x.log": ""})
	require.ErrorContains(t, err, "found no *.monitor file")
}
