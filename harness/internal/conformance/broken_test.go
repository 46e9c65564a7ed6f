package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// TestMain makes the test binary, called with port and a fault, a driver program that is dq
// but for that.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "port" {
		_ = os.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC") // a JVM lives for seconds here
		redistest.Main(m)
	}
	servePort(os.Args[2])
}

// servePort answers the ops of the driver protocol by dq.
func servePort(fault string) {
	dq := spec.DQ{Release: wire.Newest()}.Link(true)
	defer dq.Close()
	var writing sync.Mutex
	say := func(line map[string]any) {
		writing.Lock()
		defer writing.Unlock()
		text, _ := json.Marshal(line)
		fmt.Println(string(text))
	}
	offers := 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request map[string]any
		if json.Unmarshal(lines.Bytes(), &request) != nil {
			return
		}
		id, op := request["id"], request["op"].(string)
		delete(request, "id")
		delete(request, "op")
		if op == "dq.offer" {
			offers++
		}
		switch {
		case op != "hello" && fault == "deaf":
			continue
		case op == "hello":
			hello := dq.Introduction()
			if fault == "lists nothing" {
				hello.Capabilities = []string{}
			}
			hello.Protocol = program.Protocol
			say(map[string]any{"id": id, "ok": true, "result": hello})
			continue
		case op == "open" && fault == "misspells":
			request["queue"] = fmt.Sprint(request["queue"], "s")
		case op == "dq.offer" && fault == "capitals":
			value := request["value"].(map[string]any)
			value["v"] = strings.ToUpper(fmt.Sprint(value["v"]))
		case op == "dq.offer" && offers == 3 && fault == "panics":
			panic("the third offer")
		}
		go func() {
			result, err := dq.Call(context.Background(), op, request)
			var remote *program.RemoteError
			if errors.As(err, &remote) {
				say(map[string]any{"id": id, "ok": false, "error": remote})
				return
			}
			say(map[string]any{"id": id, "ok": true, "result": result})
		}()
	}
}

// verifyPort judges such a program by all cases. first bounds its first call, wait the waits of cases; 0 is the default.
func verifyPort(t *testing.T, fault string, maxFailures int, first, wait time.Duration) (*Report, error) {
	t.Helper()
	redistest.Redis(t) // skips where there is none
	self, err := os.Executable()
	require.NoError(t, err)
	spec, err := spec.ParseProgram(fmt.Sprintf("exec:'%s' port '%s'", self, fault))
	require.NoError(t, err)
	sections, oracle := loaded()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	plan := &Plan{
		Spec: spec, Redis: "process", Cases: Select(sections, nil), Oracle: oracle, MaxFailures: maxFailures,
		Notice: func(string) {}, Finished: func(Result) {}, first: first, wait: wait,
	}
	return plan.Run(ctx)
}

// A program that ends in the middle of a case fails that case, with what it said last, and
// is started anew for the next.
func TestAProgramThatPanicsFailsItsCases(t *testing.T) {
	t.Parallel()
	report, err := verifyPort(t, "panics", 3, 0, 0)
	require.NoError(t, err)
	require.Zero(t, report.Counts.Error)
	require.Positive(t, report.Counts.Pass)
	require.Contains(t, report.Stopped, "in 3 cases the program failed")
	for _, r := range report.Cases {
		if r.Status == Fail {
			require.Contains(t, r.Detail, "panic: the third offer")
		}
	}
}

func TestAProgramThatAnswersNothingCannotBeUsed(t *testing.T) {
	t.Parallel()
	_, err := verifyPort(t, "deaf", 10, time.Second, 0)
	var broken *ProgramError
	require.ErrorAs(t, err, &broken)
	require.ErrorContains(t, err, "the driver cannot be used: open was not answered within 1s: the program hangs, or reads no more")
}

func TestAProgramThatListsNothingCannotBeJudged(t *testing.T) {
	t.Parallel()
	_, err := verifyPort(t, "lists nothing", 10, 0, 0)
	var broken *ProgramError
	require.ErrorAs(t, err, &broken)
	require.ErrorContains(t, err, `expected the "capabilities" in its answer to hello to list operations that the cases call, such as "`)
}

// Cases that fail alike in a row are not all waited for.
func TestAProgramWithOtherKeysIsRefusedSoon(t *testing.T) {
	t.Parallel()
	report, err := verifyPort(t, "misspells", 3, 0, time.Second)
	require.NoError(t, err)
	require.Contains(t, report.Stopped, "3 cases in a row failed alike")
	text := report.Text()
	require.Contains(t, text, "3 cases: W-KEY-1: SUBSCRIBE")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "    alone") { // which is there to be copied
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
		}
	}
	require.Contains(t, strings.Join(strings.Fields(text), " "), "--verbose runs all")
}

func TestAnAlteredValueBreaksStatementsOnCodecs(t *testing.T) {
	t.Parallel()
	report, err := verifyPort(t, "capitals", 3, 0, time.Second)
	require.NoError(t, err)
	require.Contains(t, report.Stopped, `W-CODEC-1: the value "A" was written`)
	for _, v := range report.Verdicts() {
		if v.Verdict == Broken {
			require.Regexp(t, "^W-CODEC-", v.ID, v.By)
		}
	}
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
	require.Equal(t, []Cause{{"an extra TIME", 2, "c"}, {"x 1", 1, "a"}}, causes)
	silent := causesOf([]Result{{ID: "a", Status: Fail, Detail: "open was not answered", silent: true}, {ID: "b", Status: Fail, Detail: "close was not", silent: true}})
	require.Len(t, silent, 1)
}

func TestFailuresInARow(t *testing.T) {
	fail := func(cause string) Result { return Result{Status: Fail, Cause: cause} }
	limit := alike{most: 3}
	for _, r := range []Result{fail("x"), fail("x"), {Status: Pass}, fail("x"), {Status: Skip}, fail("y"), fail("x"), fail("x")} {
		require.Empty(t, limit.after(r, false))
	}
	require.True(t, strings.HasPrefix(limit.after(fail("x"), false), "3 cases in a row failed alike: x"))
	require.Empty(t, (&alike{}).after(fail("x"), true), "0 is never")
}
