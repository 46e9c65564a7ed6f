package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// Real Redissons test the rules: none may speak on any recorded case of a release for which its statement holds.
func TestRulesAreSilentOnRecordings(t *testing.T) {
	sections, oracle := loaded()
	judged, seen := 0, map[string]int{}
	for _, release := range oracle.Releases() {
		for _, c := range Select(sections, nil) {
			lines, _, ok := oracle.Case(release, c.ID)
			if !ok || len(lines) == 0 {
				continue
			}
			judged++
			timeline := trace.NewTimeline(c.names())
			for _, b := range breaches(timeline, lines, func(peer string) bool { return !byHarness(lines)[peer] }, release, lines[len(lines)-1].Time) {
				t.Errorf("%s %s: %s: %s: %.300s", release, c.ID, b.Statement, b.Text, b.Line.Text())
			}
			for statement, n := range timeline.Seen {
				seen[statement] += n
			}
		}
	}
	require.Greater(t, judged, 2500)
}

// byHarness are the peers that write what waits by plain commands, as the steps of cases do and no Redisson does.
func byHarness(lines []trace.Line) map[string]bool {
	peers := map[string]bool{}
	for _, l := range lines {
		if !l.Inner() && len(l.Args) > 1 && (l.Name() == "zadd" || l.Name() == "rpush") && strings.HasPrefix(l.Args[1], "redisson_delay_queue") {
			peers[l.Peer] = true
		}
	}
	return peers
}

// A case with late reactions only runs once more. Other failures are judged at once.
func TestOnlyLateReactionsRunAgain(t *testing.T) {
	late, wrong := trace.Breach{Statement: "W-START-2", Late: true}, trace.Breach{Statement: "W-OFFER-4"}
	for _, broken := range [][]trace.Breach{{late}, {late, wrong}, {}} {
		r := Result{Status: Fail, Observation: Observation{Broken: broken}, Detail: strings.Join(textsOf(broken), "\n")}
		require.Equal(t, len(broken) == 1, r.onlyLate(), "%v", broken)
		r.Detail += "\nan answer"
		require.False(t, r.onlyLate(), "%v", broken)
	}
}
