package series_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/scenarios"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func shortCase() series.Variant {
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Duration, p.Warmup, p.Delay, p.Rate = 100*time.Millisecond, 50*time.Millisecond, plan.Fixed(20*time.Millisecond), 500
	return series.Variant{Plan: p}
}

func quiet(series.Turn, *run.Document) {}
func memory(t *testing.T) series.Side  { return sideOf(t, "memory", "") }

// An invalid run is made again, not for ever, and stays in its folder.
func TestAnInvalidRunIsMadeAgain(t *testing.T) {
	t.Parallel()
	c := series.Case{Variant: shortCase(), Sides: []series.Side{memory(t)}}
	c.Plan.MaxScheduleLag = 1 // ns, which none keeps
	out, made := t.TempDir(), 0
	var notices []string
	o := series.Options{Out: out, Load: load.Options{Notice: func(line string) { notices = append(notices, line) }}}
	result, err := series.Do(t.Context(), o, c, 2, func(series.Turn, *run.Document) { made++ })
	require.NoError(t, err)
	require.Equal(t, 2, made)
	require.Len(t, result.Sets[0].Runs, 2)
	require.Subset(t, notices, []string{"2 runs, 1 at a time: about 0s", "run 1 of 2 was invalid and is made again, 1 of at most 3 times in a series"})
	require.Len(t, must(compare.Read(t.Context(), filepath.Join(out, "memory"))), 5)
}

// Every run is written and compared. Sides that run at the same time begin at one instant, and are compared in pairs.
func TestSides(t *testing.T) {
	t.Parallel()
	for _, beside := range []bool{false, true} {
		t.Run(fmt.Sprint(beside), func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			c := series.Case{Variant: shortCase(), Folder: "some", Sides: []series.Side{memory(t), memory(t), memory(t)}}
			var turns []series.Turn
			result, err := series.Do(t.Context(), series.Options{Out: out, Beside: beside}, c, 2, func(turn series.Turn, r *run.Document) {
				require.True(t, beside || r.Verdict.Passed, r.Verdict.Text) // three at a time may be late on a busy machine
				turns = append(turns, turn)
			})
			require.NoError(t, err)
			require.Equal(t, []series.Turn{{0, 1}, {1, 1}, {2, 1}, {2, 2}, {1, 2}, {0, 2}}, turns)
			require.Len(t, result.Comparisons, 2)
			require.Equal(t, []any{compare.Inconclusive, beside}, []any{result.Comparisons[1].Outcome, result.Comparisons[1].Paired})
			require.FileExists(t, filepath.Join(out, "some", report.File))
			blocks := map[string]bool{}
			for i, folder := range []string{"memory", "memory-2", "memory-3"} {
				require.Len(t, must(compare.Read(t.Context(), filepath.Join(out, "some", folder))), 2)
				for n, r := range result.Sets[i].Runs {
					require.EqualValues(t, 50, r.Counts.Delivered)
					if first := result.Sets[0].Runs[n]; beside {
						blocks[first.Beside.Block] = true
						require.Equal(t, []any{first.Beside, 3, first.Started}, []any{r.Beside, r.Beside.Sides, r.Started})
					}
				}
			}
			require.Len(t, blocks, map[bool]int{true: 2}[beside])
		})
	}
}

// Who interrupts a series has what ran judged, and a page of it, as of a single run.
func TestAnInterruptedSeriesIsJudgedByWhatRan(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		sides, after int
		beside       bool
		want         []int // runs of each side
		notice       string
	}{
		"in the first of three runs":      {1, 1, false, []int{1}, "0 of 3 runs were made in full, 1 in part"},
		"in the first of two sides":       {2, 1, false, []int{1}, "0 of 6 runs were made in full, 1 in part"},
		"in the second turn of each":      {2, 3, false, []int{1, 2}, "2 of 6 runs were made in full, 1 in part; complete rounds are compared"},
		"in the first block of two sides": {2, 2, true, []int{1, 1}, "0 of 3 runs were made in full, 1 in part"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			out, told, notice := t.TempDir(), 0, ""
			c := series.Case{Variant: shortCase()}
			for range row.sides {
				c.Sides = append(c.Sides, memory(t))
			}
			c.Plan.Duration = 400 * time.Millisecond
			o := series.Options{Out: out, Beside: row.beside, Load: load.Options{Notice: func(line string) { notice = line }}}
			o.Load.Progress = func(text string, _ bool) {
				if strings.HasPrefix(text, "load") && (told+1 >= row.after || row.beside) {
					interrupt()
				}
			}
			result, err := series.Do(ctx, o, c, 3, func(series.Turn, *run.Document) { told++ })
			require.NoError(t, err)
			var got []int
			for _, set := range result.Sets {
				got = append(got, len(set.Runs))
			}
			require.Equal(t, row.want, got)
			require.Equal(t, "interrupted: "+row.notice, notice)
			require.Len(t, result.Comparisons, len(got)-1)
			for _, c := range result.Comparisons {
				require.Equal(t, compare.Inconclusive, c.Outcome)
				require.NotEmpty(t, c.LeftOut, "the interrupted run")
			}
			require.FileExists(t, filepath.Join(out, report.File))
		})
	}
}

