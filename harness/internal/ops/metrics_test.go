package ops

import (
	"errors"
	flags "flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// Age has the values that a Doctor remembers stand still for longer.
func Age(d *Doctor, by time.Duration) {
	for _, q := range d.still {
		q.since = q.since.Add(-by)
	}
}

var update = flags.Bool("update", false, "write the table of gauges to docs/operate.md")

func scraped(what interface{ WriteMetrics(w *web.Families) }) string {
	w := new(web.Families)
	what.WriteMetrics(w)
	return string(w.Bytes())
}

// wholeDesk has seen a queue with a value of each gauge.
func wholeDesk() *Desk {
	d := NewDesk(DeskOptions{})
	d.Set(&Look{At: time.UnixMilli(1_700_000_060_000), Queues: []*Queue{
		{
			Name: "orders", Waiting: 3, Listed: 4, Overdue: 1, OldestMS: 59_500, StillSeconds: 2, Layouts: map[string]int64{"dLc0": 1, "Bc0Lc0": 2},
			Findings: []Finding{{Kind: "ghost", State: Yellow, Count: 1}},
		},
		{Name: "b\xff", Listeners: -1}, {Name: `b\xff`},
	}}, nil)
	return d
}

func TestQueuesAreServedAsTheyWereSeenLast(t *testing.T) {
	t.Parallel()
	require.Empty(t, scraped(NewDesk(DeskOptions{})), "nothing was looked at yet")
	d := wholeDesk()
	seen := scraped(d)
	for _, line := range []string{
		"dq_queues_up 1", "dq_queues 3", "dq_queues_last_seen_timestamp_seconds 1.70000006e+09",
		`dq_queue_waiting_members{queue="orders"} 3`, `dq_queue_listed_entries{queue="orders"} 4`, `dq_queue_delivered_still_seconds{queue="orders"} 2`,
		`dq_queue_overdue_seconds{queue="orders"} 59.5`, `dq_queue_members{layout="dLc0",queue="orders"} 1`, `dq_queue_members{layout="Bc0Lc0",queue="orders"} 2`,
		`dq_queue_findings{kind="ghost",state="yellow",queue="orders"} 1`, `dq_queue_waiting_members{queue="b\\xff"} 0`, `dq_queue_waiting_members{queue="b\\x5cxff"} 0`,
		`dq_queue_subscribers{queue="orders"} 0`,
	} {
		require.Contains(t, seen, "\n"+line+"\n")
	}
	require.NotContains(t, seen, `dq_queue_subscribers{queue="b\\xff"}`, "the number is unknown")
	d.Set(nil, errors.New("gone"))
	require.Contains(t, scraped(d), "dq_queues_up 0\n")
	require.NotContains(t, scraped(d), "orders", "nothing old is shown as if it were so")
}

// A server with a known hole on the path of blocked takes is named.
func TestServerHole(t *testing.T) {
	t.Parallel()
	server := redistest.Embedded(t).Conn()
	t.Cleanup(func() { _ = server.Close() })
	for version, want := range map[string]int{
		"8.6.0": 1, "8.6.2": 1, "8.6.3": 0, "8.6.10": 0, "8.4.2": 1, "8.4.3": 0, "8.2.5": 1, "8.2.6": 0, "8.0.6": 1, "7.4.8": 1, "7.4.9": 0, "7.2.0": 1, "7.2.14": 0, "7.0.15": 0, "8.8.0": 0,
	} {
		var l Look
		l.about(t.Context(), server, "a:1", map[string]string{"redis_version": version})
		require.Len(t, l.Findings, want, version)
		l = Look{}
		l.about(t.Context(), server, "a:1", map[string]string{"redis_version": version, "valkey_version": "9.0.0"})
		require.Empty(t, l.Findings, "Valkey")
	}
}

func TestTableOfGauges(t *testing.T) {
	t.Parallel()
	table := "\n|gauge|meaning|\n|---|---|\n"
	family := regexp.MustCompile(`# HELP (\S+) (.*)\n.*\n[^{ ]*(?:\{([^}]*)\})?`)
	values := regexp.MustCompile(`="[^"]*"|,?queue="[^"]*"`)
	for _, m := range family.FindAllStringSubmatch(scraped(wholeDesk()), -1) {
		table += "|`" + m[1] + strings.TrimSuffix("{"+strings.ReplaceAll(values.ReplaceAllString(m[3], ""), ",", ", ")+"}", "{}") + "`|" + m[2] + "|\n"
	}
	const file = "../../../docs/operate.md"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	section := regexp.MustCompile(`(?s)(<!-- gauges: .*? -->\n).*(<!-- /gauges -->\n)`)
	require.True(t, section.Match(data))
	want := section.ReplaceAllString(string(data), "${1}"+table+"\n${2}")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(data), "run 'go test ./harness/internal/ops -run Gauges -update' and look at what changed")
}

