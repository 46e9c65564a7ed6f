package series_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/series"
)

// named are runs of plans of these names.
func named(names ...string) []series.Run {
	runs := make([]series.Run, len(names))
	for i, name := range names {
		runs[i] = shortCase()
		runs[i].Plan.Name = name
	}
	return runs
}

func TestEachDriverRunsOnEachServer(t *testing.T) {
	cases, _, err := series.Cases(named(""), []string{"memory", "dq"}, []string{"embedded", "auto"})
	require.NoError(t, err)
	require.Len(t, cases, 1)
	require.Empty(t, cases[0].Folder)
	var sides [][2]string
	for _, s := range cases[0].Sides {
		require.NotNil(t, s.Driver)
		sides = append(sides, [2]string{s.Spec, s.Redis})
	}
	require.Equal(t, [][2]string{{"memory", "embedded"}, {"memory", "auto"}, {"dq", "embedded"}, {"dq", "auto"}}, sides)

	cases, _, err = series.Cases(named(""), []string{"memory"}, []string{"embedded"})
	require.NoError(t, err)
	require.Empty(t, cases[0].Sides[0].Redis, "one server is that of all runs")

	_, _, err = series.Cases(named(""), []string{"nothing"}, []string{"auto"})
	require.ErrorContains(t, err, `--driver "nothing"`)
	_, _, err = series.Cases(named(""), nil, []string{"nonsense"})
	require.ErrorContains(t, err, "nonsense")
}

func TestADriverThatIsGivenReplacesTheScenarios(t *testing.T) {
	runs := named("a", "b")
	runs[0].Driver = "memory"
	cases, _, err := series.Cases(runs, nil, []string{"auto"})
	require.NoError(t, err)
	require.Equal(t, "memory", cases[0].Sides[0].Spec)
	require.Equal(t, series.DefaultDriver, cases[1].Sides[0].Spec)
	cases, _, err = series.Cases(runs, []string{"redis-list"}, []string{"auto"})
	require.NoError(t, err)
	require.Equal(t, "redis-list", cases[0].Sides[0].Spec)
}

// With each of the drivers it would be the same run, under another name.
func TestAFleetThatNamesItsDriversTakesNone(t *testing.T) {
	runs := named("a/mixed", "a/plain")
	runs[0].Plan.Fleet = []plan.Member{{Driver: "memory"}, {Driver: "dq"}}
	runs[1].Plan.Fleet = []plan.Member{{Driver: "memory"}, {}}
	cases, left, err := series.Cases(runs, []string{"dq"}, []string{"auto"})
	require.NoError(t, err)
	require.Len(t, cases, 1)
	require.Equal(t, "a/plain", cases[0].Plan.Name)
	require.Equal(t, []string{"a/mixed"}, left)

	_, _, err = series.Cases(runs[:1], []string{"memory", "dq"}, []string{"auto"})
	require.ErrorContains(t, err, "a/mixed names the driver of each member of its fleet")
	cases, left, err = series.Cases(runs, nil, []string{"auto"})
	require.NoError(t, err)
	require.Len(t, cases, 2)
	require.Empty(t, left)
}

func TestFoldersOfCases(t *testing.T) {
	for _, tc := range []struct{ names, folders []string }{
		{[]string{"a/x"}, []string{""}},
		{[]string{"a/x", "a/y"}, []string{"x", "y"}},
		{[]string{"a/x", "b", "b/x"}, []string{filepath.Join("a", "x"), "b", filepath.Join("b", "x")}},
	} {
		cases, _, err := series.Cases(named(tc.names...), nil, []string{"auto"})
		require.NoError(t, err)
		for i, c := range cases {
			require.Equal(t, tc.folders[i], c.Folder)
		}
	}
	_, _, err := series.Cases(named("a/x", "b", "a/x"), nil, []string{"auto"})
	require.ErrorContains(t, err, "a/x is there twice")
}
