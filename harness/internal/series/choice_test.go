package series_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/series"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const variants = `
about: Some.
scale: 0.1
rate: 10/s
duration: 10s
delay: 5s
slo: ["lost<=0"]
variants:
  - name: quick
  - name: ramped
    ramp: [{rate: 1/s, duration: 10s}, {rate: 2/s, duration: 10s}]
  - name: slow
    full: true
`

func names(runs []series.Run) []string {
	var all []string
	for _, r := range runs {
		all = append(all, r.Plan.Name)
	}
	return all
}

func TestNoFileIsThePlanOfTheSettings(t *testing.T) {
	runs, err := series.Choice{Settings: map[string]string{"producers": "3", "delay": "1s..2s", "warmup": "0s"}, SLO: []string{"lost<=0"}}.Runs(t.Context())
	require.NoError(t, err)
	want := plan.DefaultPlan()
	want.Producers, want.Delay, want.Warmup, want.WarmupEnds = 3, plan.Between(time.Second, 2*time.Second), 0, false
	require.Len(t, runs, 1)
	require.Equal(t, want, runs[0].Plan)
	require.Equal(t, "lost<=0", runs[0].SLO[0].String())

	half := .5
	for flag, c := range map[string]series.Choice{
		"variant": {Variants: []string{"a"}}, "full": {Full: true}, "scale": {Scale: &half},
	} {
		_, err := c.Runs(t.Context())
		require.ErrorContains(t, err, flag+": expected a scenario beside it")
	}
	for text, settings := range map[string]map[string]string{
		"producers: expected 1 to": {"producers": "0"}, "rate: expected": {"rate": "fast"}, "no such setting": {"colour": "red"},
	} {
		_, err := series.Choice{Settings: settings}.Runs(t.Context())
		require.ErrorContains(t, err, text)
	}
	_, err = series.Choice{SLO: []string{"lost"}}.Runs(t.Context())
	require.ErrorContains(t, err, "expected METRIC")
}

func TestVariantsAreChosen(t *testing.T) {
	file := write(t, "some.yaml", variants)
	double := 2.
	for _, tc := range []struct {
		choice series.Choice
		want   []string
		wrong  string
	}{
		{choice: series.Choice{}, want: []string{"some/quick", "some/ramped"}},
		{choice: series.Choice{Full: true}, want: []string{"some/quick", "some/ramped", "some/slow"}},
		{choice: series.Choice{Variants: []string{"slow"}}, want: []string{"some/slow"}},
		{choice: series.Choice{Variants: []string{"none"}}, wrong: "expected one of: quick, ramped, slow"},
		{choice: series.Choice{Scale: &double}, wrong: "scale: expected more than 0 and at most 1, got 2"},
		{choice: series.Choice{SLO: []string{"lost"}}, wrong: "expected METRIC"},
		{choice: series.Choice{Settings: map[string]string{"consumers": "0"}}, wrong: "consumers: expected"},
	} {
		tc.choice.Files = []string{file}
		runs, err := tc.choice.Runs(t.Context())
		if tc.wrong != "" {
			require.ErrorContains(t, err, tc.wrong)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tc.want, names(runs))
	}
	// A variant is meant for the scenarios that have it.
	runs, err := series.Choice{Files: []string{"steady", file}, Variants: []string{"quick"}}.Runs(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"steady", "some/quick"}, names(runs))
	_, err = series.Choice{Files: []string{"steady", file}, Variants: []string{"quick", "nosuch"}}.Runs(t.Context())
	require.ErrorContains(t, err, `no scenario has a variant "nosuch"`)
}

// Given settings are not scaled; the others are.
func TestSettingsLieOverAScenario(t *testing.T) {
	runs, err := series.Choice{
		Files: []string{write(t, "some.yaml", variants)}, Settings: map[string]string{"delay": "3s", "queue": "orders"}, SLO: []string{"duplicate<=0"},
	}.Runs(t.Context())
	require.NoError(t, err)
	quick := runs[0].Plan
	require.Equal(t, plan.Rate(100), quick.Rate)
	require.Equal(t, time.Second, quick.Duration)
	require.Equal(t, plan.Fixed(3*time.Second), quick.Delay)
	require.Equal(t, "orders", quick.Queue)
	require.Equal(t, "times × 0.1", quick.Scenario().ScaleText())
	require.Len(t, runs[0].SLO, 2)
	require.Equal(t, "10/s for 1s, 20/s for 1s", runs[1].Plan.Scenario().Ramp)

	// A rate takes the place of a ramp, and the duration is the file's again.
	runs, err = series.Choice{
		Files: []string{write(t, "some.yaml", variants)}, Variants: []string{"ramped"}, Settings: map[string]string{"rate": "7/s"},
	}.Runs(t.Context())
	require.NoError(t, err)
	require.Empty(t, runs[0].Plan.Ramp)
	require.Equal(t, "times × 0.1", runs[0].Plan.Scenario().ScaleText())

	// At its real times nothing is scaled.
	full := series.Choice{Files: []string{write(t, "some.yaml", variants)}, Full: true}
	runs, err = full.Runs(t.Context())
	require.NoError(t, err)
	require.Zero(t, runs[0].Plan.Scale)
	half := .5
	full.Scale = &half
	runs, err = full.Runs(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, runs[0].Plan.Duration)
}
