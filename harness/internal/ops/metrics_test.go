package ops

import (
	"bytes"
	"encoding/json"
	"errors"
	flags "flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/web"
)

var update = flags.Bool("update", false, "write the table of gauges to docs/operate.md")

const monitoring = "../../../docs/monitoring/"

// gathered are the values that a scrape gets, by metric and labels.
func gathered(t *testing.T, q *Desk) map[string]float64 {
	t.Helper()
	w := new(web.Families)
	q.WriteMetrics(w)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(w.Bytes()))
	require.NoError(t, err)
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = metric.GetGauge().GetValue()
		}
	}
	return values
}

func TestQueuesAreServedAsTheyWereSeenLast(t *testing.T) {
	t.Parallel()
	q := NewDesk(DeskOptions{})
	require.Empty(t, gathered(t, q), "nothing was looked at yet")

	q.Set(&Look{At: time.UnixMilli(1_700_000_060_000), Queues: []*Queue{
		{
			Name: "orders", Waiting: 3, Listed: 4, Overdue: 1, OldestMS: 59_500, StillSeconds: 2, Layouts: map[string]int64{"dLc0": 1, "Bc0Lc0": 2},
			Findings: []Finding{{Kind: "ghost", State: Yellow, Count: 1}},
		},
		{Name: "b\xff", Listeners: -1}, {Name: `b\xff`},
	}}, nil)
	values := gathered(t, q)
	for name, value := range map[string]float64{
		"dq_queues_up": 1, "dq_queues": 3, "dq_queues_last_seen_timestamp_seconds": 1_700_000_060,
		"dq_queue_waiting_members orders": 3, "dq_queue_listed_entries orders": 4, "dq_queue_delivered_still_seconds orders": 2,
		"dq_queue_overdue_seconds orders": 59.5, "dq_queue_members dLc0 orders": 1, "dq_queue_members Bc0Lc0 orders": 2,
		"dq_queue_findings ghost yellow orders": 1, `dq_queue_waiting_members b\xff`: 0, `dq_queue_waiting_members b\x5cxff`: 0,
		"dq_queue_subscribers orders": 0,
	} {
		require.Contains(t, values, name)
		require.InDelta(t, value, values[name], 1e-9, name)
	}
	require.NotContains(t, values, `dq_queue_subscribers b\xff`, "the number is unknown")

	q.Set(nil, errors.New("gone"))
	require.Equal(t, map[string]float64{"dq_queues_up": 0}, gathered(t, q), "nothing old is shown as if it were so")
}

// A server with a known hole on the path of blocked takes is named.
func TestServerHole(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{
		"8.6.0": 1, "8.6.2": 1, "8.6.3": 0, "8.6.10": 0, "8.4.2": 1, "8.4.3": 0, "8.2.5": 1, "8.2.6": 0, "8.0.6": 1, "7.4.8": 1, "7.4.9": 0, "7.2.0": 1, "7.2.14": 0, "7.0.15": 0, "8.8.0": 0,
	} {
		var l Look
		l.about(t.Context(), nil, "a:1", map[string]string{"redis_version": version})
		require.Len(t, l.Findings, want, version)
		l = Look{}
		l.about(t.Context(), nil, "a:1", map[string]string{"redis_version": version, "valkey_version": "9.0.0"})
		require.Empty(t, l.Findings, "Valkey")
	}
}

// The table of gauges in the documentation is that of the code.
func TestTableOfGauges(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("\n|gauge|meaning|\n|---|---|\n")
	for _, g := range append([]queueGauge{queuesUp, queuesSeen, queuesFound}, queueGauges...) {
		labels := ""
		if g.labels != "" {
			labels = "{" + g.labels + "}"
		}
		fmt.Fprintf(&table, "|`%s%s`|%s|\n", g.name, labels, g.help)
	}
	table.WriteString("\n")
	const file, begin, end = "../../../docs/operate.md", "<!-- gauges: go test ./harness/internal/ops -run Gauges -update -->\n", "<!-- /gauges -->\n"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+table.String()+end+after), 0o644))
		return
	}
	require.Equal(t, table.String(), have, "run 'go test ./harness/internal/ops -run Gauges -update' and look at what changed")
}

// Dashboard and alerts ask for nothing but what is served.
func TestDashboardAndAlertsKnowTheGauges(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, g := range append([]queueGauge{queuesUp, queuesSeen, queuesFound}, queueGauges...) {
		known[g.name] = true
	}
	guard := NewGuard(nil, GuardOptions{})
	guard.queueOf("orders").Delivered = 3
	w := new(web.Families)
	guard.WriteMetrics(w)
	require.Contains(t, string(w.Bytes()), `dq_guard_delivered_messages_total{queue="orders"} 3`)
	require.Equal(t, "dq-bench doctor --all", Command("doctor", "", "--all"))
	for _, name := range regexp.MustCompile(`\bdq_guard_[a-z_]+`).FindAllString(string(w.Bytes()), -1) {
		known[name] = true
	}
	asked := map[string]bool{}
	check := func(expression, where string) {
		names := regexp.MustCompile(`\bdq_[a-z_]+`).FindAllString(expression, -1)
		require.NotEmpty(t, names, where)
		for _, name := range names {
			require.True(t, known[name], "%s: %s", where, name)
			asked[name] = true
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	data, err := os.ReadFile(monitoring + "dashboard.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &dashboard))
	require.NotEmpty(t, dashboard.Panels)
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			check(target.Expr, panel.Title)
		}
	}
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	data, err = os.ReadFile(monitoring + "alerts.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &alerts))
	for _, rule := range alerts.Groups[0].Rules {
		check(rule.Expr, rule.Alert)
	}
	for _, name := range []string{"dq_guard_failing", "dq_queue_overdue_seconds", "dq_queue_findings", "dq_queue_subscribers"} {
		require.True(t, asked[name], name)
	}
}
