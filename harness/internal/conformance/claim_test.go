package conformance

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// stretch is a row of releases at which no recording judges some cases.
type stretch struct {
	first, last  wire.Release
	fewest, most int
}

func (s stretch) String() string {
	cases := fmt.Sprint(s.most)
	if s.fewest != s.most {
		cases = fmt.Sprintf("%d to %d", s.fewest, s.most)
	}
	return fmt.Sprintf("%s at %s to %s", cases, s.first, s.last)
}

// stretches counts, release by release, the cases that no recording can judge.
func stretches(t *testing.T, cases []*Case, oracle *Oracle) (all []stretch) {
	t.Helper()
	open := false
	for _, release := range wire.Releases() {
		left := 0
		for _, c := range cases {
			if c.HoldsFor(release) {
				source, err := oracle.source(c, release)
				require.NoError(t, err)
				if source.missing != "" {
					left++
				}
			}
		}
		if left == 0 {
			open = false
			continue
		}
		if !open {
			all = append(all, stretch{first: release, fewest: left})
		}
		open = true
		s := &all[len(all)-1]
		s.last, s.fewest, s.most = release, min(s.fewest, left), max(s.most, left)
	}
	return all
}

// README and the guide for ports say which recording judges which release.
func TestREADMEClaim(t *testing.T) {
	sections, oracle := loadAll(t)
	cases := Select(sections, nil)
	uncompared := 0
	for _, c := range cases {
		if c.Trace != "" {
			uncompared++
		}
	}
	var text strings.Builder
	for _, file := range []string{"../../../README.md", "../../../docs/port.md"} {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		text.Write(content)
	}
	documents := strings.Join(strings.Fields(text.String()), " ")
	releases, recorded := len(wire.Releases()), len(oracle.Releases())
	var parts []string
	for _, s := range stretches(t, cases, oracle) {
		parts = append(parts, s.String())
	}
	parts[0] = strings.Replace(parts[0], " at ", " cases at ", 1)
	for _, claim := range []string{
		fmt.Sprintf("byte for byte, for Redisson %s to %s", wire.Releases()[0], wire.Newest()),
		fmt.Sprintf("%d cases, recorded from %d releases", len(cases), recorded),
		fmt.Sprintf("Of %d releases with `RDelayedQueue`, %d are recorded", releases, recorded),
		fmt.Sprintf("The other %d are judged", releases-recorded),
		"alone are judged " + strings.Join(parts, ", ") + ",",
		fmt.Sprintf("and %d at every release", uncompared),
	} {
		require.Contains(t, documents, claim)
	}
}
