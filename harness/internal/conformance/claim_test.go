package conformance

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

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
	for _, claim := range []string{
		fmt.Sprintf("byte for byte, for Redisson %s to %s", wire.Releases()[0], wire.Newest()),
		fmt.Sprintf("%d cases, recorded from %d releases", len(cases), recorded),
		fmt.Sprintf("Of %d releases with `RDelayedQueue`, %d are recorded", releases, recorded),
		fmt.Sprintf("The other %d are judged", releases-recorded),
		fmt.Sprintf("and %d at every release", uncompared),
	} {
		require.Contains(t, documents, claim)
	}
}
