package matrix_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/interop"
	"github.com/dq-bench/dq-bench/harness/internal/matrix"
)

func markdown(t *testing.T, m *matrix.Matrix) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, m.WriteMarkdown(&b))
	return b.String()
}

// three is a table of three releases that differ in a cell, in details and in second runs.
func three() *matrix.Matrix {
	m := sample()
	m.Columns[0].Interop[0].FirstRun = nil
	m.Columns[1].Err, m.Columns[1].Interop[0].Err = nil, nil
	m.Columns[0].Rows["DQ.offer/same"].FirstRun = ""
	middle := wire.Release{Major: 3, Minor: 52}
	side := interop.Side{Program: program.NewLibrary(library.DQ{Release: middle}), Release: middle}
	pass := result(conformance.Pass, "")
	m.Columns = []*matrix.Column{m.Columns[0], {
		Release: middle, Server: m.Columns[0].Server, Took: m.Columns[0].Took,
		Rows: map[string]*matrix.Row{
			"DQ.offer/same":  {Redisson: pass, DQ: absent("no dq.offer")},
			"DQ.offer/other": {Redisson: pass, DQ: pass, TraceDiffers: "3.52.0 sends one more\nline 2"},
		},
		Interop: []matrix.Shared{{Result: interop.Result{Case: interop.Case{ID: "interop/transfer"}, Writer: side, Reader: side}}},
	}, m.Columns[1]}
	// The same words at all: in a table of one release they are as in that of three.
	for _, c := range m.Columns {
		c.Rows["DQ.offer/other"].TraceDiffers = c.Release.String() + " sends one more"
	}
	return m
}

func TestInsertedColumnIsAsIfWrittenWithTheOthers(t *testing.T) {
	all := three()
	for i := range all.Columns {
		part, rest := *all, *all
		part.Columns = all.Columns[i : i+1]
		rest.Columns = append(append([]*matrix.Column{}, all.Columns[:i]...), all.Columns[i+1:]...)
		got, err := part.InsertInto(markdown(t, &rest))
		require.NoError(t, err)
		added := "Added 1970-01-01 00:00 UTC: " + all.Columns[i].Release.String() + ".\n\n"
		require.Contains(t, got, added)
		require.Equal(t, markdown(t, all), strings.Replace(got, added, "", 1))

		again, err := part.InsertInto(got)
		require.NoError(t, err)
		require.Equal(t, markdown(t, all), strings.ReplaceAll(again, added, ""), "a column takes the place of its own")
	}
}

func TestInsertIntoSomethingElse(t *testing.T) {
	_, err := three().InsertInto("# a table\n")
	require.ErrorContains(t, err, `expected a table that make matrix has written, found no "## Releases"`)
}
