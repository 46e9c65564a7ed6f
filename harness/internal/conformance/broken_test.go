package conformance

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	statements "github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC") // a JVM lives for seconds here
	_ = flag.Set("test.parallel", strconv.Itoa(6*runtime.GOMAXPROCS(0)))           // the cases judge how fast an implementation reacts
	redistest.Main(m)
}

type listless struct{ program.Program }

func (listless) Introduction() program.Hello { return program.Hello{Capabilities: []string{}} }

// verifyPort judges dq with a fault by all cases. first bounds its first call, wait the waits of cases; 0 is the default.
func verifyPort(t *testing.T, fault func(program.Program) program.Program, first, wait time.Duration) (*Report, error) {
	t.Helper()
	redistest.Redis(t) // skips without a Redis
	cases, _ := loaded()
	plan := plansOf(t, "dq:"+wire.Newest().String(), Wire, cases, 1)[0]
	plan.Start = func(context.Context) (program.Program, error) {
		return fault(must(must(spec.ParseProgram("dq")).Start(t.Context(), nil, nil))), nil
	}
	plan.MaxFailures, plan.first, plan.wait = 3, first, wait
	return plan.Run(t.Context())
}

func TestAProgramThatCannotBeJudged(t *testing.T) {
	t.Parallel()
	deaf := around(func(ctx context.Context, _ string, _ any, _ program.Program) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	_, err := verifyPort(t, deaf.as, time.Second, 0)
	require.ErrorAs(t, err, new(*ProgramError))
	require.ErrorContains(t, err, "the driver cannot be used: open was not answered within 1s: the program hangs, or reads no more")
	_, err = verifyPort(t, func(dq program.Program) program.Program { return listless{dq} }, 0, 0)
	require.ErrorAs(t, err, new(*ProgramError))
	require.ErrorContains(t, err, `expected the "capabilities" in its answer to hello to list operations that the cases call, such as "`)
}

// Cases that fail alike in a row are not all waited for.
func TestAnAlteredValueBreaksStatementsOnCodecs(t *testing.T) {
	t.Parallel()
	shouts := around(func(ctx context.Context, op string, params any, next program.Program) (json.RawMessage, error) {
		if op == "dq.offer" {
			value := maps.Clone(params.(map[string]any)["value"].(map[string]any))
			value["v"] = strings.ToUpper(fmt.Sprint(value["v"]))
			params.(map[string]any)["value"] = value
		}
		return next.Call(ctx, op, params)
	})
	report, err := verifyPort(t, shouts.as, 0, 3*time.Second)
	require.NoError(t, err)
	require.Contains(t, report.Stopped, "3 cases in a row failed alike: W-CODEC-1: the value \"A\" was written")
	text := report.Text()
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "    alone") { // which is there to be copied
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
		}
	}
	require.Contains(t, strings.Join(strings.Fields(text), " "), "--verbose runs all")
	require.NotRegexp(t, `(?m)^  broken  W-(?:[^C]|C[^O])`, text)
	retry := statements.All().Where(func(s statements.Statement) bool { return s.ID == "W-RETRY-1" })
	report = &Report{Release: "4.7.0", Level: State, Cases: []Result{{Status: Fail, Observation: Observation{differs: true}, Statements: retry}}}
	require.Contains(t, report.Text(), "broken  W-RETRY-1 (SHOULD)")
}

func TestCausesLeaveOutWhatIsTheCasesOwn(t *testing.T) {
	for _, alike := range [][2]string{
		{"step 3 (dq.offer): expected no error, got x: 7", "expected no error, got x: 8"},
		{`call 2 of the transfer task of "orders" is y`, `call 1 of the transfer task of "a" is y`},
		{"a message is due 400 ms too early: offered", "a message is due 4.5 ms too early: offered"},
		{`open: expected 1 transfers of "a"`, `step 5 (open): expected 2 transfers of "b c"`},
	} {
		a, b := Result{Detail: alike[0] + "\nmore"}, Result{Detail: alike[1]}
		require.Equal(t, a.kind(), b.kind(), "%q and %q", alike[0], alike[1])
		require.Contains(t, alike[0], a.CauseText(), "in its own words")
	}
	require.Equal(t, "it ended; its stderr ended with: panic: x", Result{Detail: "it ended; its stderr ended with:\n  panic: x\nmore"}.CauseText())
	causes := causesOf([]Result{
		{ID: "a", Status: Fail, Detail: "x 1"}, {ID: "b", Status: Pass}, {ID: "c", Status: Fail, Cause: "an extra TIME"},
		{ID: "d", Status: Fail, Cause: "an extra TIME", Detail: "call 3"},
	})
	require.Equal(t, "an extra TIME 2 c c, d", fmt.Sprint(causes[0].Cause, " ", causes[0].Cases, " ", causes[0].First, " ", idsOf(causes[0].of)))
	require.Equal(t, "x 1 a", fmt.Sprint(causes[1].Cause, " ", idsOf(causes[1].of)))
	silent := causesOf([]Result{{ID: "a", Status: Fail, Detail: "open was not answered: " + noAnswer}, {ID: "b", Status: Fail, Detail: "closing: " + noAnswer}})
	require.Len(t, silent, 1)
}

