package conformance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/scenarios"
)

// README and the guide for ports say which recording judges which release.
func TestREADMEClaim(t *testing.T) {
	sections, oracle := loaded()
	cases := Select(sections, nil)
	uncompared := len(slices.DeleteFunc(slices.Clone(cases), func(c *Case) bool { return c.Trace == "" }))
	beyond, err := Load(scenarios.Conformance, "beyond")
	require.NoError(t, err)
	var text strings.Builder
	for _, file := range []string{"../../../README.md", "../../../docs/port.md"} {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		text.Write(content)
	}
	documents := strings.Join(strings.Fields(text.String()), " ")
	releases, recorded := len(wire.Releases()), len(oracle.Releases())
	for _, claim := range []string{
		fmt.Sprintf("byte for byte, for Redisson %s to %s", wire.Releases()[0], wire.Newest()),
		fmt.Sprintf("%d cases, recorded from %d releases", len(cases), recorded),
		fmt.Sprintf("Of %d releases with `RDelayedQueue`, %d are recorded", releases, recorded),
		fmt.Sprintf("The other %d are judged", releases-recorded),
		fmt.Sprintf("and %d at every release", uncompared),
		fmt.Sprintf("runs %d cases, and %d more at the level `state`", len(cases), len(Select(beyond, nil))),
	} {
		require.Contains(t, documents, claim)
	}
	var pass, skip int
	_, _ = fmt.Sscanf(documents[strings.Index(documents, " passed, 0 failed, 0 failed as expected, ")-3:], "%d passed, 0 failed, 0 failed as expected, %d skipped", &pass, &skip)
	require.Equal(t, len(cases)+len(Select(beyond, nil)), pass+skip, "the example of docs/port.md")
}
