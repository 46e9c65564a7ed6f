package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Set is the runs of one version, implementation or server.
type Set struct {
	Name string
	Runs []*run.Document
}

// Median is the median of a figure over the runs that measured it; NaN if none has.
func (s Set) Median(of func(*run.Document) float64) float64 {
	var values []float64
	for _, r := range s.Runs {
		if v := of(r); run.Measured(v) {
			values = append(values, v)
		}
	}
	return Median(values)
}

// mostRuns is how many runs a comparison may have.
const mostRuns = 5000

// Read reads the runs that the paths name: run files, folders with run.json files at any depth, or globs of either.
func Read(ctx context.Context, paths ...string) ([]*run.Document, error) {
	files, err := run.Find(ctx, paths...)
	if err != nil {
		return nil, err
	}
	if len(files) > mostRuns {
		return nil, fmt.Errorf("%s: expected at most %d runs, got %d: name fewer", strings.Join(paths, " "), mostRuns, len(files))
	}
	var runs []*run.Document
	var errs []error
	for _, file := range files {
		r, err := run.ReadFile(ctx, file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		runs = append(runs, r)
	}
	return runs, errors.Join(errs...)
}

func nameOf(r *run.Document) string {
	return fmt.Sprintf("run %s of %s of %s", r.RunID, r.Driver, r.Started.UTC().Format(time.RFC3339))
}

// fit returns the runs that can be judged, and why the others cannot. A run goes with its partner.
func fit(all []*run.Document) (judged map[*run.Document]bool, leftOut []string) {
	judged, alone := map[*run.Document]bool{}, map[string]bool{} // blocks that lack a run
	for _, r := range all {
		if r.Beside != nil && unfit(r) != "" {
			alone[r.Beside.Block] = true
		}
	}
	for _, r := range all {
		switch reason := unfit(r); {
		case reason != "":
			leftOut = append(leftOut, nameOf(r)+": "+reason+faultsOf(r))
		case r.Beside != nil && alone[r.Beside.Block]:
			leftOut = append(leftOut, nameOf(r)+": the run beside it cannot be judged"+faultsOf(r))
		default:
			judged[r] = true
		}
	}
	return judged, leftOut
}

// unfit returns why a run cannot be judged; empty if it can. A failed run can.
func unfit(r *run.Document) string {
	switch {
	case r.Interrupted:
		return "it was interrupted"
	case !r.Valid():
		return "it is invalid: " + strings.Join(r.Validity.Reasons, "; ")
	}
	return ""
}

// distinct refuses a run that is given twice.
func distinct(runs []*run.Document) error {
	seen := map[string]bool{}
	for _, r := range runs {
		key := r.RunID + r.Started.UTC().Format(time.RFC3339Nano)
		if r.RunID != "" && seen[key] {
			return fmt.Errorf("%s is given twice: copies of a run are no further evidence; name each run once", nameOf(r))
		}
		seen[key] = true
	}
	return nil
}

// ErrDiffer says that runs have different configurations.
var ErrDiffer = errors.New("the runs have different configurations")

// alike returns an ErrDiffer unless all runs share the plan, and the server, machine and surroundings that it ran in, and the runs of each set
// their implementation. Servers may differ if they are compared. A run is held against the first run that has a field: a run without the place or
// the machine of its measurement still counts. Machines of one size are the same; a label distinguishes them.
func alike(sets []Set, reference string, o Options) error {
	first, differences := map[string]string{}, []string{}
	share := func(name, value string) {
		was, known := first[name]
		if line := fmt.Sprintf("%s: %s is not %s", name, was, value); !known {
			first[name] = value
		} else if was != value && !slices.Contains(differences, line) {
			differences = append(differences, line)
		}
	}
	for _, s := range sets {
		for _, r := range s.Runs {
			share("scenario", r.Scenario.Name)
			for _, f := range plan.Fields {
				if f.Compared {
					share(f.Key, f.Text(r.Scenario))
				}
			}
			if at := r.Server; at != nil && !o.Servers && o.By != "server" {
				share("server", strings.TrimSpace(at.Product+" "+at.Version))
				share("server_embedded", strconv.FormatBool(at.Embedded))
			}
			if e := r.Environment; e.OS != "" {
				share("machine", fmt.Sprintf("%s/%s with %d CPUs, GOMAXPROCS %d", e.OS, e.Arch, e.CPUs, e.GOMAXPROCS))
			}
			if r.Beside == nil {
				share("beside", "one side at a time")
			} else {
				share("beside", fmt.Sprintf("%d sides at the same time", r.Beside.Sides))
			}
			if driver := r.Driver; driver.String() != reference {
				share("implementation within "+s.Name, driver.String())
				if o.By != "" {
					share("implementation", driver.Name)
				}
			}
		}
	}
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("%w (%s), so the cause of a difference is unknown", ErrDiffer, strings.Join(differences, "; "))
}

// pair puts the runs of new in the order of their partners in old; false unless each run has one partner.
func pair(old, new []*run.Document) (partners []*run.Document, ok bool) {
	of := blocks{}
	for _, r := range new {
		if r.Beside == nil || of[r.Beside.Block] != nil {
			return nil, false
		}
		of[r.Beside.Block] = r
	}
	for _, r := range old {
		if r.Beside == nil || of[r.Beside.Block] == nil {
			return nil, false
		}
		partners = append(partners, of[r.Beside.Block])
	}
	return partners, len(old) == len(new)
}

// blocks are runs of one implementation by their block.
type blocks map[string]*run.Document

// findReference returns the implementation beside which all others ran, the first given if several did; empty if there is
// none, or if two sets are each other's partners.
func findReference(runs []*run.Document, sets []Set) (name string, of blocks) {
	if len(sets) == 2 {
		if _, paired := pair(sets[0].Runs, sets[1].Runs); paired {
			return "", nil
		}
	}
	var names []string
	for _, r := range runs {
		if r.Beside == nil {
			return "", nil
		}
		if d := r.Driver.String(); !slices.Contains(names, d) {
			names = append(names, d)
		}
	}
	for _, name := range names {
		of := blocks{}
		for _, r := range runs {
			if r.Driver.String() == name {
				of[r.Beside.Block] = r
			}
		}
		others := 0
		for _, s := range sets {
			if slices.ContainsFunc(s.Runs, func(r *run.Document) bool { return r.Driver.String() != name }) {
				others++
			}
		}
		if others >= 2 && !slices.ContainsFunc(runs, func(r *run.Document) bool { return of[r.Beside.Block] == nil }) {
			return name, of
		}
	}
	return "", nil
}

// All returns the runs of all sets.
func All(sets []Set) (runs []*run.Document) {
	for _, s := range sets {
		runs = append(runs, s.Runs...)
	}
	return runs
}

// keep returns the sets with only some of their runs, without sets that become empty if dropEmpty.
func keep(sets []Set, dropEmpty bool, wanted func(*run.Document) bool) (kept []Set) {
	for _, s := range sets {
		left := Set{Name: s.Name}
		for _, r := range s.Runs {
			if wanted(r) {
				left.Runs = append(left.Runs, r)
			}
		}
		if len(left.Runs) > 0 || !dropEmpty {
			kept = append(kept, left)
		}
	}
	return kept
}

// CheckBy refuses what runs cannot be told apart by.
func CheckBy(by string) error {
	if key, ok := strings.CutPrefix(by, "label:"); ok && key != "" || slices.Contains([]string{"", "version", "commit", "server"}, by) {
		return nil
	}
	return fmt.Errorf("by: expected version, commit, server or label:KEY, got %q", by)
}

// group makes a set of each version, commit, server or value of a label, in the order of versions, or of their first runs.
func group(runs []*run.Document, by string) (sets []Set, err error) {
	runs = slices.SortedStableFunc(slices.Values(runs), func(a, b *run.Document) int { return a.Started.Compare(b.Started) })
	for _, r := range runs {
		name := r.Labels[strings.TrimPrefix(by, "label:")]
		switch by {
		case "version":
			name = r.Driver.Version
		case "server":
			if name = ""; r.Server != nil {
				name = strings.TrimSpace(r.Server.Product + " " + r.Server.Version)
			}
		case "commit":
			name = cmp.Or(r.Labels["commit"], r.Tool.Version)
		}
		if name == "" {
			return nil, fmt.Errorf("by %s: %s has none", by, nameOf(r))
		}
		i := slices.IndexFunc(sets, func(s Set) bool { return s.Name == name })
		if i < 0 {
			i, sets = len(sets), append(sets, Set{Name: name})
		}
		sets[i].Runs = append(sets[i].Runs, r)
	}
	if by == "version" || by == "server" {
		slices.SortStableFunc(sets, func(a, b Set) int { return compareVersions(a.Name, b.Name) })
	}
	return sets, nil
}

var partOfVersion = regexp.MustCompile(`[0-9]+|\pL+`)

// compareVersions orders 3.9.1 before 3.16.6, and 4.0.0-RC1 before 4.0.0, as semantic versions are: digits compare as numbers, and a word
// behind numbers marks a pre-release, but for Final, GA and RELEASE.
func compareVersions(a, b string) int { return slices.Compare(keyOf(a), keyOf(b)) }

// keyOf takes a version apart. The first digit of a part is its kind: a pre-release precedes the end, which precedes a number. The length
// of a number comes before its digits.
func keyOf(version string) (key []string) {
	for i, text := range partOfVersion.FindAllString(strings.ToLower(version), -1) {
		switch number := strings.TrimLeft(text, "0"); {
		case text[0] <= '9':
			key = append(key, fmt.Sprintf("3%06d%s", len(number), number))
		case i == 0 && text == "v", i > 0 && slices.Contains([]string{"final", "ga", "release"}, text):
		case i == 0:
			key = append(key, "4"+text)
		default:
			key = append(key, "1"+text)
		}
	}
	return append(key, "2")
}
