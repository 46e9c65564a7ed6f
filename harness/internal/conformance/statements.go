package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// breaches holds lines against the rules whose statements hold for a release. Until an instant, in Unix microseconds, the
// clients are healthy.
func breaches(timeline *trace.Timeline, lines []monitor.Line, own func(peer string) bool, release wire.Release, healthy int64) (all []trace.Breach) {
	timeline.Live = true
	for _, l := range lines {
		if timeline.Live && l.Time > healthy {
			all = append(all, timeline.Until(healthy)...)
			timeline.Live = false
		}
		all = append(all, timeline.Add(l, own(l.Peer))...)
	}
	if timeline.Live {
		all = append(all, timeline.Until(healthy)...)
	}
	return holding(append(all, timeline.End()...), release)
}

// holding keeps the breaches of statements that hold for a release.
func holding(found []trace.Breach, release wire.Release) []trace.Breach {
	return slices.DeleteFunc(found, func(b trace.Breach) bool {
		return len(spec.All().Where(func(s *spec.Statement) bool { return s.ID == b.Statement && s.Releases.Contain(release) })) == 0
	})
}

// Rules holds the lines of logs against the rules whose statements hold for a release; "" is no release, and no rules. Its
// function takes the next line, or nil at the end of a log, and returns the breaches of earlier lines. Queues are empty when
// a log begins, and after FLUSHALL and FLUSHDB. The speed of reactions is not judged.
func Rules(name string) (func(*monitor.Line) []trace.Breach, error) {
	release, err := wire.LookupRelease(name)
	if name == "" {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("--release: %w", err)
	}
	const apart = 60_000 // ms between the clocks of two hosts
	timeline := trace.NewTimeline()
	return func(l *monitor.Line) (broken []trace.Breach) {
		if l == nil || strings.HasPrefix(l.Name(), "flush") {
			broken, timeline = timeline.End(), trace.NewTimeline()
		} else {
			line := *l
			if line.Args = slices.Clone(l.Args); !line.Inner() && !strings.HasPrefix(line.Peer, "127.0.0.1:") {
				timeline.Off = apart
			}
			broken = timeline.Add(line, true)
		}
		return slices.DeleteFunc(holding(broken, release), func(b trace.Breach) bool { return b.Late })
	}, nil
}

// textsOf are breaches as failures, each once.
func textsOf(broken []trace.Breach) (texts []string) {
	for _, b := range broken {
		if text := b.Statement + ": " + b.Text; !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// Verdict is a run's verdict on one statement of the specification.
type Verdict struct {
	spec.Citation
	// Verdict is kept, broken or not judged.
	Verdict string `json:"verdict"`
	// By is the case or the rule that shows it, or why nothing did.
	By string `json:"by"`
}

// The verdicts.
const (
	Kept      = "kept"
	Broken    = "broken"
	NotJudged = "not judged"
)

// Verdicts say of each statement that holds for the release whether it is kept: a case or a rule saw it, and nothing
// broke it. A failure that a rule explains is of the rule's statement; any other one is of what its case is to show.
func (r *Report) Verdicts() []Verdict {
	release, err := wire.LookupRelease(r.Release)
	if err != nil {
		return nil
	}
	var all []Verdict
	for _, s := range spec.All().Where(func(s *spec.Statement) bool { return s.Releases.Contain(release) }) {
		v := Verdict{Citation: spec.Cite([]*spec.Statement{s})[0], Verdict: NotJudged}
		seen, passed, skipped := 0, "", ""
		for _, c := range r.Cases {
			shows := slices.Contains(s.Cases, c.ID) || c.Source == s.ID
			seen += c.seen[s.ID]
			if i := slices.IndexFunc(c.Broken, func(b trace.Breach) bool { return b.Statement == s.ID }); i >= 0 && v.Verdict != Broken {
				v.Verdict, v.By = Broken, c.ID+": "+c.Broken[i].Text
			}
			switch {
			case !shows:
			case c.Status == Fail && len(c.Broken) == 0 && !c.listed && v.Verdict != Broken:
				v.Verdict, v.By = Broken, c.ID+": "+c.CauseText()
			case c.Status == Pass:
				passed = cmp.Or(passed, c.ID)
			case c.Status != Fail:
				why, _, _ := strings.Cut(c.Detail, "\n")
				skipped = cmp.Or(skipped, c.ID+": "+why)
			}
		}
		switch {
		case v.Verdict == Broken:
		case r.Level == State && ofTexts(s):
			v.By = "what is sent is judged at the level wire"
		case seen > 0:
			v.Verdict, v.By = Kept, fmt.Sprintf("its rule, in %d steps", seen)
		case passed != "":
			v.Verdict, v.By = Kept, passed
		default:
			v.By = cmp.Or(skipped, r.Unseen, "no case ran that shows it")
		}
		all = append(all, v)
	}
	return all
}

// ofTexts reports whether a statement asks for commands rather than for what they do.
func ofTexts(s *spec.Statement) bool {
	return s.Level == spec.Should && (strings.Contains(s.Text, "SHOULD send ") || strings.Contains(s.Text, "EVAL") || strings.Contains(s.Text, "be sent"))
}

// counted are verdicts by the level of their statements: "MUST 90 kept, 1 broken, 4 not judged".
func counted(verdicts []Verdict) []string {
	var lines []string
	for _, word := range []string{"MUST", "SHOULD", "MAY"} {
		n := map[string]int{}
		for _, v := range verdicts {
			if strings.HasPrefix(string(v.Level), word) {
				n[v.Verdict]++
			}
		}
		lines = append(lines, fmt.Sprintf("%-6s  %3d kept  %3d broken  %3d not judged", word, n[Kept], n[Broken], n[NotJudged]))
	}
	return lines
}