// Dashboard and alerts ask for nothing but what is served.
func TestDashboardAndAlertsKnowTheGauges(t *testing.T) {
	t.Parallel()
	guard := NewGuard(nil, GuardOptions{})
	guard.queueOf("orders").Delivered = 3
	known := scraped(guard) + scraped(wholeDesk())
	require.Contains(t, known, `dq_guard_delivered_messages_total{queue="orders"} 3`)
	all := regexp.MustCompile(`\bdq_[a-z_]+`)
	for file, some := range map[string][]string{"dashboard.json": {"dq_queue_waiting_members"}, "alerts.yaml": {"dq_guard_failing", "dq_queue_overdue_seconds", "dq_queue_findings", "dq_queue_subscribers"}} {
		data, err := os.ReadFile("../../../docs/monitoring/" + file)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(data, new(any)), file)
		asked := all.FindAllString(string(data), -1)
		require.Subset(t, all.FindAllString(known, -1), asked, file)
		require.Subset(t, asked, some, file)
	}
}

func changesOf(t *testing.T, from, to string) *Changes {
	t.Helper()
	a, err := wire.LookupRelease(from)
	require.NoError(t, err)
	b, err := wire.LookupRelease(to)
	require.NoError(t, err)
	return ChangesBetween(a, b)
}

// The text of each change, and no other change's: "!" marks text that is absent.
func TestChanges(t *testing.T) {
	t.Parallel()
	const there, back = "need a migration or a guard", "EVALSHA, EVALSHA_RO for what only reads"
	for _, c := range []struct {
		from, to string
		facts    int // 0: not counted
		says     []string
	}{
		{"4.0.0", "4.7.0", 0, []string{"codec marshalling: included → not included", "!Jackson"}},
		{"3.50.0", "3.52.0", -1, []string{"each reads what the other has written.", "!2. "}},
		{"3.18.0", "3.19.0", 0, []string{"need a step", "!guard"}},
		{"3.21.0", "3.21.1", 1, []string{there, "dq-bench doctor QUEUE --release 3.21.1", "dq-bench migrate QUEUE --to 3.21.1", "layout of members: dLc0 → Bc0Lc0 (3.21.1)"}},
		{"3.21.1", "3.21.0", 1, []string{there, "dq-bench doctor QUEUE --release 3.21.0", "dq-bench migrate QUEUE --to 3.21.0", "layout of members: Bc0Lc0 → dLc0 (3.21.1)"}},
		{"3.16.6", "3.19.0", 0, []string{"name the one that 3.16.6 uses by default (marshalling)"}},
		{"3.16.6", "4.0.0", 0, []string{"bring the jars of JBoss Marshalling"}},
		{"3.9.1", "3.10.0", 0, []string{"Replace 3.9.1 by 3.10.0"}},
		{"3.16.6", "4.7.0", 0, []string{"4.7.0 has no codec that reads its values (marshalling)", "dq-bench migrate QUEUE --codec marshalling:kryo5 --release 3.16.6:4.7.0",
			back, "nothing is delivered any more", "one more argument", "refused it before", "!must be allowed EVAL.", "!still delivers once", "!one argument less", "!refuses it"}},
		{"4.7.0", "3.16.6", 0, []string{"must be allowed EVAL.", "still delivers once", "one argument less", "refuses it",
			"!" + back, "!nothing is delivered any more", "!one more argument", "!refused it before"}},
		{"4.0.0", "4.1.0", 0, []string{"each reads what the other has written, except if the code names a codec that 4.1.0 lacks: marshalling, fst.",
			"If the code names the codec marshalling, let 4.0.0 deliver everything: 4.1.0 lacks it; or stop all clients and rewrite the values: dq-bench migrate QUEUE --codec marshalling:kryo5 --release 4.0.0:4.1.0, and with --yes to do it.",
			"If the code names the codec fst, let 4.0.0 deliver everything: 4.1.0 lacks it.", "Replace 4.0.0 by 4.1.0"}},
		{"3.45.1", "3.46.0", 0, []string{"RDelayedQueue: supported → deprecated (3.46.0)", "getReliableQueue(), throws UnsupportedOperationException"}},
		{"3.52.0", "4.0.0", 0, []string{"the jar of Jackson: a dependency → not a dependency (4.0.0)", "NoClassDefFoundError"}},
		{"3.16.3", "3.16.4", 0, []string{"an offer without an answer: is sent again after a time-out → is sent once (3.16.4)"}},
		{"3.45.1", "3.45.0", 0, []string{"the timer: is kept → can be lost (3.45.1)"}},
	} {
		changes := changesOf(t, c.from, c.to)
		text := strings.Join(strings.Fields(changes.Text()), " ")
		for _, part := range c.says {
			if absent, is := strings.CutPrefix(part, "!"); is {
				require.NotContains(t, text, absent, "%s %s", c.from, c.to)
			} else {
				require.Contains(t, text, part, "%s %s", c.from, c.to)
			}
		}
		if c.facts != 0 {
			require.Len(t, changes.Facts, max(c.facts, 0))
			require.Equal(t, c.facts > 0, len(changes.Scripts) > 0)
		}
	}
	all := strings.Join(changesOf(t, "3.16.6", "4.7.0").Steps, "\n")
	require.Less(t, strings.Index(all, "let 3.16.6 deliver everything"), strings.Index(all, "dq-bench migrate"), "afterwards it delivers nothing any more")
	require.True(t, changesOf(t, "4.0.0", "4.7.0").Facts[0].Stops, "a queue that names the codec stops")
}

