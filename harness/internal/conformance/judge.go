package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// Status is the outcome of a case.
type Status string

// The outcomes. A case that is known to fail, and passes, is a failure.
const (
	Pass             Status = "pass"
	Fail             Status = "fail"
	Skip             Status = "skip"
	FailedAsExpected Status = "failed-as-expected"
	// Error says that the harness, the server or the program failed; it is no verdict on the implementation.
	Error Status = "error"
)

// Result is the outcome of one case.
type Result struct {
	Observation // empty for a case that did not run

	ID          string `json:"id"`
	Status      Status `json:"status"`
	Requirement string `json:"requirement"`
	Source      string `json:"source"`
	// Statements are those of the specification that the case shows of the release; none where it does not hold for it.
	Statements []spec.Statement `json:"statements"`
	// Detail says what was expected and what came, or why there is no verdict.
	Detail string `json:"detail"`
	// JudgedBy is the release whose recording judged the case; empty where replies, keys, times and the catalogue of scripts alone did.
	JudgedBy string `json:"judged_by,omitempty"`

	// Cause is what went wrong, in words that other cases which failed for the same share; empty where Detail says it.
	Cause string `json:"cause,omitempty"`

	// Command runs the case alone; empty where it is not known.
	Command string `json:"command,omitempty"`

	// Absent says what the implementation lacks to run a case that holds for the release; such a case is skipped.
	Absent string `json:"-"`

	of       Case           // empty for a result that no run made
	calls    []string       // of the case
	subject  string         // the call that the case is about
	ended    bool           // the program ended
	sent     []trace.Breach // the statements about commands that were sent otherwise
	baseline string         // why the baseline says that it fails
	listed   bool           // it passes, and is listed as one that fails
}

// A case that may have failed by chance, on a busy machine, runs again lateTries times, after a rest and more.
const lateTries, rest = 3, 200 * time.Millisecond

// Judge runs a case and compares it with everything that is known about it. A nil oracle leaves the trace out, for recording.
func (r *Runner) Judge(ctx context.Context, c *Case, oracle *Oracle) (result Result) {
	for tries := 0; tries == 0 || tries <= lateTries && result.late(); tries++ {
		time.Sleep(time.Duration(tries) * rest)
		result = r.try(ctx, c, oracle)
	}
	return result
}

func (r *Runner) try(ctx context.Context, c *Case, oracle *Oracle) Result {
	result := Result{of: *c, ID: c.ID, Requirement: c.Requirement, Source: c.Source, Statements: []spec.Statement{}}
	result.calls, result.subject = c.calls()
	if !c.HoldsFor(r.release) {
		result.Status, result.Detail = Skip, fmt.Sprintf("it holds for %s, this is %s", c.Range(), r.release)
		return result
	}
	result.Statements = spec.All().Where(func(s spec.Statement) bool {
		return (slices.Contains(s.Cases, c.ID) || s.ID == c.Source) && s.Releases.Contain(r.release)
	})
	if r.unseen != "" && slices.ContainsFunc(c.Steps, func(s *Step) bool { return kills(s.Redis) }) {
		result.Status, result.Detail = Skip, "it ends connections of the program, which only MONITOR tells apart"
		return result
	}
	known, takeOut := c.KnownFailing[r.hello.Name], "known-failing at "+c.Place
	if reason, listed := r.Baseline[c.ID]; listed {
		known, takeOut, result.baseline = reason, "the baseline", reason
	}
	if why := r.absent(c); why != "" {
		return result.lacking(why, known)
	}
	observed, err := r.Observe(ctx, c)
	result.ended = r.failed() != nil
	var lacks *absentError
	switch {
	case errors.As(err, &lacks):
		return result.lacking(fmt.Sprintf("%s %s: %v", r.hello.Name, r.hello.Version, lacks), known)
	case err != nil:
		result.Status, result.Detail = Error, err.Error()
		if isProgram(err) {
			result.Status = Fail
		}
		return result
	}
	for i, b := range observed.Broken {
		if b.Statement == "W-REMOVE-1" {
			observed.Broken[i].Statement = halves(result.Statements)
		}
	}
	result.Observation = *observed
	failures := append(textsOf(observed.Broken), observed.Failures...)
	if oracle != nil && len(failures) == 0 {
		if failures, err = r.judgeLines(c, oracle, &result); err != nil {
			result.Status, result.Detail = Error, err.Error()
			return result
		}
	}
	if result.baseline != "" && len(failures) > 0 {
		result.Detail = strings.Join(failures, "\n")
		if result.Cause = result.CauseText(); !result.is(known) {
			result.Cause = otherwise + result.Cause
			failures = append(failures, "the baseline says: "+strings.TrimPrefix(known, seenPrefix))
			known = ""
		}
	}
	foreign := slices.ContainsFunc(c.Steps, func(s *Step) bool { return s.Seed != nil && s.Seed.Foreign })
	if len(failures) > 0 && r.hello.Can(program.BothLayouts) && foreign { // seeded
		known = "it reads members of both layouts, on purpose"
	}
	switch {
	case len(failures) > 0 && known != "":
		result.Status, result.Detail = FailedAsExpected, known+"\n"+strings.Join(failures, "\n")
	case len(failures) > 0:
		result.Status, result.Detail = Fail, strings.Join(failures, "\n")
	case known != "":
		result.Status, result.listed = Fail, true
		result.Detail = fmt.Sprintf("expected to fail (%s), but it passes: take it out of %s", known, takeOut)
		result.Cause = "expected to fail, but it passes: take it out of " + takeOut
	default:
		result.Status = Pass
	}
	return result
}