func TestASideThatFailsEndsTheOthers(t *testing.T) {
	broken := must(spec.Parse(`exec:sh -c 'exit 3'`))
	c := series.Case{Variant: shortCase(), Sides: []series.Side{memory(t), {Spec: "broken", Driver: broken, Redis: "embedded"}}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := series.Do(ctx, series.Options{Out: t.TempDir(), Beside: true}, c, 1, quiet)
	require.ErrorContains(t, err, "run 1 of broken")
	require.NoError(t, ctx.Err())
}

// The names of two sides show the difference, and never a password; folders have no other characters than names of files.
func TestNamesTellSidesApart(t *testing.T) {
	for given, want := range map[string][]string{
		"dq dq:3.16.6":                     {"dq", "dq:3.16.6"},
		"dq@redis://a dq:3.16.6@redis://b": {"dq (a:6379)", "dq:3.16.6 (b:6379)"},
		"dq dq dq":                         {"dq", "dq (2)", "dq (3)"},
		"dq@redis://a:7001 dq@redis://u:s3cret@a:7002/3":                            {"dq (a:7001)", "dq (a:7002)"},
		"dq@redis+cluster://a:1,b:1 dq@redis+sentinel://s/main dq@rediss://[::1]":   {"dq (a:1)", "dq (s:26379)", "dq ([::1]:6379)"},
		"dq@redis://:s3cret@a:1/0 dq@redis://:s3cret@a:1/1 dq@redis://b:1":          {"dq (a:1)", "dq (a:1) (2)", "dq (b:1)"},
		"dq@container:redis:7.0 dq@container:valkey/valkey:8 dq@process:/opt/redis": {"dq (container:redis:7.0)", "dq (container:valkey/valkey:8)", "dq (process:/opt/redis)"},
		"dq@redis://a dq@redis://b memory@redis://a dq@redis://a":                   {"dq (a:6379)", "dq (b:6379)", "memory (a:6379)", "dq (a:6379) (2)"},
	} {
		var sides []series.Side
		for side := range strings.FieldsSeq(given) {
			driver, server, _ := strings.Cut(side, "@")
			sides = append(sides, series.Side{Spec: driver, Redis: server})
		}
		require.Equal(t, want, series.Names(sides))
	}
	require.Equal(t, []string{"dq", "dq-2", "dq-3.16.6-faithful", "exec-..-a-b", "exec-..-a-b-2", "dq-127.0.0.1-7001"}, series.Folders([]string{
		"dq", "dq (2)", "dq:3.16.6,faithful", "exec:../a b", "exec:../a/b", "dq (127.0.0.1:7001)",
	}))
}

// Two servers, of which one is killed, are told apart while they run and wherever it is written. The comparison of
// the stored runs has the same verdict on the run that this made invalid. No other run is made on a server that is gone.
func TestTwoServersBesideEachOtherAreToldApart(t *testing.T) {
	t.Parallel()
	c := series.Case{Variant: shortCase()}
	servers := []*redis.Server{redistest.Process(t, "--requirepass", "s3cret"), redistest.Process(t, "--requirepass", "s3cret")}
	addrs := []string{servers[0].Addr, servers[1].Addr}
	for _, srv := range servers {
		require.Contains(t, srv.URL(), "s3cret")
		c.Sides = append(c.Sides, sideOf(t, "dq", srv.URL()))
	}
	c.Plan.Duration, c.Plan.DrainTimeout, c.Plan.Rate = 2*time.Second, 500*time.Millisecond, 100
	out, live := t.TempDir(), &load.Live{}
	var names []string
	o := series.Options{Out: out, Beside: true, Load: load.Options{Live: live, Silence: 2 * time.Second, Progress: func(text string, _ bool) {
		if !strings.HasPrefix(text, "load") || names != nil {
			return
		}
		for _, now := range live.Running() {
			names = append(names, now.Name)
		}
		require.NoError(t, servers[1].Nodes()[0].Kill())
	}}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := series.Do(ctx, o, c, 2, quiet)
	require.NoError(t, err)
	require.Equal(t, []string{"dq (" + addrs[0] + ")", "dq (" + addrs[1] + ")"}, names)

	var sides [][]*run.Document
	for i, set := range result.Sets {
		require.Equal(t, names[i], set.Name)
		stored := must(compare.Read(t.Context(), filepath.Join(out, series.Folders(names)[i])))
		require.Equal(t, addrs[i], stored[0].Server.Address)
		sides = append(sides, stored)
	}
	require.False(t, sides[1][0].Valid())

	var text strings.Builder
	require.NoError(t, report.OfSets(*result).Text(&text))
	flat := strings.Join(strings.Fields(text.String()), " ")
	require.Contains(t, flat, "BASE, left out "+names[0]+" (dq:4.7.0) on ")
	require.Contains(t, flat, "Left out. run "+sides[1][0].RunID+" of dq:4.7.0 of ")
	require.Contains(t, flat, "Compared: Inconclusive: a judgement needs 6 runs a side, here are 0 and 0.")
	html := must(os.ReadFile(filepath.Join(out, report.File)))
	require.Contains(t, string(html), names[0]+" against "+names[1])
	require.NotContains(t, text.String()+string(html), "s3cret")
}

func sideOf(t *testing.T, name, server string) series.Side {
	t.Helper()
	return series.Side{Spec: name, Driver: must(spec.Parse(name)), Redis: server}
}

// A run in which something breaks says what, and accounts for each message.
func TestARunWithAFault(t *testing.T) {
	t.Parallel()
	c := shortCase()
	c.Plan.Rate, c.Plan.Duration, c.Plan.DrainTimeout = 100, 1200*time.Millisecond, 2*time.Second
	c.Plan.Faults = []plan.Fault{{Kind: plan.LoseReplies, At: 100 * time.Millisecond, For: time.Second, Commands: []string{"offer"}, Count: 2}}
	result, err := series.Do(t.Context(), series.Options{Out: t.TempDir()}, series.Case{Variant: c, Sides: []series.Side{sideOf(t, "dq", "embedded")}}, 1, quiet)
	require.NoError(t, err)
	r := result.Sets[0].Runs[0]
	f := r.Faults
	require.True(t, r.Server.Embedded)
	require.GreaterOrEqual(t, f.UncertainCame, int64(2), "they were carried out")
	require.GreaterOrEqual(t, f.Uncertain, f.UncertainCame, "others were on the same connections")
	require.Equal(t, []int64{120, 120, 0, 0}, []int64{f.Offered, f.Acknowledged + f.Uncertain, f.Refused, f.Lost + f.LostBeyond + f.Duplicate})
	require.Len(t, f.Events, 1)
	e := f.Events[0]
	require.Equal(t, []any{"lose-replies", "", 2}, []any{e.Kind, e.Error, e.Times})
	require.GreaterOrEqual(t, e.From, .1)
	require.Equal(t, []string{"lose-replies at 100ms for 1s, commands offer, count 2"}, r.Scenario.Faults)
	require.EqualValues(t, f.Uncertain, r.Counts.OfferErrors)
}

// Each driver runs on each server, with a name of a folder for each case. With a driver that is given, a fleet that names all of its
// own would be the same run under another name.
func TestCases(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a": "variants: [{name: x}, {name: memory, driver: memory}]", "b": "rate: 9/s", "c": "variants: [{name: x}]",
		"fleets": "variants: [{name: mixed, fleet: [{driver: memory}, {driver: dq}]}, {name: plain, fleet: [{driver: memory}, {}]}]",
		"own":    "fleet: [{driver: memory}]", "breaks": "faults: [{kind: flush-all, at: 1s}]",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".yaml"), []byte("about: x\n"+text+"\n"), 0o600))
	}
	for _, tc := range []struct {
		files, drivers, servers string
		override, beside        bool
		want, wrong             string // folder: sides, for each case, and what is left
	}{
		{"", "memory dq", "embedded auto", true, false, ": memory@embedded memory@auto dq@embedded dq@auto; ", ""},
		{"", "memory", "embedded", true, false, ": memory@embedded; ", ""},
		{"", "memory dq", "embedded", true, true, ": memory@embedded dq@embedded; ", ""},
		{"a", "dq", "auto", false, false, "x: dq@auto; memory: memory@auto; ", ""},
		{"a b c", "redis-list", "auto", true, false, "a/x: redis-list@auto; a/memory: redis-list@auto; b: redis-list@auto; c/x: redis-list@auto; ", ""},
		{"fleets", "dq", "auto", true, false, ": dq@auto; [fleets/mixed]", ""},
		{"fleets", "dq", "auto", false, false, "mixed: dq@auto; plain: dq@auto; ", ""},
		{"own", "memory dq", "auto", true, false, "", "own names the driver of each member of its fleet"},
		{"b a b", "dq", "auto", false, false, "", "b is there twice"},
		{"", "nothing", "auto", true, false, "", `--driver "nothing"`},
		{"", "dq", "nonsense", false, false, "", "nonsense"},
		{"", "dq", "auto", false, true, "", "expected two sides or more"},
		{"", "dq memory", "redis://h", true, true, "", "which they would share"},
		{"breaks", "memory", "auto", true, false, "", "memory has no server"},
	} {
		c := series.Choice{Drivers: strings.Fields(tc.drivers), Servers: strings.Fields(tc.servers), Override: tc.override, Beside: tc.beside}
		for _, name := range strings.Fields(tc.files) {
			c.Files = append(c.Files, filepath.Join(folder, name+".yaml"))
		}
		cases, left, err := c.Cases(t.Context())
		if tc.wrong != "" {
			require.ErrorContains(t, err, tc.wrong)
			continue
		}
		require.NoError(t, err)
		got := ""
		for _, c := range cases {
			got += filepath.ToSlash(c.Folder) + ":"
			for _, s := range c.Sides {
				require.NotNil(t, s.Driver)
				got += " " + s.Spec + "@" + s.Redis
			}
			got += "; "
		}
		if left != nil {
			got += fmt.Sprint(left)
		}
		require.Equal(t, tc.want, got)
	}
}