// Each two releases that follow each other and of which something changed, and the ends.
func TestEveryChangeIsToldOf(t *testing.T) {
	t.Parallel()
	all := wire.Releases()
	pairs := [][2]wire.Release{{all[0], all[len(all)-1]}, {all[len(all)-1], all[0]}}
	for i, to := range all[1:] {
		if from := all[i]; from.Major == 2 == (to.Major == 2) && len(factsBetween(from, to))+len(scriptsBetween(from, to)) > 0 {
			pairs = append(pairs, [2]wire.Release{from, to})
		}
	}
	require.Greater(t, len(pairs), 10)
	for i, pair := range pairs {
		c := ChangesBetween(pair[0], pair[1])
		for _, f := range c.Facts {
			if i >= 2 {
				require.Equal(t, pair[1].String(), f.Came, f.What)
			}
		}
		for line := range strings.Lines(c.Text()) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
		}
	}
}

// The POMs of the releases are asked which of them bring Jackson.
func TestJarOfJackson(t *testing.T) {
	t.Parallel()
	redistest.Redisson(t, "3.52.0", "4.0.0")
	for version, brings := range map[string]bool{"3.52.0": true, "4.0.0": false} {
		r, err := wire.LookupRelease(version)
		require.NoError(t, err)
		jars, err := redisson.Jars(t.Context(), r, func(line string) { t.Log(line) })
		require.NoError(t, err)
		own := slices.IndexFunc(jars, func(jar string) bool { return strings.HasSuffix(jar, "redisson-"+version+".jar") })
		require.GreaterOrEqual(t, own, 0)
		pom, err := os.ReadFile(strings.TrimSuffix(jars[own], ".jar") + ".pom")
		require.NoError(t, err)
		for block := range strings.SplitSeq(string(pom), "<dependency>") {
			block, _, _ = strings.Cut(block, "</dependency>")
			if strings.Contains(block, "com.fasterxml") && strings.Contains(block, "jackson-databind") {
				require.Equal(t, brings, !strings.Contains(block, "<optional>true"), version)
			}
		}
	}
}
