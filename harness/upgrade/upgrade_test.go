package upgrade

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/conformance"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

func between(t *testing.T, from, to string) *Changes {
	t.Helper()
	a, err := wire.LookupRelease(from)
	require.NoError(t, err)
	b, err := wire.LookupRelease(to)
	require.NoError(t, err)
	sections, err := conformance.Load(scenarios.Conformance, "conformance")
	require.NoError(t, err)
	c, err := Between(a, b, conformance.Select(sections, nil), Recordings{recordings.Files, "redisson"})
	require.NoError(t, err)
	return c
}

func TestReleasesThatReadEachOther(t *testing.T) {
	c := between(t, "4.0.0", "4.7.0")
	require.Equal(t, "codec marshalling", c.Facts[0].What)
	require.True(t, c.Facts[0].Stops, "a queue that names it stops")

	c = between(t, "3.50.0", "3.52.0")
	require.Empty(t, c.Facts)
	require.Empty(t, c.Scripts)
	require.Contains(t, c.Text(), "each reads what the other has written")
	require.Equal(t, "3.50.0", c.Commands.From)
	require.Positive(t, c.Commands.Compared)
	require.Equal(t, c.Commands.Compared, c.Commands.Same, "%v", c.Commands.Causes)
	require.Len(t, c.Steps, 1)
}

func TestAcrossTheChangeOfLayout(t *testing.T) {
	for _, way := range [][2]string{{"3.21.0", "3.21.1"}, {"3.21.1", "3.21.0"}} {
		c := between(t, way[0], way[1])
		require.Equal(t, members, c.Facts[0].What)
		require.Equal(t, "3.21.1", c.Facts[0].Came, "whichever way one goes")
		require.Len(t, c.Facts, 1)
		require.NotEmpty(t, c.Scripts)
		for _, s := range c.Scripts {
			require.Equal(t, "3.21.1", s.Came, s.Name)
		}
		require.Contains(t, strings.Join(strings.Fields(c.Text()), " "), "a queue with messages in it does not come across by itself")
		steps := strings.Join(c.Steps, "\n")
		require.Contains(t, steps, "dq-bench inspect QUEUE --release "+way[0])
		require.Contains(t, steps, "dq-bench migrate QUEUE --to "+way[1])
	}
}

// A codec that the new release has not got cannot be named there.
func TestStepsNameOnlyCodecsThatAreThere(t *testing.T) {
	steps := func(from, to string) string { return strings.Join(between(t, from, to).Steps, "\n") }
	require.Contains(t, steps("3.16.6", "3.19.0"), "name the one that 3.16.6 uses by default (marshalling)")
	require.Contains(t, steps("3.16.6", "4.7.0"), "4.7.0 has no codec that reads its values (marshalling)")
}

// Each two releases that follow each other and of which something changed, and the ends.
func TestEveryChangeIsToldOf(t *testing.T) {
	all := wire.Releases()
	pairs := [][2]wire.Release{{all[0], all[len(all)-1]}, {all[len(all)-1], all[0]}}
	for i, to := range all[1:] {
		if from := all[i]; from.Major == 2 == (to.Major == 2) && len(factsBetween(from, to))+len(scriptsBetween(from, to)) > 0 {
			pairs = append(pairs, [2]wire.Release{from, to})
		}
	}
	require.Greater(t, len(pairs), 10)
	for i, pair := range pairs {
		c, err := Between(pair[0], pair[1], nil, Recordings{recordings.Files, "redisson"})
		require.NoError(t, err)
		for _, f := range c.Facts {
			if i >= 2 {
				require.Equal(t, pair[1].String(), f.Came, f.What)
			}
		}
		for line := range strings.Lines(c.Text()) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
		}
		_, err = json.Marshal(c)
		require.NoError(t, err)
	}
}
