package conformance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
)

// portFault replaces text of docs/guides/port.py, so that the port breaks a MUST. Breaks are statements; authors who had not seen
// the judge wrote all faults that have some.
type portFault struct {
	Fault, Old, New  string
	Breaks           []string
	cause, statement string
}

// BenchmarkMutants judges each mutant of the port at the level state, by all cases and by random histories. It fails below 95 %
// killed, and if the port itself is killed.
//
//	make mutants
func BenchmarkMutants(b *testing.B) {
	text, err := os.ReadFile("../../../docs/guides/port.py")
	require.NoError(b, err)
	list, err := os.ReadFile("testdata/port-faults.json")
	require.NoError(b, err)
	var faults []portFault
	require.NoError(b, json.Unmarshal(list, &faults))
	faults = append([]portFault{{Fault: "the port itself"}}, faults...)
	var running sync.WaitGroup
	free := make(chan struct{}, lanes/2)
	for i := range faults {
		f := &faults[i]
		mutant := strings.Replace(string(text), f.Old, f.New, 1)
		require.True(b, i == 0 || mutant != string(text), "%s changes nothing", f.Fault)
		file := filepath.Join(b.TempDir(), "port.py")
		require.NoError(b, os.WriteFile(file, []byte(mutant), 0o600))
		free <- struct{}{}
		running.Go(func() { f.cause, f.statement = killed(b, file); <-free })
	}
	running.Wait()
	survived, named, of := 0, 0, 0
	for _, f := range faults[1:] {
		fmt.Printf("%-36s %-14s %-34s %.120s\n", f.Fault, f.statement, strings.Join(f.Breaks, " "), cmp.Or(f.cause, "SURVIVED"))
		switch {
		case f.cause == "":
			survived++
		case len(f.Breaks) > 0:
			of++
			named += map[bool]int{true: 1}[slices.Contains(f.Breaks, f.statement)]
		}
	}
	all := len(faults) - 1
	fmt.Printf("%d of %d mutants killed at the level state; the first case names a statement of the author's for %d of %d\n", all-survived, all, named, of)
	require.Empty(b, faults[0].cause, "the port itself")
	require.LessOrEqual(b, survived*20, all, "expected 95 percent killed")
}

// killed returns the first failure of a port and the statement that it breaks, or "".
func killed(b *testing.B, file string) (cause, statement string) {
	driver, err := spec.ParseProgram(fmt.Sprintf("exec:python3 '%s'", file))
	require.NoError(b, err)
	sections, err1 := Load(os.DirFS("../../../scenarios"), "conformance")
	beyond, err2 := Load(os.DirFS("../../../scenarios"), "beyond")
	require.NoError(b, errors.Join(err1, err2))
	cases := Select(append(sections, beyond...), nil)
	slow := func(c *Case) int { return map[bool]int{true: 1}[c.Slow] }
	slices.SortStableFunc(cases, func(a, b *Case) int { return slow(a) - slow(b) })
	plan := &Plan{Spec: driver, Redis: "process", Cases: cases, Level: State, MaxFailures: 1, Notice: func(string) {}, Finished: func(Result) {}, wait: 3 * time.Second}
	report, err := plan.Run(b.Context())
	if err != nil {
		return err.Error(), ""
	}
	for _, r := range report.Cases {
		if r.Status != Fail {
			continue
		}
		if len(r.Broken) > 0 {
			statement = r.Broken[0].Statement
		}
		return r.ID + ": " + r.CauseText(), statement
	}
	plan.Cases = nil
	failure, _, err := plan.Random(b.Context(), 120)
	if err != nil {
		return err.Error(), ""
	}
	return strings.SplitN(failure, "\n", 2)[0], ""
}
