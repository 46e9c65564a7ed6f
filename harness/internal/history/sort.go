package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// By is what makes runs one point of a history: their version, commit, server, a label, or
// nothing, so that each run stands alone. The zero value is ByVersion.
type By struct{ what, label string }

// What runs are told apart by.
var (
	// ByVersion is that of the implementation, in the order of version numbers.
	ByVersion = By{what: "version"}
	// ByServer is its product and version, in the order of version numbers.
	ByServer = By{what: "server"}
	// ByCommit is the label of that name, or else the build of dq-bench that made the run,
	// in the order in which they were measured first.
	ByCommit = By{what: "commit"}
	// ByRun has each run stand alone, in the order in which they were made.
	ByRun = By{what: "run"}
)

// ByLabel is the value of a label, in the order in which they were measured first.
func ByLabel(key string) By { return By{what: "label", label: key} }

// ParseBy reads "version", "server", "commit", "run" or "label:KEY".
func ParseBy(text string) (By, error) {
	if key, ok := strings.CutPrefix(text, "label:"); ok && key != "" {
		return ByLabel(key), nil
	}
	for _, by := range []By{ByVersion, ByServer, ByCommit, ByRun} {
		if text == by.what {
			return by, nil
		}
	}
	return By{}, fmt.Errorf("by: expected version, commit, server, run or label:KEY, got %q", text)
}

// String is what ParseBy reads.
func (b By) String() string {
	switch b.what {
	case "":
		return ByVersion.what
	case "label":
		return "label:" + b.label
	}
	return b.what
}

// name is the point that a run belongs to; it fails where the run does not tell.
func (b By) name(r *run.Document) (string, error) {
	name := ""
	switch b.String() {
	case "version":
		name = r.Driver.Version
	case "server":
		if r.Server != nil {
			name = strings.TrimSpace(r.Server.Product + " " + r.Server.Version)
		}
	case "commit":
		name = cmp.Or(r.Labels["commit"], r.Tool.Version)
	case "run":
		return r.Started.UTC().Format(time.DateTime), nil
	default:
		name = r.Labels[b.label]
	}
	if name == "" {
		return "", fmt.Errorf("history by %s: run %s of %s has none", b, r.RunID, r.Started.Format(time.RFC3339))
	}
	return name, nil
}

// sorted are the runs that are judged.
type sorted struct {
	points []point
	// runs are those of all points, in order; references stand beside them, nil if there
	// are none.
	runs, references []*run.Document
	// strata say which runs share their hour; nil where all were made in one sitting, and in turn.
	strata *strata
	// ofRuns is how many runs these are, where each stands for a session.
	ofRuns int
}

type point struct {
	name string
	runs []*run.Document
}

// all are the runs and their references.
func (s *sorted) all() []*run.Document { return slices.Concat(s.runs, s.references) }

// sort puts the runs in order. It notes which ones are left out.
func (h *History) sort(runs []*run.Document, o Options) (*sorted, error) {
	if err := distinct(runs); err != nil {
		return nil, err
	}
	candidates, reference, err := h.references(h.fit(runs), o.Reference)
	switch {
	case err != nil:
		return nil, err
	case len(candidates) == 0 && len(h.LeftOut) > 0:
		return nil, fmt.Errorf("%w; left out: %s", ErrNoRuns, strings.Join(h.LeftOut[:min(len(h.LeftOut), mostNamed)], "; "))
	case len(candidates) == 0:
		return nil, ErrNoRuns
	}
	if err := alike(candidates, o.By); err != nil {
		return nil, err
	}
	s := &sorted{}
	if s.points, err = points(candidates, o.By); err != nil {
		return nil, err
	}
	h.unjudged, h.unfitOf = unjudged(s.points, h.unfit, o)
	h.Unjudged = h.unjudged[""]
	for _, p := range s.points {
		s.runs = append(s.runs, p.runs...)
	}
	s.strata = strataOf(s.points)
	if reference != nil {
		for _, r := range s.runs {
			s.references = append(s.references, reference[r])
		}
	}
	return s, nil
}

// unjudged names the points of which no run could be judged, by the name of the judged point behind
// them; those behind all others by "". Runs of another implementation or scenario would be points of
// another history. unfitOf are those of each point that could not be.
func unjudged(judged []point, unfit []*run.Document, o Options) (before map[string][]string, unfitOf map[string][]*run.Document) {
	like := judged[0].runs[0]
	unfit = slices.DeleteFunc(slices.Clone(unfit), func(r *run.Document) bool {
		_, err := o.By.name(r)
		return err != nil || r.Driver.Name != like.Driver.Name || r.Scenario.Name != like.Scenario.Name || o.Reference != "" && r.Driver.String() == o.Reference
	})
	all := slices.Clone(unfit)
	isJudged := map[string]bool{}
	for _, p := range judged {
		all = append(all, p.runs...)
		isJudged[p.name] = true
	}
	inOrder, err := points(all, o.By)
	if err != nil {
		return nil, nil
	}
	before, unfitOf = map[string][]string{}, map[string][]*run.Document{}
	for _, p := range inOrder {
		unfitOf[p.name] = slices.DeleteFunc(slices.Clone(p.runs), func(r *run.Document) bool { return !slices.Contains(unfit, r) })
		if !isJudged[p.name] {
			before[""] = append(before[""], p.name)
		} else if len(before[""]) > 0 {
			before[p.name], before[""] = before[""], nil
		}
	}
	return before, unfitOf
}

