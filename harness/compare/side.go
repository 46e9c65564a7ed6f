package compare

import (
	"context"
	"errors"
	"fmt"

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

// CountRuns counts runs in words.
func CountRuns(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
