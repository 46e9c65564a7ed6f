package series_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/scenarios"
)

func TestStoredScenarios(t *testing.T) {
	all, err := series.StoredScenarios()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, s := range all {
		require.NotEmpty(t, s.About, s.Name)
		require.NotEmpty(t, s.Source, s.Name)
		for _, v := range s.Variants {
			require.Equal(t, len(s.Variants) > 1, v.Name != "", s.Name)
			run, err := v.Resolve(s.Scale, nil)
			require.NoError(t, err)
			if !v.Full {
				require.LessOrEqual(t, run.Plan.Warmup+run.Plan.Length(), time.Minute, "%s is meant to end within a minute", run.Plan.Name)
			}
		}
	}
}

func TestVariantsSayOnlyWhatDiffers(t *testing.T) {
	s, err := series.ParseScenario("x/some.yaml", []byte(`
about: A sentence.
scale: 0.1
rate: 10/s
delay: 10s|20s
duration: 10s
slo: ["lateness.p99<=1s", "lost<=0"]
variants:
  - name: a
  - name: b
    full: true
    rate: 20/s
    delay: 1s
    slo: []
    expect: ["lost>0"]
    fleet: [{count: 3}, {driver: memory, takes: true, from: 1s}]
`))
	require.NoError(t, err)
	require.Equal(t, "some", s.Name)
	chosen, err := s.Select(nil, false)
	require.NoError(t, err)
	require.Len(t, chosen, 1)
	a, err := chosen[0].Resolve(s.Scale, nil)
	require.NoError(t, err)
	require.Equal(t, "some/a", a.Plan.Name)
	require.Equal(t, plan.Rate(100), a.Plan.Rate, "as many messages in a tenth of the time")
	require.Equal(t, time.Second, a.Plan.Duration)
	require.Equal(t, "1s|2s", a.Plan.Delay.String())
	require.Equal(t, "lateness.p99<=100ms", a.SLO[0].String())
	require.Equal(t, "lost<=0", a.SLO[1].String())

	chosen, err = s.Select([]string{"b"}, false)
	require.NoError(t, err)
	b, err := chosen[0].Resolve(1, nil)
	require.NoError(t, err)
	require.Equal(t, plan.Rate(20), b.Plan.Rate)
	require.Equal(t, "1s", b.Plan.Delay.String())
	require.Empty(t, b.SLO)
	require.Len(t, b.Expected, 1)
	require.Len(t, b.Plan.Fleet, 4)
	require.Equal(t, "driver offers and takes", b.Plan.Fleet[2].String())
	require.Equal(t, "memory takes from 1s", b.Plan.Fleet[3].String())

}