func TestStoredScenarios(t *testing.T) {
	all := must(series.StoredScenarios())
	require.NotEmpty(t, all)
	for _, s := range all {
		require.NotEmpty(t, s.About, s.Name)
		require.NotEmpty(t, s.Source, s.Name)
		for _, v := range s.Variants {
			require.Equal(t, len(s.Variants) > 1, v.Name != "", s.Name)
			if !v.Full {
				require.LessOrEqual(t, v.Plan.Warmup+v.Plan.Length(), time.Minute, "%s is meant to end within a minute", v.Plan.Name)
			}
		}
	}
}

// A variant says only what differs, and takes back by an empty list what the file says.
func TestVariantsSayOnlyWhatDiffers(t *testing.T) {
	s := must(series.ParseScenario("x/some.yaml", []byte(`
about: A sentence.
rate: 10/s
consumers: 0x10
delay: 10s|20s
slo: ["lateness.p99<=1s", "lost<=0"]
cancel: {share: 0.5, after: 1s}
fleet: &two [{driver: dq, count: 2}]
variants:
  - name: a
    fleet: *two
    cancel: {share: 0.25}
  - name: b
    full: true
    rate: 20/s
    delay: 1s
    slo: []
    expect: ["lost>0"]
    fleet: [{count: 3}, {driver: memory, takes: true, from: 1s}]
  - {name: c, fleet: []}
`)))
	require.Len(t, s.Variants, 3)
	a, b := s.Variants[0], s.Variants[1]
	require.Equal(t, []any{"some/a", false, true}, []any{a.Plan.Name, a.Full, b.Full})
	require.Equal(t, []any{plan.Rate(10), plan.Rate(20), 16}, []any{a.Plan.Rate, b.Plan.Rate, b.Plan.Consumers})
	require.Equal(t, "10s|20s 1s", a.Plan.Delay.String()+" "+b.Plan.Delay.String())
	require.Equal(t, "lateness.p99<=1s lost<=0", a.SLO[0].String()+" "+a.SLO[1].String())
	require.Empty(t, b.SLO)
	require.Len(t, b.Expected, 1)
	require.Equal(t, plan.Cancel{Share: .25, After: time.Second}, a.Plan.Cancel)
	require.Len(t, a.Plan.Members(), 2)
	all := b.Plan.Members()
	require.Len(t, all, 4)
	require.Equal(t, "driver offers and takes, memory takes from 1s", all[2].String()+", "+all[3].String())
	require.Empty(t, s.Variants[2].Plan.Fleet)
}