func TestFailuresInARow(t *testing.T) {
	fail := func(cause string) Result { return Result{Status: Fail, Cause: cause} }
	limit := alike{most: 3}
	for _, r := range []Result{fail("x"), fail("x"), {Status: Pass}, fail("x"), {Status: Skip}, fail("y"), fail("x"), fail("x")} {
		require.Empty(t, limit.after(r))
	}
	require.True(t, strings.HasPrefix(limit.after(fail("x")), "3 cases in a row failed alike: x"))
	require.Empty(t, (&alike{}).after(Result{Status: Fail, ended: true}), "0 is never")
}

// wireFault replaces Old in a script, or in all; or what Argument matches in each argument, by New; or sends Sends in the place of a
// command that Command matches. Arguments are quoted, and blanks within them are \x20; the name of a script stands for
// its text or SHA-1, and NOW for the clock. An author who had not seen the judge wrote all faults that break a statement.
type wireFault struct {
	Fault, Release, Likely, Breaks, Script, Old, New, Argument, Command string
	Sends                                                               []string
}

func wireFaults(t *testing.T) (all []mutant) {
	t.Helper()
	text := must(os.ReadFile("testdata/wire-faults.json"))
	var faults []wireFault
	require.NoError(t, json.Unmarshal(text, &faults))
	for _, f := range faults {
		all = append(all, mutant{f.Fault, f.Release, f.Likely, f.Breaks, f.mutate()})
	}
	return all
}

func (f wireFault) mutate() func() mutation {
	release, _ := wire.ParseRelease(cmp.Or(f.Release, "3.21.0"))
	expr := regexp.MustCompile(f.Argument + f.Command)
	switch {
	case f.Argument != "":
		return each(func(c []string) []string {
			for i := range c {
				c[i] = unescaped(expr.ReplaceAllString(escaped(c[i]), f.New))
			}
			return c
		})
	case f.Command == "":
		return each(func(c []string) []string {
			for _, s := range wire.Scripts() {
				body := strings.ReplaceAll(s.Body, f.Old, f.New)
				sum := sha1.Sum([]byte(body))
				for i := range c[:min(len(c), 3)] {
					if f.Script == "" || f.Script == string(s.Name) {
						c[i] = strings.NewReplacer(s.Body, body, s.SHA1, hex.EncodeToString(sum[:])).Replace(c[i])
					}
				}
			}
			return c
		})
	}
	var line []string
	matches := func(c []string) bool {
		line = nil
		for i := range c {
			line = append(line, escaped(c[i]))
			for _, s := range wire.Scripts() {
				if i == 1 && (c[1] == s.Body || c[1] == s.SHA1) {
					line[1] = string(s.Name)
				}
			}
		}
		return expr.MatchString(strings.Join(line, " "))
	}
	return when(matches, func([]string) (out [][]string) {
		for _, send := range f.Sends {
			sent := strings.Split(expr.ReplaceAllString(strings.Join(line, " "), send), " ")
			for i := range sent {
				sent[i] = strings.ReplaceAll(unescaped(sent[i]), "NOW", strconv.FormatInt(time.Now().UnixMilli(), 10))
				if s, ok := release.Script(wire.ScriptName(sent[i])); ok && (i == 1 || i == 2 && sent[1] == "LOAD") {
					sent[i] = map[bool]string{true: s.SHA1, false: s.Body}[strings.HasPrefix(sent[0], "EVALSHA")]
				}
			}
			out = append(out, sent)
		}
		return out
	})
}

func escaped(argument string) string {
	q := strconv.QuoteToASCII(argument)
	return strings.ReplaceAll(q[1:len(q)-1], " ", `\x20`)
}

func unescaped(text string) string {
	argument, err := strconv.Unquote(`"` + text + `"`)
	if err != nil {
		panic(err)
	}
	return argument
}

// counter gives numbers for ids; a call that is sent again keeps its number.
func counter(format string) func(id string) string {
	ids := map[string]string{}
	return func(id string) string {
		ids[id] = cmp.Or(ids[id], fmt.Sprintf(format, len(ids)+1))
		return ids[id]
	}
}

// withoutTransfer drops the n-th transfer after each of the subscriptions from one on, until the channel is unsubscribed.
func withoutTransfer(n, from int) func() mutation {
	sent, subscribed := 0, 0
	return when(func(c []string) bool {
		switch {
		case c[0] == "SUBSCRIBE":
			sent, subscribed = 0, subscribed+1
		case c[0] == "UNSUBSCRIBE":
			subscribed = 0
		case isTransfer(c):
			sent++
		}
		return isTransfer(c) && sent == n && subscribed >= from
	}, func([]string) [][]string { return nil })
}

// subscribesOnce subscribes to another channel instead of again, while the channel is subscribed or after that.
func subscribesOnce(while bool) func() mutation {
	open := map[string]bool{}
	return when(func(c []string) bool { return strings.HasSuffix(c[0], "SUBSCRIBE") }, func(c []string) [][]string {
		was, known := open[c[1]]
		open[c[1]] = c[0] == "SUBSCRIBE"
		if known && open[c[1]] && was == while {
			c[1] = "redisson_delay_queue_channel"
		}
		return [][]string{c}
	})
}

// afterLoad changes the first offer after a SCRIPT LOAD of its text.
func afterLoad(f mutation) func() mutation {
	loads, loaded := 0, 0
	script, _ := wire.Newest().Script(wire.ScriptOffer)
	return when(func(c []string) bool {
		if c[len(c)-1] == script.Body {
			loads++
		}
		return isOffer(c) && loads > loaded
	}, func(c []string) [][]string { loaded = loads; return f(c) })
}
