package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/spf13/cobra"
)

// diffedFile is what `diff --json` says about one file, or pair of files.
type diffedFile struct {
	File  string          `json:"file"`
	Cases []trace.Outcome `json:"cases"`
}

// diffDocument is what `diff --json` prints.
type diffDocument struct {
	Schema string `json:"schema"`
	// Identical reports whether every case that could be compared means the same.
	Identical bool `json:"identical"`
	// Tolerance is how far the delays of an offer may differ.
	Tolerance float64      `json:"tolerance_ms"`
	Files     []diffedFile `json:"files"`
}

func newDiffCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare the meaning of two recordings",
		Long: `Compares two recordings, or all *.monitor files of two folders, case by case. Times, random ids,
connections and cached scripts are brought into a normal form, and delays may differ by a few milliseconds.
Everything else must be equal, byte for byte and in order. recorded:RELEASE[/CASE] stands for the recording
of a real Redisson.

Exit codes: 0 the same; 1 a recording cannot be read; 99 they differ.`,
		Example: `  dq-bench diff out/a out/b
  dq-bench diff recorded:3.21.0 recorded:3.21.1`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, remove, err := unpackRecorded(args)
			if err != nil {
				return err
			}
			defer remove()
			files, err := diffTrees(paths[0], paths[1], trace.DefaultTolerance)
			if err != nil {
				return err
			}
			return printDiff(cmd.OutOrStdout(), asJSON, trace.DefaultTolerance, files)
		},
	}
	flagsOf(cmd).yes(&asJSON, "json")
	return cmd
}

func diffTrees(leftPath, rightPath string, tolerance time.Duration) ([]diffedFile, error) {
	left, err1 := monitor.ReadTree(leftPath)
	right, err2 := monitor.ReadTree(rightPath)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(left))
	names = slices.AppendSeq(names, maps.Keys(right))
	slices.Sort(names)
	var files []diffedFile
	for _, name := range slices.Compact(names) {
		file, err := diffFile(name, left[name], right[name], tolerance)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func diffFile(name string, left, right *monitor.Recording, tolerance time.Duration) (diffedFile, error) {
	missing := func(side string) diffedFile {
		finding := &trace.Finding{Meaning: "the recording " + name + " is only on the " + side}
		return diffedFile{name, []trace.Outcome{{Finding: finding}}}
	}
	switch {
	case left == nil:
		return missing("right"), nil
	case right == nil:
		return missing("left"), nil
	case name == ".":
		name = left.Path + " and " + right.Path
	}
	outcomes, err := trace.Diff(left, right, tolerance)
	return diffedFile{name, outcomes}, err
}

func printDiff(w io.Writer, asJSON bool, tolerance time.Duration, files []diffedFile) error {
	cases, different, declared := 0, 0, 0
	var out strings.Builder
	for _, f := range files {
		cases += len(f.Cases)
		for _, c := range f.Cases {
			if c.Declared != "" {
				declared++
			}
			if c.Finding != nil {
				different++
				writeFinding(&out, f.File, c.Finding, different == 1)
			}
		}
	}
	var err error
	if asJSON {
		err = printJSON(w, diffDocument{"dq-bench/diff/v1", different == 0, float64(tolerance) / float64(time.Millisecond), files})
	} else {
		if different == 0 {
			fmt.Fprintf(&out, "same behaviour in %d cases; delays within %v\n", cases-declared, tolerance)
		}
		if declared > 0 {
			fmt.Fprintf(&out, "not compared: %d cases that a recording declares absent, or not the same each time\n", declared)
		}
		_, err = io.WriteString(w, text.Inert(out.String()))
	}
	if err == nil && different > 0 {
		err = failure(fmt.Errorf("%d of %d cases differ", different, cases))
	}
	return err
}

// writeFinding writes a finding; only the first one with its window.
func writeFinding(w io.Writer, file string, f *trace.Finding, whole bool) {
	where := file
	if f.Case != "" {
		where += ": " + f.Case
	}
	fmt.Fprintf(w, "%s: different: %s\n", where, f.Meaning)
	if whole && f.Window != "" {
		fmt.Fprintf(w, "left line %d, right line %d:\n%s", f.LeftLine, f.RightLine, f.Window)
	}
}