func TestFilesAreStrict(t *testing.T) {
	for content, want := range map[string]string{
		"about: x\nfleet:\n  - {drivr: dq}\n":                                "f.yaml:3: field drivr not found",
		"about: x\ndelay: 2s..1s\n":                                          "swap the two",
		"rate: 5/s\n":                                                        "f.yaml:1: expected about",
		"about: x\nproducers: 0\n":                                           "f.yaml:2: producers: expected",
		"about: x\nslo: [late<=1]\n":                                         `unknown metric "late"`,
		"about: x\nexpect: [lost]\n":                                         `slo "lost": expected METRIC`,
		"about: x\ndriver: nothing\n":                                        `--driver "nothing"`,
		"about: x\nvariants:\n  - name: a\n\n  - name: a\n":                  "f.yaml:5: variant \"a\" is there already",
		"about: x\nvariants:\n  - about: b\n":                                "f.yaml:3: variant: expected a name",
		"about: x\nvariants:\n  - name: a\n    consumers: 0\n":               "f.yaml:4: consumers: expected",
		"about: x\n---\nabout: y\n":                                          "one YAML document",
		"about: x\nfleet:\n" + strings.Repeat("  - {count: 1000}\n", 11):     "expected at most 10000 members",
		"about: x\nfleet: [{count: 0}]\n":                                    "count: expected 1 to 1000",
		"about: x\nfaults:\n  - {kind: kut, at: 1s}\n":                       "no kind \"kut\" (did you mean \"cut\"?)",
		"about: x\nfaults:\n  - {kind: lose-replies, for: 1s, count: 2.9}\n": `f.yaml:3: count: expected a whole number, got "2.9"`,
		"about: x\nfaults:\n  - {kind: cut, at: soon}\n":                     "f.yaml:3: at: expected a duration such as 10s, got",
		"about: x\nfaults:\n  - {kind: cut, at: 1h}\n":                       "expected cut at 1h0m0s to end before the offers do",
		"about: x\nfleet:\n  - {takes: true}\n  - all\n":                     "f.yaml:4: expected keys and their values",
		"about: x\ncancel:\n  shar: 1\n":                                     "f.yaml:3: field shar not found",
		"about: x\nproducers: [5]\n":                                         "f.yaml:2: producers: expected one value",
		"about: x\nproducers: many\n":                                        `f.yaml:2: producers: expected a whole number, got "many"`,
		"about: x\nrate: 5/s\nrate: 6/s\n":                                   "f.yaml:3:",
		"about: x\nqueue: q\n":                                               "f.yaml:2: field queue not found",
		"about: x\nraet: 5/s\nproducers: many\ndelya: 1s\n":                  "f.yaml:2: field raet not found",
		"about: x\nslo: lost<=0\n":                                           "f.yaml:2:",
		"about: x\nvariants: {name: a}\n":                                    "f.yaml:2: variants: expected a list",
		"~\n":                                                                "f.yaml:1: expected keys",
		"":                                                                   "got an empty file",
		"about: x\nabout: y\n":                                               "f.yaml:2: about is there already",
		"about: x\nqueues: 20\n":                                             "at least one for each of the 20 queues",
		"about: x\nfleet: [{to: 3s}]\n":                                      "to the end",
		"about: x\nhorizon: -1s\n":                                           "horizon",
		"about: x\nvariants:\n  - name: ../a\n    delay: 1s\n":               "expected a name of letters",
		"about: x\nvariants: [{name: a, fleet: [{driver: zz}]}]\n":           "f.yaml:2:",
	} {
		_, err := series.ParseScenario("f.yaml", []byte(content))
		require.ErrorAs(t, err, new(*trace.FileError), content)
		require.ErrorContains(t, err, want, content)
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

func FuzzParse(f *testing.F) {
	files := must(fs.Glob(scenarios.Load, "*/*.yaml"))
	require.NotEmpty(f, files)
	for _, file := range files {
		f.Add(must(scenarios.Load.ReadFile(file)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := series.ParseScenario("f.yaml", text)
		if err != nil {
			return
		}
		for _, v := range s.Variants {
			require.NoError(t, v.Plan.Validate())
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
rate: 10/s
duration: 10s
delay: 5s
slo: ["lost<=0"]
variants:
  - name: quick
  - name: climbs
    rate: 1/s..2/s
  - name: slow
    full: true
`

func TestChoices(t *testing.T) {
	file := write(t, "some.yaml", variants)
	settings := func(of ...string) map[string]string { return map[string]string{of[0]: of[1]} }
	for _, tc := range []struct {
		choice series.Choice
		want   []string // names, and rates
		wrong  string
	}{
		{choice: series.Choice{}, want: []string{" 1000/s"}},
		{choice: series.Choice{Files: []string{file}}, want: []string{"some/quick 10/s", "some/climbs 1/s"}},
		{choice: series.Choice{Files: []string{file}, Variants: []string{"slow"}}, want: []string{"some/slow 10/s"}},
		{choice: series.Choice{Files: []string{"steady", file}, Variants: []string{"quick"}}, want: []string{"steady 1000/s", "some/quick 10/s"}},
		{choice: series.Choice{Files: []string{file}, Settings: settings("rate", "7/s")}, want: []string{"some/quick 7/s", "some/climbs 7/s"}},
		{choice: series.Choice{Files: []string{file}, Variants: []string{"slow"}, Defaults: settings("rate", "7/s")}, want: []string{"some/slow 10/s"}},
		{choice: series.Choice{Defaults: settings("rate", "7/s")}, want: []string{" 7/s"}},

		{choice: series.Choice{Files: []string{file}, Variants: []string{"none"}}, wrong: `no scenario has a variant "none", expected one of: quick, climbs, slow`},
		{choice: series.Choice{Files: []string{write(t, "full.yaml", "about: x\nvariants: [{name: a, full: true}]\n")}}, wrong: "scenario full runs on demand only: choose with --variant from a"},
		{choice: series.Choice{Variants: []string{"a"}}, wrong: "variant: expected a scenario beside it"},
		{choice: series.Choice{Settings: settings("producers", "0")}, wrong: "producers: expected 1 to"},
		{choice: series.Choice{Settings: settings("rate", "fast")}, wrong: "rate: expected"},
		{choice: series.Choice{Settings: settings("colour", "red")}, wrong: "no such setting"},
		{choice: series.Choice{SLO: []string{"lost"}}, wrong: "expected METRIC"},
	} {
		tc.choice.Drivers, tc.choice.Servers = []string{"dq"}, []string{"auto"}
		runs, _, err := tc.choice.Cases(t.Context())
		if tc.wrong != "" {
			require.ErrorContains(t, err, tc.wrong)
			continue
		}
		require.NoError(t, err)
		var got []string
		for _, r := range runs {
			got = append(got, r.Plan.Name+" "+r.Plan.Rate.String())
			require.Equal(t, r.Plan.Name == "some/climbs" && r.Plan.Rate == 1, r.Plan.Scenario().Climb, "a rate takes the place of a climb")
		}
		require.Equal(t, tc.want, got)
	}

	runs, _, err := series.Choice{
		Drivers: []string{"dq"}, Servers: []string{"auto"}, Files: []string{file}, Settings: map[string]string{"delay": "1s..2s", "rate": "5/s", "queue": "orders", "warmup": "0s"}, SLO: []string{"duplicate<=0"},
	}.Cases(t.Context())
	require.NoError(t, err)
	quick := runs[0].Plan
	require.Equal(t, []any{plan.Between(time.Second, 2*time.Second), "orders", false}, []any{quick.Delay, quick.Queue, quick.WarmupEnds})
	require.Equal(t, []string{"lost<=0", "duplicate<=0"}, []string{runs[0].SLO[0].String(), runs[0].SLO[1].String()})
}

// must is for what fails only in a broken tree or without its server.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