func TestFilesAreStrict(t *testing.T) {
	for text, want := range map[string]string{
		"about: x\nfleet:\n  - {drivr: dq}\n":                                "f.yaml:3: field drivr not found",
		"about: x\ndelay: 2s..1s\n":                                          "swap the two",
		"rate: 5/s\n":                                                        "f.yaml:1: expected about",
		"about: x\nscale: 2\n":                                               "f.yaml:1: scale",
		"about: x\nproducers: 0\n":                                           "f.yaml:1: producers: expected",
		"about: x\nslo: [late<=1]\n":                                         `unknown metric "late"`,
		"about: x\nexpect: [lost]\n":                                         `slo "lost": expected METRIC`,
		"about: x\ndriver: nothing\n":                                        `--driver "nothing"`,
		"about: x\nvariants:\n  - name: a\n\n  - name: a\n":                  "f.yaml:5: variant \"a\" is there already",
		"about: x\nvariants:\n  - about: b\n":                                "f.yaml:3: variant: expected a name",
		"about: x\nvariants:\n  - name: a\n    consumers: 0\n":               "f.yaml:3: consumers: expected",
		"about: x\n---\nabout: y\n":                                          "one YAML document",
		"about: x\nfleet:\n" + strings.Repeat("  - {count: 1000}\n", 11):     "f.yaml:13: expected at most 10000 items",
		"about: x\nfleet: [{count: 0}]\n":                                    "expected a count",
		"about: x\nfaults:\n  - {kind: kut, at: 1s}\n":                       "no kind \"kut\" (did you mean \"cut\"?)",
		"about: x\nfaults:\n  - {kind: lose-replies, for: 1s, count: 2.9}\n": `f.yaml:3: count: expected a whole number, got "2.9"`,
		"about: x\nfaults:\n  - {kind: cut, at: soon}\n":                     "f.yaml:3: at: expected a duration such as 5s, or a range such as 1s..10s, got",
		"about: x\nfaults:\n  - {kind: cut, at: 1h}\n":                       "expected cut at 1h0m0s to end before the offers do",
		"about: x\nfleet:\n  - {takes: true}\n  - all\n":                     "f.yaml:4: expected keys and their values",
		"about: x\nramp:\n  - rate: fast\n":                                  "f.yaml:3: rate: expected",
		"about: x\ncancel:\n  shar: 1\n":                                     "f.yaml:3: field shar not found",
		"about: x\nproducers: [5]\n":                                         "f.yaml:2: expected one value",
		"about: x\nproducers: many\n":                                        `f.yaml:2: producers: expected a whole number, got "many"`,
		"about: x\nrate: 5/s\nrate: 6/s\n":                                   "f.yaml:3:",
		"about: x\nqueue: q\n":                                               "f.yaml:2: field queue not found",
		"about: x\nraet: 5/s\nproducers: many\ndelya: 1s\n":                  "f.yaml:2: field raet not found",
		"about: x\nslo: lost<=0\n":                                           "f.yaml:2:",
		"about: x\nvariants: {name: a}\n":                                    "f.yaml:2: expected a list",
		"~\n":                                                                "f.yaml:1: expected keys",
		"":                                                                   "got an empty file",
		"about: x\nabout: y\n":                                               "f.yaml:2: about is there already",
		"about: x\nramp: [{rate: 5/s}]\n":                                    "duration: expected more than 0",
		"about: x\nqueues: 20\n":                                             "at least one for each of the 20 queues",
		"about: x\nfleet: [{to: 3s}]\n":                                      "to the end",
		"about: x\nscale: 0.001\nhorizon: -1s\n":                             "horizon",
		"about: x\nvariants:\n  - name: ../a\n    delay: 1s\n":               "expected a name of letters",
		"about: x\nvariants: [{name: a, fleet: [{driver: zz}]}]\n":           "f.yaml:2:",
	} {
		_, err := series.ParseScenario("f.yaml", []byte(text))
		var wrong *series.FileError
		require.ErrorAs(t, err, &wrong, text)
		require.ErrorContains(t, err, want, text)
	}
}

// Every setting of the plan is a key, except the ones with a flag only.
func TestEverySettingIsAKey(t *testing.T) {
	for _, field := range plan.Fields {
		_, err := series.ParseScenario("f.yaml", []byte("about: x\n"+field.Key+":\n"))
		if field.FlagOnly {
			require.ErrorContains(t, err, "not found", field.Key)
			continue
		}
		require.EqualError(t, err, "f.yaml:2: "+field.Key+": expected a value")
	}
}

// A variant takes back what the file says by an empty list.
func TestYAMLForms(t *testing.T) {
	s, err := series.ParseScenario("f.yaml", []byte(`
about: x
consumers: 0x10
cancel: {share: 0.5, after: 1s}
fleet: &two [{driver: dq, count: 2}]
variants:
  - name: a
    fleet: *two
    cancel: {share: 0.25}
  - {name: b, fleet: [], ramp: []}
`))
	require.NoError(t, err)
	a, err := s.Variants[0].Resolve(1, nil)
	require.NoError(t, err)
	require.Equal(t, 16, a.Plan.Consumers)
	require.Equal(t, plan.Cancel{Share: .25, After: time.Second}, a.Plan.Cancel)
	require.Len(t, a.Plan.Fleet, 2)
	b, err := s.Variants[1].Resolve(1, nil)
	require.NoError(t, err)
	require.Empty(t, b.Plan.Fleet)
}

func FuzzParse(f *testing.F) {
	files, err := fs.Glob(scenarios.Load, "*/*.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		text, err := scenarios.Load.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := series.ParseScenario("f.yaml", text)
		if err != nil {
			return
		}
		for _, v := range s.Variants {
			_, err := v.Resolve(s.Scale, nil)
			require.NoError(t, err)
		}
	})
}

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
