package matrix_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/interop"
	"github.com/dq-bench/dq-bench/harness/internal/matrix"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func result(status conformance.Status, detail string) conformance.Result {
	return conformance.Result{Status: status, Detail: detail}
}

func absent(what string) conformance.Result {
	return conformance.Result{Status: conformance.Skip, Detail: what, Absent: what}
}

func TestCell(t *testing.T) {
	pass, skip := result(conformance.Pass, ""), result(conformance.Skip, "it holds for others")
	for _, c := range []struct {
		want   matrix.Cell
		row    matrix.Row
		detail string
	}{
		{matrix.Identical, matrix.Row{Redisson: pass, DQ: pass}, ""},
		{matrix.SameState, matrix.Row{Redisson: pass, DQ: pass, NotCompared: "it depends on timing"}, ""},
		{matrix.Differs, matrix.Row{Redisson: pass, DQ: pass, TraceDiffers: "a missing PUBLISH"}, "a missing PUBLISH"},
		{matrix.Elsewhere, matrix.Row{Redisson: skip, DQ: skip}, ""},
		{matrix.Unavailable, matrix.Row{Redisson: pass, DQ: absent("no dq.rename")}, "dq: skip: no dq.rename\n"},
		{matrix.Known, matrix.Row{Redisson: pass, DQ: result(conformance.FailedAsExpected, "because")}, "dq: failed-as-expected: because\n"},
		{matrix.Failure, matrix.Row{Redisson: result(conformance.Fail, "no"), DQ: pass}, "Redisson: fail: no\n"},
		{matrix.Broken, matrix.Row{Redisson: pass, DQ: result(conformance.Error, "gone")}, "dq: error: gone\n"},
	} {
		require.Equal(t, c.want, c.row.Cell())
		require.Equal(t, c.detail, c.row.Detail(), c.want)
	}
}

func sample() *matrix.Matrix {
	pass := result(conformance.Pass, "")
	cases := []*conformance.Case{
		{ID: "DQ.offer/same", Requirement: "It is the same."},
		{ID: "DQ.offer/other", Requirement: "It is something else."},
	}
	column := func(r wire.Release, differs string) *matrix.Column {
		side := interop.Side{Program: program.NewLibrary(library.DQ{Release: r}), Release: r}
		return &matrix.Column{
			Release: r, Server: "redis 7.0.15 (process)", Took: 90 * time.Second,
			Rows: map[string]*matrix.Row{
				"DQ.offer/same":  {Redisson: pass, DQ: pass, FirstRun: "dq: fail: late\nvery"},
				"DQ.offer/other": {Redisson: pass, DQ: pass, TraceDiffers: differs},
			},
			Interop: []matrix.Shared{{Result: interop.Result{Case: interop.Case{ID: "interop/transfer"}, Writer: side, Reader: side}}},
		}
	}
	old, recent := wire.Release{Major: 3, Minor: 16, Patch: 6}, wire.Release{Major: 4, Minor: 7, Patch: 0}
	m := &matrix.Matrix{Started: time.Unix(0, 0).UTC(), Cases: cases, Columns: []*matrix.Column{
		column(old, "3.16.6 sends one more\nline 1"), column(recent, "4.7.0 sends one more\nline 2"),
	}}
	m.Columns[0].Interop[0].FirstRun = errors.New("too late")
	m.Columns[1].Err = errors.New("out of\ntime")
	m.Columns[1].Interop[0].Err = errors.New("expected a value, got none")
	return m
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	require.NoError(t, sample().WriteMarkdown(&b))
	text := b.String()
	for _, line := range []string{
		"| 3.16.6 | `dLc0` | 2 / 0 / 0 / 0 | 2 / 0 / 0 / 0 | 1 | 0 | 1 | 1/1 | 1m30s |",
		"| 4.7.0 | `Bc0Lc0` | 2 / 0 / 0 / 0 | 2 / 0 / 0 / 0 | 1 | 0 | 1 | 0/1 | 1m30s |",
		"| DQ.offer/same | T | T |",
		"| DQ.offer/other | d | d |",
		"| interop/transfer, dq | + | X |",
		"- interop/transfer at 3.16.6. The first run: too late",
		"- DQ.offer/same at 3.16.6. The first run: dq: fail: late",
		"The column of 4.7.0 is not complete: out of time",
		"**DQ.offer/other**, `d` at 3.16.6, 4.7.0. It is something else.",
		"    <release> sends one more",
		"    expected a value, got none",
	} {
		require.Contains(t, text, line+"\n")
	}
}

func TestFailed(t *testing.T) {
	require.Equal(t, 4, sample().Failed(), "two cells that differ, a column, a case at a shared queue")
}

func TestWithoutJavaThereIsNoMatrix(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	srv := redistest.Embedded(t)
	plan := matrix.Plan{
		Releases: []wire.Release{wire.Newest()}, Redis: srv.URL(), Parallel: 1, ColumnTimeout: time.Minute,
		Notice: func(line string) { t.Log(line) },
	}
	_, err := plan.Run(t.Context())
	require.ErrorIs(t, err, redisson.ErrToolchain)
	require.ErrorContains(t, err, fmt.Sprint(wire.Newest()))
}
