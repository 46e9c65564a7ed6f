// Package matrix answers: at which releases does dq do what Redisson does?
//
// For each release it runs the conformance cases against the real Redisson and
// against dq at that release, on one server, and compares the two case by case:
// the replies and keys that a case expects, and then every command that the server
// saw. The same two then share a queue. No cell is taken from a recording.
package matrix

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/interop"
)

// DefaultReleases are the columns: the ends of the two lines, the release of the
// documents, and both sides of each change that shows on the wire; and what was adopted.
var DefaultReleases = strings.Fields(releasesText)

//go:embed releases.txt
var releasesText string

// Plan is a whole matrix to run.
type Plan struct {
	Releases []wire.Release
	Cases    []*conformance.Case
	// Redis is the value of --redis, no address: each column starts a server of its
	// own.
	Redis string
	// Parallel is the number of columns that run at once, at least 1.
	Parallel int
	// ColumnTimeout bounds a column, the build of its driver included.
	ColumnTimeout time.Duration
	// Notice gets a line at a time about the progress, from many goroutines.
	Notice func(string)
}

// Matrix is the outcome.
type Matrix struct {
	Started time.Time
	Took    time.Duration
	Cases   []*conformance.Case
	// Columns are in the order of the plan.
	Columns []*Column
}

// Column is the outcome at one release.
type Column struct {
	Release wire.Release
	// Server names product, version and kind of the server.
	Server string
	// Rows are by the id of their case.
	Rows map[string]*Row
	// Interop are the cases at a shared queue, those with a release across 3.21.1
	// included.
	Interop []Shared
	// Err is why the column is not complete; nil for one that is.
	Err  error
	Took time.Duration
}

// Shared is the outcome of a case at a shared queue.
type Shared struct {
	interop.Result
	// FirstRun says what went wrong before this, its second run; nil for a case that
	// has run once.
	FirstRun error
}

// Run runs all columns. Its error says that none of them can be had or that ctx
// ended; what is wrong with one release is part of its column.
func (p *Plan) Run(ctx context.Context) (*Matrix, error) {
	m := &Matrix{Started: time.Now().UTC(), Cases: p.Cases, Columns: make([]*Column, len(p.Releases))}
	var columns sync.WaitGroup
	slots := make(chan struct{}, max(p.Parallel, 1))
	for i, release := range p.Releases {
		slots <- struct{}{}
		columns.Go(func() {
			defer func() { <-slots }()
			m.Columns[i] = p.column(ctx, release)
		})
	}
	columns.Wait()
	m.Took = time.Since(m.Started)
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	var errs []error
	for _, c := range m.Columns {
		if len(c.Rows) > 0 || c.Err == nil {
			return m, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", c.Release, c.Err))
	}
	return m, errors.Join(errs...)
}

// Failed returns the number of cells that show a failure, a difference or an
// error, columns that are not complete included.
func (m *Matrix) Failed() int {
	n := 0
	for _, c := range m.Columns {
		if c.Err != nil {
			n++
		}
		for _, row := range c.Rows {
			if row.bad() {
				n++
			}
		}
		for _, r := range c.Interop {
			if r.Err != nil {
				n++
			}
		}
	}
	return n
}
