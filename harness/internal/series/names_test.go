package series_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestFolders(t *testing.T) {
	require.Equal(t, []string{"dq", "redisson-4.7.0", "dq-2", "dq-3.16.6-faithful", "exec-..-a-b"}, series.Folders([]series.Side{
		{Spec: "dq"}, {Spec: "redisson:4.7.0"}, {Spec: "dq"}, {Spec: "dq:3.16.6,faithful"}, {Spec: "exec:../a b"},
	}))
	for _, name := range series.Folders([]series.Side{{Spec: "dq", Redis: "redis://u:s3cret@a:1"}, {Spec: "dq", Redis: "redis://:s3cret@b:1"}}) {
		require.NotContains(t, name, "s3cret")
	}
}

// What tells two sides apart is in their names, and what is a password in none.
func TestNamesTellSidesApart(t *testing.T) {
	for _, row := range []struct {
		sides []series.Side
		want  []string
	}{
		{[]series.Side{{Spec: "dq"}, {Spec: "dq:3.16.6"}}, []string{"dq", "dq:3.16.6"}},
		{[]series.Side{{Spec: "dq", Redis: "redis://a"}, {Spec: "dq:3.16.6", Redis: "redis://b"}}, []string{"dq", "dq:3.16.6"}},
		{[]series.Side{{Spec: "dq"}, {Spec: "dq"}, {Spec: "dq"}}, []string{"dq", "dq (2)", "dq (3)"}},
		{
			[]series.Side{{Spec: "dq", Redis: "redis://127.0.0.1:7001"}, {Spec: "dq", Redis: "redis://u:s3cret@127.0.0.1:7002/3"}},
			[]string{"dq (127.0.0.1:7001)", "dq (127.0.0.1:7002)"},
		},
		{
			[]series.Side{{Spec: "dq", Redis: "redis+cluster://a:1,b:1"}, {Spec: "dq", Redis: "redis+sentinel://s/main"}, {Spec: "dq", Redis: "rediss://[::1]"}},
			[]string{"dq (a:1)", "dq (s:26379)", "dq ([::1]:6379)"},
		},
		{
			[]series.Side{{Spec: "dq", Redis: "redis://:s3cret@a:1/0"}, {Spec: "dq", Redis: "redis://:s3cret@a:1/1"}, {Spec: "dq", Redis: "redis://b:1"}},
			[]string{"dq (redis://:***@a:1/0)", "dq (redis://:***@a:1/1)", "dq (b:1)"},
		},
		{
			[]series.Side{{Spec: "dq", Redis: "redis://:s3cret@a:1"}, {Spec: "dq", Redis: "redis://:s3cre7@a:1"}},
			[]string{"dq", "dq (2)"},
		},
		{
			[]series.Side{{Spec: "dq", Redis: "container:redis:7.0"}, {Spec: "dq", Redis: "container:valkey/valkey:8"}, {Spec: "dq", Redis: "process:/opt/redis"}, {Spec: "dq", Redis: "process:/opt/redis-2"}},
			[]string{"dq (container:redis:7.0)", "dq (container:valkey/valkey:8)", "dq (process:/opt/redis)", "dq (process:/opt/redis-2)"},
		},
		{
			[]series.Side{{Spec: "dq", Redis: "redis://a"}, {Spec: "dq", Redis: "redis://b"}, {Spec: "memory", Redis: "redis://a"}, {Spec: "dq", Redis: "redis://a"}},
			[]string{"dq (a:6379)", "dq (b:6379)", "memory", "dq (a:6379) (2)"},
		},
	} {
		require.Equal(t, row.want, series.Names(row.sides))
	}
}

// onTwoServers is a case of one implementation on two servers that run already, and what ends the second.
func onTwoServers(t *testing.T) (c series.Case, addrs []string, kill func() error) {
	first, second := redistest.Process(t, "--requirepass", "s3cret"), redistest.Process(t, "--requirepass", "s3cret")
	d, err := spec.Parse("dq")
	require.NoError(t, err)
	c = series.Case{Run: shortCase()}
	for _, srv := range []string{first.URL(), second.URL()} {
		require.Contains(t, srv, "s3cret")
		c.Sides = append(c.Sides, series.Side{Spec: "dq", Redis: srv, Driver: d})
	}
	return c, []string{first.Addr, second.Addr}, second.Nodes()[0].Kill
}

// Two servers, of which one is killed, are told apart while they run and wherever it is written; and what is concluded of
// the run that this made invalid is what the comparison of the stored runs says.
func TestTwoServersBesideEachOtherAreToldApart(t *testing.T) {
	t.Parallel()
	c, addrs, kill := onTwoServers(t)
	c.Plan.Duration, c.Plan.DrainTimeout, c.Plan.Rate = 2*time.Second, 500*time.Millisecond, 100
	out, live := t.TempDir(), &load.Live{}
	var names []string
	o := series.Options{Out: out, Beside: true, Live: live, Progress: func(p load.Progress) {
		if p.Phase != plan.Measured || names != nil {
			return
		}
		for _, now := range live.Running() {
			require.True(t, now.Alike)
			names = append(names, now.Name)
		}
		require.NoError(t, kill())
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := series.Do(ctx, o, c, 1, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"dq (" + addrs[0] + ")", "dq (" + addrs[1] + ")"}, names)

	var sides [][]*run.Document
	for i, side := range result.Sides {
		require.Equal(t, names[i], side.Name)
		stored, err := compare.Read(t.Context(), side.Folder)
		require.NoError(t, err)
		require.Equal(t, addrs[i], stored[0].Server.Address)
		sides = append(sides, stored)
	}
	require.False(t, sides[1][0].Valid())

	var text strings.Builder
	require.NoError(t, result.Page().Text(&text))
	flat := strings.Join(strings.Fields(text.String()), " ")
	require.Contains(t, flat, "BASE "+names[0]+" (dq:4.7.0) on ")
	require.Contains(t, flat, "Left out. run "+sides[1][0].RunID+" of dq:4.7.0 of ")
	require.Contains(t, flat, "Compared: Inconclusive: a judgement needs 6 runs a side, here are 0 and 0.")
	html, err := os.ReadFile(filepath.Join(out, report.File))
	require.NoError(t, err)
	require.Contains(t, string(html), "BASE "+names[0]+" against NEW "+names[1])
	require.NotContains(t, text.String()+string(html), "s3cret")
}

// So are those that run by turns.
func TestTwoServersInTurnAreToldApart(t *testing.T) {
	t.Parallel()
	c, addrs, _ := onTwoServers(t)
	live := &load.Live{}
	names := map[string]bool{}
	result, err := series.Do(t.Context(), series.Options{Out: t.TempDir(), Live: live}, c, 1, func(series.Turn, *run.Document) {
		now := live.Running()[0]
		require.True(t, now.Alike)
		names[now.Name] = true
	})
	require.NoError(t, err)
	for i, side := range result.Sides {
		require.Equal(t, "dq ("+addrs[i]+")", side.Name)
		require.True(t, names[side.Name])
		require.Equal(t, addrs[i], side.Runs[0].Server.Address)
	}
}
