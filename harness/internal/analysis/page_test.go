package analysis_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
)

// recorded is what a log says in which much went wrong.
func recorded(t *testing.T) *analysis.Document {
	t.Helper()
	d := analyse(t, "4.7.0/DQ.transfer.monitor")
	require.NotEmpty(t, d.Anomalies)
	return d
}

func TestAnalysisTextFitsATerminal(t *testing.T) {
	d := recorded(t)
	var out strings.Builder
	require.NoError(t, d.WriteText(&out))
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 100, line)
	}
	for _, part := range []string{"\nRedisson 3.21.1 to ", "late", "\npoison-loop     \"orders\"  2026-", "line 1181: "} {
		require.Contains(t, out.String(), part)
	}
}

func TestAnalysisTextOfNothing(t *testing.T) {
	var out strings.Builder
	require.NoError(t, analysis.New().Document().WriteText(&out))
	require.Contains(t, out.String(), "sent nothing for a delayed queue")
	require.Contains(t, out.String(), "no anomaly")
}

// The page shows each anomaly, and takes no name for anything but text.
func TestAnalysisPage(t *testing.T) {
	d := recorded(t)
	d.Queues[0].Name = "<script>alert(1)</script>"
	d.Anomalies[0].Detail = `<img src="x" onerror="alert(1)">`
	var out strings.Builder
	require.NoError(t, d.Page().Write(&out))
	html := out.String()
	require.NotContains(t, html, "<script>alert")
	require.NotContains(t, html, "<img")
	require.Contains(t, html, "default-src &#39;none&#39;")
	require.Equal(t, len(d.Anomalies), strings.Count(html, "<details>"))
	out.Reset()
	require.NoError(t, d.Page().Markdown(&out))
	require.Contains(t, out.String(), "| poison-loop | ")
}
