package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/run"
)

// ReadSide reads the runs that path names: a run file, a folder that holds
// run.json files at any depth, or a glob of either. Links are followed, and each file is
// read once. The runs come in the order of their paths.
func ReadSide(path string) ([]*run.Document, error) {
	paths, err := run.Find(context.Background(), path)
	if err != nil {
		return nil, err
	}
	var runs []*run.Document
	var errs []error
	for _, p := range paths {
		r, err := run.ReadFile(p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		runs = append(runs, r)
	}
	return runs, errors.Join(errs...)
}

// unfit says why a run can be compared with nothing; empty if it can.
func unfit(r *run.Document) string {
	name := fmt.Sprintf("run %s of %s of %s", r.RunID, r.Driver, r.Started.Format(time.RFC3339))
	switch {
	case r.Interrupted:
		return name + ": it was interrupted"
	case !r.Valid():
		return name + ": it is invalid: " + strings.Join(r.Validity.Reasons, "; ")
	case r.Worker != nil:
		return name + ": it is that of one of several workers; merge them first"
	}
	return ""
}

// CountRuns counts runs in words.
func CountRuns(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
