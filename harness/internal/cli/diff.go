package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// diffDocument is what `diff --json` prints.
type diffDocument struct {
	Schema    string       `json:"schema"`
	Identical bool         `json:"identical"`    // every case that could be compared means the same
	Tolerance float64      `json:"tolerance_ms"` // between the delays of an offer
	Files     []diffedFile `json:"files"`
}

// diffedFile has the cases of one file, or pair of files.
type diffedFile struct {
	File  string          `json:"file"`
	Cases []trace.Outcome `json:"cases"`
}

func newDiff() *call {
	c := newCall("diff", needs(2, 2))
	c.prints(false)
	return c.unpacks(func(paths []string) (err error) {
		d := diffDocument{Schema: "dq-bench/diff/v1", Tolerance: float64(trace.DefaultTolerance) / float64(time.Millisecond)}
		if d.Files, err = diffTrees(c.Context(), paths[0], paths[1]); err != nil {
			return err
		}
		text, cases, different := d.text()
		d.Identical = different == 0
		err = c.says(d, text)
		if err == nil && different > 0 {
			err = failure(fmt.Errorf("%d of %d cases differ", different, cases))
		}
		return err
	})
}

func diffTrees(ctx context.Context, leftPath, rightPath string) (files []diffedFile, err error) {
	left, err1 := trace.ReadTree(ctx, leftPath)
	right, err2 := trace.ReadTree(ctx, rightPath)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	names := maps.Clone(left)
	maps.Copy(names, right)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := left[name], right[name]
		file := diffedFile{File: name}
		if a == nil || b == nil {
			side := map[bool]string{true: "right", false: "left"}[a == nil]
			file.Cases = []trace.Outcome{{Finding: &trace.Finding{Meaning: "the recording " + name + " is only on the " + side}}}
		} else {
			if name == "." {
				file.File = a.Path + " and " + b.Path
			}
			if file.Cases, err = trace.Diff(a, b, trace.DefaultTolerance); err != nil {
				return nil, err
			}
		}
		files = append(files, file)
	}
	return files, nil
}

// text shows the findings, only the first one with its window, and counts the cases.
func (d *diffDocument) text() (text string, cases, different int) {
	var b strings.Builder
	declared := 0
	for _, f := range d.Files {
		cases += len(f.Cases)
		for _, c := range f.Cases {
			if c.Declared != "" {
				declared++
			}
			if c.Finding == nil {
				continue
			}
			where := f.File
			if c.Finding.Case != "" {
				where += ": " + c.Finding.Case
			}
			fmt.Fprintf(&b, "%s: different: %s\n", where, c.Finding.Meaning)
			if different == 0 && c.Finding.Window != "" {
				fmt.Fprintf(&b, "left line %d, right line %d:\n%s", c.Finding.LeftLine, c.Finding.RightLine, c.Finding.Window)
			}
			different++
		}
	}
	if different == 0 {
		fmt.Fprintf(&b, "same behaviour in %d cases; delays within %v\n", cases-declared, trace.DefaultTolerance)
	}
	if declared > 0 {
		fmt.Fprintf(&b, "not compared: %d cases that a recording declares absent, or not the same each time\n", declared)
	}
	return b.String(), cases, different
}

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
		err = errors.Join(c.report(page), c.shows(result, page.Text))
		if err == nil && result.Outcome == compare.Worse {
			err = failure(errors.New(result.Text))
		}
		return err
	})
}
