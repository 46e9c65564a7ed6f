package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const printed = `goos: linux
BenchmarkBacklog-2   	       1	    120224 auto-msg/s	       300.5 exact-msg/s	         4.5 auto-longest-ms	 8 exact-longest-ms	 2 rate-ratio
BenchmarkCancel/equal-delays-2         	       1	       400.0 remove-ms	         0.5 ticket-ms	       800 time-ratio
BenchmarkCancel/equal-delays-2         	       1	       300.0 remove-ms	         0.5 ticket-ms	       600 time-ratio
PASS
`

func TestSamples(t *testing.T) {
	s := samples{}
	s.benchmarks(printed)
	require.Equal(t, "120,224/s, 350 and –",
		s.fill("{Backlog auto-msg/s}/s, {Cancel/equal-delays remove-ms} and {nothing}"))
	ratio, ok := s.figure("Cancel/equal-delays remove-ms : Cancel/equal-delays ticket-ms")
	require.True(t, ok)
	require.InDelta(t, 700, ratio, 1e-9)
	_, ok = s.figure("Backlog auto-msg/s : nothing")
	require.False(t, ok)
	require.Equal(t, []string{"0.0812", "999", "1,000", "1,234,567", "-12,345"},
		[]string{short(0.08123), short(999.4), short(999.9), short(1234567.2), short(-12345)})
}

// A target that is met, one that is missed and says why, and one that was not measured.
func TestPage(t *testing.T) {
	m := measured{samples: samples{}, missing: map[string]string{"burst": "there is no java here"}}
	m.samples.benchmarks(printed)
	page := m.section()
	for _, line := range []string{
		"|120,224/s, longest call 4.5 ms|300/s, 8 ms, its script|400×|≥100,000/s, ≤5 ms|met|",
		"|700×|≥1,000×|missed [",
		"|–|≤120 ms|not measured [3]|",
		"\n3. there is no java here\n",
		"LREM walks the list",
	} {
		require.Contains(t, page, line)
	}
}

// Each figure of the table is one that a benchmark of dq reports, or a run has.
func TestFiguresAreReported(t *testing.T) {
	var benchmarks strings.Builder
	for _, file := range []string{"backlog", "turns", "offer"} {
		text, err := os.ReadFile("../../../dq/" + file + "_bench_test.go")
		require.NoError(t, err)
		benchmarks.Write(text)
	}
	for _, r := range claimed() {
		figures := []string{}
		for _, found := range named.FindAllString(r.dq+r.other, -1) {
			figures = append(figures, found[1:len(found)-1])
		}
		for _, a := range r.aims {
			figure, _, _ := strings.Cut(strings.ReplaceAll(a, " >= ", " <= "), " <= ")
			figures = append(figures, strings.Split(figure, " : ")...)
		}
		for _, figure := range figures {
			words := strings.Fields(figure)
			if len(words) == 3 { // of a run
				require.Contains(t, []string{"dq", "redisson", "faithful"}, words[1])
				continue
			}
			name, _, _ := strings.Cut(words[0], "/")
			require.Contains(t, benchmarks.String(), "func Benchmark"+name+"(", figure)
			require.Contains(t, benchmarks.String(), strings.TrimPrefix(strings.TrimPrefix(words[1], "auto"), "exact")+`"`, figure)
		}
	}
}
