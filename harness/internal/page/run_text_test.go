package page

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestTextOfARun(t *testing.T) {
	r := runtest.Sample(1, 5000, 1)
	r.Labels = map[string]string{"host": "a", "branch": "b"}
	r.Notes = []string{"something to know"}
	r.Judge([]run.SLO{mustSLO(t, "lateness.p99<=1ms"), mustSLO(t, "lost<=0")})
	var out strings.Builder
	require.NoError(t, WriteRun(&out, r, nil))
	requireGolden(t, "run.txt", out.String())
}

func TestTextMarksTheEmbeddedServer(t *testing.T) {
	r := runtest.Sample(1, 10, 1)
	r.Server.Embedded = true
	var out strings.Builder
	require.NoError(t, WriteRun(&out, r, nil))
	require.Contains(t, out.String(), "EMBEDDED")
}

func TestTextOfARunWithoutDeliveries(t *testing.T) {
	r := runtest.Sample(1, 0, 1)
	r.Counts = run.Counts{OfferErrors: 7}
	r.Server, r.ServerStats = nil, nil
	require.False(t, r.Judge(nil).Passed)
	var out strings.Builder
	require.NoError(t, WriteRun(&out, r, nil))
	require.Contains(t, out.String(), "no message was accepted, 7 offers failed")
}

func mustSLO(t *testing.T, text string) run.SLO {
	t.Helper()
	slo, err := run.ParseSLO(text)
	require.NoError(t, err)
	return slo
}
