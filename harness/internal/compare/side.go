package compare

import (
	"context"
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// MaxRuns is how many runs a side may have: more would tell nothing that these do not.
const MaxRuns = 200

// ReadSide reads the runs that path names: a run file, a folder that holds
// run.json files at any depth, or a glob of either. Links are followed, and each file is
// read once. The runs come in the order of their paths, MaxRuns at the most.
func ReadSide(path string) ([]*run.Document, error) {
	paths, err := run.Find(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if len(paths) > MaxRuns {
		return nil, fmt.Errorf("%s: expected at most %d runs a side, got %d: name the newest ones", path, MaxRuns, len(paths))
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

// CountRuns counts runs in words.
func CountRuns(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
