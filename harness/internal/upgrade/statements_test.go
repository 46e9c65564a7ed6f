package upgrade

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/scenarios"
)

// What a fact cites is joined by cases that are there.
func TestFactsNameCases(t *testing.T) {
	sections, err := conformance.Load(scenarios.Conformance, "conformance")
	require.NoError(t, err)
	for _, f := range slices.Concat(facts, codecFacts()) {
		for _, pattern := range slices.Concat(f.cases, f.meets) {
			if f.what == "codec fst" { // which no case knows
				continue
			}
			found := conformance.Select(sections, func(id string) bool { return matches([]string{pattern}, id) })
			require.NotEmpty(t, found, "%s: no case is called %s", f.what, pattern)
		}
	}
}

// Between any two releases that follow each other, a change that cases show cites statements,
// and none that has nothing to do with it.
func TestChangesCiteStatements(t *testing.T) {
	all := wire.Releases()
	for i, to := range all[1:] {
		from := all[i]
		if from.Major == 2 != (to.Major == 2) {
			continue
		}
		differ := spec.All().Between(from, to)
		for _, f := range factsBetween(from, to) {
			shown := !slices.Contains([]string{"the tick of timers", "codec fst", "the timer", "an offer without an answer"}, f.What) // of which there are no cases
			if strings.HasPrefix(f.What, codecNamed) && to.Major == 3 && to.Minor == 11 {
				shown = false // the cases begin where the codec is the default
			}
			require.Equal(t, shown, len(f.Statements) > 0, "%s → %s: %s", from, to, f.What)
		}
		for _, s := range scriptsBetween(from, to) {
			require.NotEmpty(t, s.Statements, "%s → %s: %s", from, to, s.Name)
		}
		require.Len(t, statementsBetween(from, to), len(differ))
	}
	c := between(t, "3.21.0", "3.21.1")
	require.Equal(t, "W-FAULT-1, W-FAULT-2, W-FAULT-3, W-FAULT-4, W-MEMBER-1, W-MEMBER-2, W-MEMBER-3, W-MEMBER-4", spec.IDs(c.Facts[0].Statements))
	var only []string
	for _, s := range c.Statements {
		only = append(only, s.ID+" "+s.Holds)
	}
	require.Equal(t, []string{"W-MEMBER-1 3.21.0", "W-MEMBER-2 3.21.1", "W-MEMBER-3 3.21.0", "W-MEMBER-4 3.21.1"}, only)
	require.Contains(t, c.Text(), "  members.md      W-MEMBER-1 (3.21.0), W-MEMBER-2 (3.21.1),")
}

// A behaviour cites what the case shows of the release that has it, and not of the other.
func TestBehaviourCitesWhatItsReleaseDoes(t *testing.T) {
	for _, one := range between(t, "3.41.0", "3.46.0").Behaviour {
		require.NotEmpty(t, one.Statements, one.Case)
		if one.Case == "DQ.script/miss-is-loaded" {
			require.Equal(t, "W-SCRIPT-4, W-SCRIPT-5", spec.IDs(one.Statements))
		}
	}
}