// late reports whether a machine that stood still can have caused a failure, or a part of it. A baseline names the cause that it expects.
func (r *Result) late() bool {
	return (r.Status == Fail || r.Status == FailedAsExpected && r.baseline == "") && (r.hurried || !r.vain && slices.ContainsFunc(r.Broken, func(b trace.Breach) bool { return b.Late }))
}

// lacking is the result of a case that the implementation has no means to run.
func (r Result) lacking(why, known string) Result {
	r.Status, r.Detail, r.Absent = Skip, why, why
	if known != "" {
		r.Status, r.Detail = FailedAsExpected, known+"\n"+why
	}
	return r
}

// absent says what the implementation lacks to run a case, or "".
func (r *Runner) absent(c *Case) string {
	if !r.hello.HasCodec(c.codec()) {
		return fmt.Sprintf("%s %s has no codec %q", r.hello.Name, r.hello.Version, c.codec())
	}
	for _, s := range c.Steps {
		if op := s.capability(); op != "" && !r.hello.Can(op) {
			return fmt.Sprintf("%s %s has no %s", r.hello.Name, r.hello.Version, op)
		}
	}
	return ""
}

// capability names what a program must be able to do for a step.
func (s *Step) capability() string {
	for _, overload := range []struct{ argument, suffix string }{{"limit", "(limit)"}, {"condition", "(condition)"}, {"count", "(count)"}} {
		if _, ok := s.With[overload.argument]; ok && !strings.HasSuffix(s.Call, "terator") {
			return s.Call + overload.suffix
		}
	}
	return s.Call
}

// delayTolerance is wide: offBy judges each due time by its call. It finds a recording of another delay than the case's.
const delayTolerance = 5 * time.Second

// judgeLines compares the lines with the recording that judges the case, as strictly as the level says, and writes the
// outcome into the result. If the recording is of another release, the catalogue judges the scripts besides.
func (r *Runner) judgeLines(c *Case, oracle *Oracle, result *Result) (failures []string, err error) {
	source := recordedCase{absent: c.Trace}
	if c.Trace == "" {
		if source, err = oracle.source(c, r.release); err != nil {
			return nil, err
		}
	}
	other := source.release != r.release
	switch {
	case source.absent != "":
		result.Detail = "the trace is not compared: " + source.absent
	case r.Level != State:
		result.JudgedBy = source.release.String()
		if other {
			result.Detail = "judged by the recording of " + result.JudgedBy
		}
	}
	if effects := strings.HasPrefix(c.Source, "W-"); r.Level == Wire && other && r.Beside == nil && !effects {
		if failures = foreignScripts(result.Lines, r.release); len(failures) > 0 {
			result.sent = []trace.Breach{{Statement: "W-SCRIPT-2", Text: failures[0]}}
		}
	}
	if len(failures) > 0 || source.absent != "" || r.Level == State {
		return failures, nil
	}
	want, err1 := trace.Normalise(source.recording, "left: Redisson "+source.release.String(), source.lines, r.Level == Exchange)
	got, err2 := trace.Normalise(&trace.Recording{Path: "this run"}, "right: this run", result.Lines[1:], r.Level == Exchange) // without the mark
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if f := trace.Compare(want, got, delayTolerance); f != nil {
		result.Cause = f.Cause
		result.sent = sentOtherwise(f.Sent, r.Level, r.release, result.Statements)
		return []string{f.Cause + "; " + f.Meaning + "\n" + f.Window}, nil
	}
	return nil, nil
}

