package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/report"
)

func newCompare() *call {
	c := newCall("compare", needs(1, many))
	o := compare.Options{}
	c.str(&o.By, "by", "")
	c.prints(true)
	c.yes(&o.Force, "force")
	c.check = func(paths []string) error {
		if o.By == "" && len(paths) < 2 {
			return errors.New("expected BASE and NEW, or --by with the runs to tell apart")
		}
		return compare.CheckBy(o.By)
	}
	return c.does(func(paths []string) error {
		var sets []compare.Set
		var errs []error
		for _, path := range paths {
			runs, err := compare.Read(c.Context(), path)
			sets, errs = append(sets, compare.Set{Name: path, Runs: runs}), append(errs, err)
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		result, err := compare.Sets(c.Context(), sets, o)
		if errors.Is(err, compare.ErrDiffer) {
			err = fmt.Errorf("%w; show them with --force", err)
		}
		if err != nil {
			return usageError(err)
		}
		page := report.OfComparison(result)
		return cmp.Or(errors.Join(c.report(page), c.shows(result, page.Text)), failed(result.Outcome == compare.Worse, "%s", result.Text))
	})
}
