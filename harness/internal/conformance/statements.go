package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// breaches holds lines against the rules whose statements hold for a release. Until an instant, in Unix microseconds, the
// clients are healthy.
func breaches(timeline *trace.Timeline, lines []trace.Line, own func(peer string) bool, release wire.Release, healthy int64) (all []trace.Breach) {
	timeline.Live = true
	for _, c := range trace.Group(lines) {
		if timeline.Live && c.Time > healthy {
			all = append(all, timeline.Until(healthy)...)
			timeline.Live = false
		}
		all = append(all, timeline.Add(c, own(c.Peer))...)
	}
	if timeline.Live {
		all = append(all, timeline.Until(healthy)...)
	}
	return holding(append(all, timeline.End()...), release)
}

// holding keeps the breaches of statements that hold for a release.
func holding(found []trace.Breach, release wire.Release) []trace.Breach {
	return slices.DeleteFunc(found, func(b trace.Breach) bool {
		return len(spec.All().Where(func(s spec.Statement) bool { return s.ID == b.Statement && s.Releases.Contain(release) })) == 0
	})
}

// Rules holds the lines of logs against the rules whose statements hold for a release; "" is no release, and no rules. Its
// function takes the next line, or nil at the end of a log, and returns the breaches of earlier lines. Queues are empty when
// a log begins, and after FLUSHALL and FLUSHDB. The speed of reactions is not judged.
func Rules(name string) (func(*trace.Line) []trace.Breach, error) {
	release, err := wire.LookupRelease(name)
	if name == "" {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("--release: %w", err)
	}
	const apart = 60_000 // ms between the clocks of two hosts
	timeline, calls := trace.NewTimeline(), trace.Scanner{}
	return func(l *trace.Line) (broken []trace.Breach) {
		ends := l == nil || strings.HasPrefix(l.Name(), "flush")
		var c *trace.Call
		if ends {
			c = calls.End()
		} else {
			line := *l
			line.Args = slices.Clone(l.Args)
			c = calls.Add(line)
		}
		if c != nil {
			if !c.Line.Inner() && !strings.HasPrefix(c.Peer, "127.0.0.1:") {
				timeline.Off = apart
			}
			broken = timeline.Add(*c, true)
		}
		if ends {
			broken, timeline = append(broken, timeline.End()...), trace.NewTimeline()
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
	spec.Statement
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

// Verdicts say of each statement that holds for the release whether it is kept: a case or a rule saw it, and nothing broke it. A rule's
// failure is of the rule's statement, and a command sent otherwise breaks the statements about the one that was expected. Any other failure
// is of the strictest statement of the simplest case in which the same call fails, unless a rule decides about the statement.
func (r *Report) Verdicts() []Verdict {
	release, err := wire.LookupRelease(r.Release)
	if err != nil {
		return nil
	}
	unseen := cmp.Or(r.Unseen, "no case ran that shows it")
	if r.Stopped != "" {
		unseen = "the run stopped before a case that shows it"
	}
	var all []Verdict
	for _, s := range spec.All().Where(func(s spec.Statement) bool { return s.Releases.Contain(release) }) {
		v := Verdict{Statement: s, Verdict: NotJudged}
		seen, passed, open := 0, "", ""
		for _, c := range r.Cases {
			seen += c.seen[s.ID]
			shown := slices.Concat(c.Broken, c.sent)
			if i := slices.IndexFunc(shown, func(b trace.Breach) bool { return b.Statement == s.ID }); i >= 0 && v.Verdict != Broken {
				v.Verdict, v.By = Broken, c.ID+": "+shown[i].Text
			}
			switch why, _, _ := strings.Cut(c.Detail, "\n"); {
			case !slices.ContainsFunc(c.Statements, func(cited spec.Statement) bool { return cited.ID == s.ID }):
			case c.Status == Pass:
				passed = cmp.Or(passed, c.ID)
			case c.Status == Fail:
				open = cmp.Or(open, c.ID+" failed: "+c.CauseText())
			default:
				open = cmp.Or(open, c.ID+": "+why)
			}
		}
		switch {
		case v.Verdict == Broken:
		case r.Level == State && ofTexts(v.Statement):
			v.By = "what is sent is judged at the level wire"
		case seen > 0:
			v.Verdict, v.By = Kept, fmt.Sprintf("its rule, in %d steps", seen)
		case passed != "":
			v.Verdict, v.By = Kept, passed
		default:
			v.By = cmp.Or(open, unseen)
		}
		all = append(all, v)
	}
	for call, failed := range r.unexplained() {
		suspects, simplest := map[string]*Result{}, 0
		for _, c := range failed {
			for _, s := range r.open(c) {
				switch rank := 1000*slices.Index(levels, strings.TrimSuffix(string(s.Level), " NOT")) + len(c.of.Steps); {
				case len(suspects) == 0, rank < simplest:
					suspects, simplest = map[string]*Result{s.ID: c}, rank
				case rank == simplest:
					suspects[s.ID] = cmp.Or(suspects[s.ID], c)
				}
			}
		}
		for _, v := range all {
			if len(suspects) > 1 && v.Verdict == Kept {
				delete(suspects, v.ID)
			}
		}
		if len(suspects) != 1 {
			c := slices.MinFunc(failed, func(a, b *Result) int { return cmp.Compare(len(a.of.Steps), len(b.of.Steps)) })
			suspects = map[string]*Result{}
			for _, s := range r.shown(c, call) {
				suspects[s.ID] = c
			}
		}
		for i := range all {
			if c := suspects[all[i].ID]; c != nil && all[i].Verdict != Broken {
				all[i].Verdict, all[i].By = Broken, c.ID+": "+c.CauseText()
			}
		}
	}
	return all
}

// shown returns the statements of a failed case that no rule decides. An otherwise unexplained failure breaks them.
func (r *Report) shown(c *Result, call string) []spec.Statement {
	return slices.DeleteFunc(slices.Clone(c.Statements), func(s spec.Statement) bool {
		return s.ID != c.Source && (trace.Decides(s.ID) || names.MatchString(s.ID)) || r.Level == State && ofTexts(s) ||
			c.answered() && r.faulty()[call] > 0 && ofTask.MatchString(s.ID) || c.strange && ofMessages.MatchString(s.ID)
	})
}

// faulty returns failed minus passed cases for each call.
func (r *Report) faulty() map[string]int {
	n := map[string]int{}
	for _, c := range r.Cases {
		n[c.subject] += map[Status]int{Fail: 1, Pass: -1}[c.Status]
	}
	return n
}

// open are the statements of a failed case that it may break.
func (r *Report) open(c *Result) []spec.Statement {
	return slices.DeleteFunc(slices.Clone(c.Statements), func(s spec.Statement) bool { return r.decided(c, s) || r.Level == State && ofTexts(s) })
}

// decided reports whether a failure is no evidence about a statement: a rule saw the statement kept or would have seen a
// breach, or the answer of a call failed, and the statement is about names, members, scripts or the transfer task.
func (r *Report) decided(c *Result, s spec.Statement) bool {
	if s.ID == "W-OFFER-1" && c.at != nil && c.at.Call == "dq.offer" && c.at.Error == "" {
		return false // no rule sees an offer that is refused
	}
	return c.seen[s.ID] > 0 && !strings.HasPrefix(s.ID, "W-REMOVE-") || r.Unseen == "" && (trace.Decides(s.ID) || names.MatchString(s.ID)) ||
		c.answered() && ofTask.MatchString(s.ID) || c.strange && ofMessages.MatchString(s.ID)
}

// answered reports whether what failed is the answer of a call.
func (r *Result) answered() bool { return r.at != nil && (r.at.Call != "" || r.at.Await != "") }

var (
	// names are statements about names of keys, on which see misnamed.
	names = regexp.MustCompile(`^W-KEY-[1235]$`)
	// ofTask are statements that the answer of a call does not show.
	ofTask = regexp.MustCompile(`^W-(?:KEY|MEMBER|RETRY|SCRIPT|START|STOP|TIMER|TRANSFER)-`)
	// ofMessages are statements whose breach spoils what later becomes of a message. They are not about its bytes.
	ofMessages = regexp.MustCompile(`^W-(?:FAULT|KEY|MEMBER|OFFER|START|TIMER|TRANSFER)-`)
	// looking is a call that changes no key.
	looking = regexp.MustCompile(`\.(?:contains|is|iterator|peek|read|remain|size)[^.]*$`)
)

// unexplained returns the failed cases without a broken rule, by the call that failed. A case is left out if its preparation may be the
// cause: the program ended, another call than the subject failed, an earlier call fails in most cases about that call, or the case is about
// messages and a rule about them is broken anywhere. It is also left out if neither a step failed nor a key of its queue differs.
func (r *Report) unexplained() map[string][]*Result {
	faulty, found, spoilt := r.faulty(), map[string][]*Result{}, false
	for _, c := range r.Cases {
		spoilt = spoilt || slices.ContainsFunc(c.Broken, func(b trace.Breach) bool { return b.Statement == "W-SCRIPT-5" || ofMessages.MatchString(b.Statement) })
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		prepares := func(call string) bool { return call != c.subject && faulty[call] > 0 }
		if c.Status != Fail || c.listed || c.ended && (spoilt || !strings.Contains(c.Detail, noAnswer)) || len(c.Broken) > 0 ||
			c.at == nil && !c.differs || slices.ContainsFunc(c.calls, prepares) ||
			spoilt && !c.answered() && (c.at == nil || c.at.Wait == nil || c.at.Wait.Subscribers == nil) &&
				(c.subject == "" || strings.HasSuffix(c.subject, "dq.offer") || looking.MatchString(c.subject)) {
			continue
		}
		failed := c.subject
		if c.at != nil && c.at.Call != "" {
			failed = c.of.codec() + c.at.Call
		}
		if failed == c.subject || c.at == nil || !c.at.Returns.IsZero() || c.at.Error != "" {
			found[failed] = append(found[failed], c)
		}
	}
	// If a case of no other call leaves wrong keys, and breaks no statement of its own, longer cases show the same fault.
	maps.DeleteFunc(found, func(call string, failed []*Result) bool {
		return slices.ContainsFunc(failed, func(c *Result) bool {
			return c.at == nil && call != "" && len(slices.Compact(slices.Clone(c.calls))) == 1 && len(r.open(c)) == 0
		})
	})
	return found
}

// sentOtherwise are the statements about commands that a client should have sent, and did not. For a script they are about
// its text, its call, or its keys and arguments. For another command they are the statements of the case that name it.
func sentOtherwise(sent []trace.Sent, level Level, release wire.Release, cited []spec.Statement) (broken []trace.Breach) {
	for _, d := range sent {
		want, got, text := d.Expected, d.Got, d.Expected.Script
		known := text != nil && text.Known != nil
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.ToUpper(want.Args[0])) + `\b`)
		for _, s := range spec.All().Where(func(s spec.Statement) bool { return s.Releases.Contain(release) }) {
			shown := slices.ContainsFunc(cited, func(c spec.Statement) bool { return c.ID == s.ID })
			isOf := known && slices.Contains(s.Scripts, string(text.Known.Name))
			about := isOf && ofTexts(s)
			switch {
			case !known:
				about = shown && word.MatchString(s.Text)
			case level != Wire:
				about = shown && isOf && !ofTexts(s)
			case got == nil || got.Script == nil:
			case got.Script.SHA1 != text.SHA1:
				about = about || s.ID == "W-SCRIPT-2"
			case got.Name() != want.Name():
				about = s.ID == "W-SCRIPT-6" && strings.HasSuffix(want.Name(), "_ro") || s.ID == "W-SCRIPT-3" || s.ID == "W-SCRIPT-4"
			}
			if about {
				broken = append(broken, trace.Breach{Statement: s.ID, Text: d.Cause, Line: want.Line})
			}
		}
	}
	return broken
}

// calls are the operations of a case, with their codec. Its subject is the last one, or "" where the case waits then.
func (c *Case) calls() (all []string, subject string) {
	for _, s := range c.Steps {
		switch {
		case s.Call != "":
			subject = c.codec() + s.Call
			all = append(all, subject)
		case s.Await != "":
			if i := slices.IndexFunc(c.Steps, func(one *Step) bool { return one.Async == s.Await }); i >= 0 {
				subject = c.codec() + c.Steps[i].Call
			}
		case s.Wait != nil:
			subject = ""
		}
	}
	return all, subject
}

// halves names the statement for members that leave only one key: the case's own on removing or polling, else the one on transfers.
func halves(cited []spec.Statement) string {
	i := slices.IndexFunc(cited, func(s spec.Statement) bool {
		return strings.HasPrefix(s.ID, "W-REMOVE-") || strings.HasPrefix(s.ID, "W-POLL-")
	})
	if i < 0 {
		return "W-TRANSFER-2"
	}
	return cited[i].ID
}

// ofTexts reports whether a statement asks for commands rather than for what they do.
func ofTexts(s spec.Statement) bool {
	return s.Level == spec.Should && (strings.Contains(s.Text, "SHOULD send ") || strings.Contains(s.Text, "EVAL") ||
		strings.Contains(s.Text, "be sent") && !strings.Contains(s.Text, "be sent again"))
}

// levels are the words of a statement's level, the strictest first.
var levels = []string{"MUST", "SHOULD", "MAY"}

// counted are verdicts by the level of their statements: "MUST 90 kept, 1 broken, 4 not judged".
func counted(verdicts []Verdict) []string {
	var lines []string
	for _, word := range levels {
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