// distinct refuses a run that is given twice.
func distinct(runs []*run.Document) error {
	seen := map[string]bool{}
	for _, r := range runs {
		key := r.RunID + r.Started.UTC().Format(time.RFC3339Nano)
		if r.RunID != "" && seen[key] {
			return &compare.DuplicateRunError{RunID: r.RunID, Started: r.Started}
		}
		seen[key] = true
	}
	return nil
}

// fit are the runs that can be judged.
func (h *History) fit(runs []*run.Document) []*run.Document {
	var fit []*run.Document
	for _, r := range runs {
		if reason := compare.Unfit(r); reason != "" {
			h.LeftOut = append(h.LeftOut, reason)
			h.unfit = append(h.unfit, r)
			continue
		}
		fit = append(fit, r)
	}
	return fit
}

// references finds the run of the reference that stood beside each of the others. Runs
// without one are left out.
func (h *History) references(runs []*run.Document, name string) (candidates []*run.Document, of map[*run.Document]*run.Document, err error) {
	if name == "" {
		return runs, nil, mixed(runs)
	}
	byBlock := map[string]*run.Document{}
	for _, r := range runs {
		if r.Beside != nil && r.Driver.String() == name {
			if byBlock[r.Beside.Block] != nil {
				return nil, nil, fmt.Errorf("history: %s stands twice in block %s; expected the reference to be another implementation than what is judged", name, r.Beside.Block)
			}
			byBlock[r.Beside.Block] = r
		}
	}
	of = map[*run.Document]*run.Document{}
	for _, r := range runs {
		switch {
		case r.Driver.String() == name:
		case r.Beside == nil || byBlock[r.Beside.Block] == nil:
			h.LeftOut = append(h.LeftOut, fmt.Sprintf("run %s of %s: no valid run of %s was made beside it", r.RunID, r.Started.Format(time.RFC3339), name))
			h.unfit = append(h.unfit, r)
		default:
			of[r] = byBlock[r.Beside.Block]
			candidates = append(candidates, r)
		}
	}
	if len(candidates) == 0 {
		return nil, nil, fmt.Errorf("history: no run was made beside %s; make some with 'dq-bench run --beside --driver %s --driver VERSION'", name, name)
	}
	return candidates, of, nil
}

// mixed refuses runs that stood beside each other and would be judged as one series: the
// reference, which stays the same, would be a point of it.
func mixed(runs []*run.Document) error {
	inBlock, blocksOf := map[string]int{}, map[string]int{}
	mixed := false
	for _, r := range runs {
		if r.Beside != nil {
			inBlock[r.Beside.Block]++
			blocksOf[r.Driver.String()]++
			mixed = mixed || inBlock[r.Beside.Block] > 1
		}
	}
	if !mixed {
		return nil
	}
	most := slices.SortedFunc(maps.Keys(blocksOf), func(a, b string) int {
		return cmp.Or(cmp.Compare(blocksOf[b], blocksOf[a]), cmp.Compare(a, b))
	})
	return fmt.Errorf("history: the runs were made beside each other, which is judged against the one that stays the same; "+
		"give it as --reference (%s stands in the most blocks, %d of %d), or the runs of one side alone", most[0], blocksOf[most[0]], len(inBlock))
}

// alike refuses runs that differ in more than what tells them apart.
func alike(runs []*run.Document, by By) error {
	var differences []string
	said := map[string]bool{}
	var differ run.Differences
	for _, r := range runs {
		for _, d := range differ.Of(conditions(r, by)) {
			if !said[d] {
				said[d] = true
				differences = append(differences, fmt.Sprintf("%s, first in run %s of %s of %s", d, r.RunID, r.Driver, r.Started.Format(time.RFC3339)))
			}
		}
	}
	if len(differences) == 0 {
		return nil
	}
	err := error(&run.DifferenceError{Differences: differences})
	isOther := func(d string) bool { return !strings.HasPrefix(d, "server: ") }
	if by != ByServer && !slices.ContainsFunc(differences, isOther) {
		return fmt.Errorf("%w; give those of one server, or set servers against each other with the runs of one version and --by server", err)
	}
	return err
}

// conditions are what all runs of a history share.
func conditions(r *run.Document, by By) []run.Field {
	fields := append([]run.Field{{Name: "implementation", Value: r.Driver.Name}}, r.Configuration()...)
	if by == ByServer {
		fields = slices.DeleteFunc(fields, func(f run.Field) bool { return f.Name == "server" })
		fields = append(fields, run.Field{Name: "version", Value: r.Driver.Version})
	}
	if by.what != "label" { // a label may be what tells variants of a driver apart; another point of a version is none
		_, modifier, _ := strings.Cut(r.Driver.Version, ",")
		fields = append(fields, run.Field{Name: "driver's modifier", Value: cmp.Or(modifier, "none")})
	}
	return append(fields, r.Circumstances()...)
}

// points sorts the runs into those of each point.
func points(runs []*run.Document, by By) ([]point, error) {
	inTime := slices.Clone(runs)
	slices.SortStableFunc(inTime, func(a, b *run.Document) int { return a.Started.Compare(b.Started) })
	var all []point
	places := map[string]int{}
	for _, r := range inTime {
		name, err := by.name(r)
		if err != nil {
			return nil, err
		}
		at, there := places[name]
		if !there || by == ByRun {
			at = len(all)
			places[name] = at
			all = append(all, point{name: name})
		}
		all[at].runs = append(all[at].runs, r)
	}
	if what := by.String(); what == ByVersion.what || what == ByServer.what {
		slices.SortStableFunc(all, func(a, b point) int { return compareVersions(a.name, b.name) })
	}
	return all, nil
}
