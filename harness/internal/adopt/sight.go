package adopt

import (
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// sight is what a server saw of one release: the lines of each case, without its mark.
type sight struct {
	ids   []string // in the order of the cases
	lines map[string][]monitor.Line
}

func newSight() *sight { return &sight{lines: map[string][]monitor.Line{}} }

func (s *sight) add(id string, lines []monitor.Line) {
	s.ids = append(s.ids, id)
	s.lines[id] = lines
}

// use is how a script was used.
type use struct {
	first  trace.Script // the first call
	caseID string       // of the first call
	cases  []string     // all in which it was called
}

// scripts returns the scripts that were called, by SHA-1, and the SHA-1s in the order of the
// first calls.
func (s *sight) scripts() (map[string]*use, []string) {
	uses, order := map[string]*use{}, []string(nil)
	for _, id := range s.ids {
		for _, script := range trace.Scripts(s.lines[id]) {
			u := uses[script.SHA1]
			if u == nil {
				u = &use{first: script, caseID: id}
				uses[script.SHA1] = u
				order = append(order, script.SHA1)
			}
			u.cases = append(u.cases, id)
		}
	}
	return uses, order
}

// texts returns the script texts that clients sent, by SHA-1.
func (s *sight) texts() map[string]string {
	texts := map[string]string{}
	for _, id := range s.ids {
		for _, c := range trace.Group(s.lines[id]) {
			if c.Body != "" {
				texts[c.BodySHA1] = c.Body
			}
		}
	}
	return texts
}

// sent returns what name gives of all that clients sent, each once, sorted.
func (s *sight) sent(name func(trace.Call) (string, bool)) []string {
	var names []string
	for _, id := range s.ids {
		for _, c := range trace.Group(s.lines[id]) {
			if text, ok := name(c); ok {
				names = append(names, text)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