// foreignScripts says which of the scripts that the server saw are not sent by the release.
func foreignScripts(lines []trace.Line, release wire.Release) (failures []string) {
	for _, s := range trace.Scripts(lines) {
		switch {
		case s.Known == nil:
			failures = append(failures, fmt.Sprintf("the script %s is one that no Redisson sends", s.SHA1))
		case !s.Known.SentBy(release):
			failures = append(failures, fmt.Sprintf("the script %s is not sent by Redisson %s", s.Name(), release))
		}
	}
	return failures
}

// Level is how closely an implementation is compared with Redisson.
type Level string

// The levels, the strictest first. What a level asks for, those before it do too.
const (
	// Wire asks for the same commands, byte for byte.
	Wire Level = "wire"
	// Exchange asks for the same calls with the same changes. How a command or a script is written does not matter, nor
	// what is read besides.
	Exchange Level = "exchange"
	// State asks for the same replies, keys and order of delivery, and that no rule of package trace finds a statement broken.
	State Level = "state"
)

// ParseLevel reads the name of a level.
func ParseLevel(name string) (Level, error) {
	if l := Level(name); slices.Contains([]Level{Wire, Exchange, State}, l) {
		return l, nil
	}
	return "", fmt.Errorf("--level %q: expected wire, exchange or state", name)
}

// Cause is the common cause of failures.
type Cause struct {
	// Cause is in the words of the first case, without the place.
	Cause string `json:"cause"`
	// Cases is the number of failures, First the id of the first.
	Cases int    `json:"cases"`
	First string `json:"first"`

	kind string
	of   []Result
}

// causesOf groups failures, the most frequent cause first.
func causesOf(results []Result) []Cause {
	causes := []Cause{}
	for _, r := range results {
		if r.Status != Fail {
			continue
		}
		kind := r.kind()
		at := slices.IndexFunc(causes, func(c Cause) bool { return c.kind == kind })
		if at < 0 {
			at, causes = len(causes), append(causes, Cause{Cause: r.CauseText(), First: r.ID, kind: kind})
		}
		causes[at].Cases, causes[at].of = causes[at].Cases+1, append(causes[at].of, r)
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Compare(b.Cases, a.Cases) })
	return causes
}

// Failures of one cause differ in the step, the call, the queue, in quoted text and in numbers.
var (
	place  = regexp.MustCompile(`^(?:open: |step \d+ \([^)]*\): |call \d+ of the (?:publisher|transfer task|consumer|subscriber)(?: of "(?:[^"\\]|\\.)*")?,? )`)
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	figure = regexp.MustCompile(`-?\d+(\.\d+)?`)
)

// CauseText is the cause under which a report groups a failure: its first sentence, without the place. A first line that
// ends with a colon goes on in the next.
func (r Result) CauseText() string {
	if r.Cause != "" {
		return r.Cause
	}
	line, rest, _ := strings.Cut(r.Detail, "\n")
	if strings.HasSuffix(line, ":") {
		next, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		line += " " + strings.TrimSpace(next)
	}
	return place.ReplaceAllString(line, "")
}

// kind is equal for failures of one cause.
func (r Result) kind() string {
	cause := r.CauseText()
	if strings.Contains(cause, noAnswer) {
		return noAnswer
	}
	return kindOf(cause)
}

func kindOf(cause string) string {
	return figure.ReplaceAllString(quoted.ReplaceAllString(cause, "Q"), "N")
}

// alike counts failures of one cause, and slow ones.
type alike struct {
	most  int
	last  string // the kind of the latest failure
	inRow int
	slow  int // cases in which the program failed, or a wait was in vain
}

// after says why the run ends after a result, and "" if it goes on.
func (a *alike) after(r Result) string {
	switch {
	case r.Status == Skip, r.listed, a.most == 0:
		return "" // a listed failure that is none any more is good news
	case r.Status != Fail && r.Status != Error:
		a.last, a.inRow = "", 0
		return ""
	}
	if kind := r.kind(); kind != a.last {
		a.last, a.inRow = kind, 0
	}
	a.inRow++
	if r.ended || r.vain {
		a.slow++
	}
	switch {
	case a.inRow >= a.most:
		return fmt.Sprintf("%d cases in a row failed alike: %s", a.inRow, r.CauseText())
	case a.slow >= a.most:
		return fmt.Sprintf("in %d cases the program failed or a wait timed out, most recently: %s", a.slow, r.CauseText())
	}
	return ""
}
