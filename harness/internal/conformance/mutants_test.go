package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	statements "github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/internal/resp"
	"github.com/dq-bench/dq-bench/scenarios"
)

// mutant is dq broken in one way.
type mutant struct {
	name string
	// release is what dq is at; 3.21.0, which sends whole scripts, by default.
	release string
	// likely are cases that should notice; they come first. The others follow until one does.
	likely string
	// breaks is a MUST of docs/spec, of a fault whose author had not seen the judge.
	breaks string
	mutate func() mutation
}

// The harness must notice every fault, or it proves nothing about what passes.
func TestMutantsAreKilled(t *testing.T) {
	t.Parallel()
	var killed atomic.Int64
	ran := redistest.Sample(t, slices.Concat(mutants(), wireFaults(t)), 9)
	inLanes(t, ran, func(m mutant) string { return m.name }, func(t *testing.T, m mutant) {
		t.Helper()
		bench := newMutantBench(t, cmp.Or(m.release, "3.21.0"))
		require.True(t, m.breaks == "" || slices.ContainsFunc(statements.All(), func(s statements.Statement) bool {
			return s.ID == m.breaks && strings.HasPrefix(string(s.Level), "MUST") && s.Releases.Contain(bench.runner.release)
		}), "%s is no MUST of the release", m.breaks)
		changed := new(atomic.Bool)
		mutate := m.mutate()
		bench.proxy.use(func(command []string) [][]string {
			out := mutate(slices.Clone(command))
			if len(out) != 1 || !slices.Equal(out[0], command) {
				changed.Store(true)
			}
			return out
		})
		killer := bench.firstFailure(t, m.likely, changed.Load)
		require.True(t, changed.Load(), "the mutation changed no command, so that it tests nothing; noticed was: %s", killer)
		require.NotEmpty(t, killer, "no case noticed")
		t.Log(killer)
		killed.Add(1)
	})
	fmt.Printf("%d of %d faults of dq's commands killed at the level wire\n", killed.Load(), len(ran))
}

// mutantBench runs cases against dq through a proxy.
type mutantBench struct {
	proxy  *mutantProxy
	runner *Runner
	oracle *Oracle
	cases  []*Case
}

func newMutantBench(t *testing.T, release string) *mutantBench {
	t.Helper()
	r := must(wire.LookupRelease(release))
	srv, proxy := redistest.Redis(t), newMutantProxy(t)
	program := altered{must(must(spec.ParseProgram("dq:"+r.String())).Start(t.Context(), nil, nil)), func(ctx context.Context, op string, params any, next program.Program) (json.RawMessage, error) {
		if op == "open" {
			params.(map[string]any)["redis"] = proxy.url
		}
		return next.Call(ctx, op, params)
	}}
	runner := connected(t, srv, program, r)
	proxy.to.Store(runner.senders.proxy.Addr)
	t.Cleanup(func() { runner.Close(); program.Close() })
	cases, oracle := loaded()
	cases = slices.DeleteFunc(slices.Clone(cases), func(c *Case) bool { return c.Slow || !c.HoldsFor(r) })
	return &mutantBench{proxy, runner, oracle, cases}
}

// firstFailure runs the cases, the likely ones first, until one fails, and tells about that failure.
// A failure without a broken command may come from a machine that stood still: that case runs once more.
func (b *mutantBench) firstFailure(t *testing.T, likely string, broken func() bool) string {
	t.Helper()
	first := regexp.MustCompile(likely)
	ordered := slices.Clone(b.cases)
	slices.SortStableFunc(ordered, func(x, y *Case) int {
		rank := map[bool]int{false: 1}
		return rank[first.MatchString(x.ID)] - rank[first.MatchString(y.ID)]
	})
	for _, c := range ordered {
		result := b.runner.Judge(t.Context(), c, b.oracle)
		if result.Status == Fail && !broken() {
			t.Logf("once more: %s", result.Text())
			result = b.runner.Judge(t.Context(), c, b.oracle)
		}
		switch result.Status {
		case Fail:
			return result.Text()
		case Error:
			t.Logf("%s: error of the harness: %s", c.ID, result.Detail)
		}
	}
	return ""
}

// each changes every command; f may return it as it is.
func each(f func(command []string) []string) func() mutation {
	return func() mutation { return func(command []string) [][]string { return [][]string{f(command)} } }
}

// inScript changes the text of a script, by its name in the catalogue.
func inScript(name wire.ScriptName, old, new string) func() mutation {
	return wireFault{Script: string(name), Old: old, New: new}.mutate()
}

// before sends another command before each that is meant.
func before(is func([]string) bool, other ...string) func() mutation {
	return when(is, func(command []string) [][]string { return [][]string{other, command} })
}

// when changes commands that are meant; without a state of its own.
func when(is func([]string) bool, f mutation) func() mutation {
	return func() mutation {
		return func(command []string) [][]string {
			if is(command) {
				return f(command)
			}
			return [][]string{command}
		}
	}
}

// later adds milliseconds to the clock of a call, at its index.
func later(is func([]string) bool, i int, ms int64) func() mutation {
	return when(is, func(c []string) [][]string {
		c[i] = strconv.FormatInt(number(c[i])+ms, 10)
		return [][]string{c}
	})
}

func withID(f func(id string) string) func() mutation {
	return when(isOffer, func(c []string) [][]string { c[8] = f(c[8]); return [][]string{c} })
}

func isOffer(command []string) bool {
	return len(command) > 6 && strings.HasPrefix(command[6], "redisson_delay_queue_channel")
}

func isTransfer(command []string) bool {
	return len(command) == 8 && command[2] == "3" && command[7] == "100"
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func mutants() []mutant {
	const newest = "4.7.0"
	return []mutant{
		{name: "due 400 ms late", likely: "offer", mutate: later(isOffer, 7, 400)},
		{name: "due 400 ms early", likely: "offer", mutate: later(isOffer, 7, -400)},
		{name: "offers once more after a while", likely: "offer", mutate: resendLast},
		{name: "transfer 490 ms early", likely: "timer|transfer", mutate: later(isTransfer, 6, 490)},
		{name: "transfer 20 ms early", likely: "timer|transfer", mutate: later(isTransfer, 6, 20)},
		{name: "transfer late", likely: "timer|transfer", mutate: later(isTransfer, 6, -2000)},
		{name: "no transfer after a reconnect", likely: "reconnect", mutate: withoutTransfer(1, 2)},
		{name: "SHA-1 in capitals", release: "4.7.0", likely: "start", mutate: when(func(c []string) bool { return c[0] == "EVALSHA" }, func(c []string) [][]string {
			c[1] = strings.ToUpper(c[1])
			return [][]string{c}
		})},
		{name: "answers a miss with EVAL", release: "4.7.0", likely: "start", mutate: missAnsweredWithEval},
		// By the author of the wire faults, who had not seen the judge; they need a state or a clock.
		{"ids are counted", "3.16.6", "offer", "W-MEMBER-3", withID(counter("%d"))},
		{"raw ids are counted", newest, "offer", "W-MEMBER-4", withID(counter("%08d"))},
		{"an id is hexadecimal", newest, "offer", "W-MEMBER-4", withID(func(id string) string { return hex.EncodeToString([]byte(id)) })},
		{"an offer without a delay goes to the destination", newest, "zero", "W-OFFER-5", when(isOffer, func(c []string) [][]string {
			return map[bool][][]string{true: {{"RPUSH", c[3], c[9]}}, false: {c}}[number(c[7]) <= time.Now().UnixMilli()]
		})},
		{"an offer has a new id after a miss", newest, "script", "W-SCRIPT-5", afterLoad(withID(func(string) string { return "new id 8" })())},
		{"an offer has a new due time after a miss", newest, "script", "W-SCRIPT-5", afterLoad(later(isOffer, 7, 7)())},
		{"an offer is sent twice after a miss", newest, "script", "W-SCRIPT-5", afterLoad(func(c []string) [][]string { return [][]string{c, c} })},
		{"no transfer at the start", "3.16.6", "start", "W-START-2", withoutTransfer(1, 1)},
		{"a lost timer", newest, "timer", "W-TIMER-1", withoutTransfer(2, 1)},
		{"one client of a process subscribes", newest, "start", "W-START-5", subscribesOnce(true)},
		{"no subscription after destroy", "3.16.6", "destroy", "W-STOP-5", subscribesOnce(false)},
	}
}

// resendLast sends each offer again when the next command comes, as a client does that lost the reply and tries again.
func resendLast() mutation {
	var last []string
	return func(command []string) [][]string {
		again := last
		last = nil
		if isOffer(command) {
			last = slices.Clone(command)
		}
		if again != nil && !strings.EqualFold(command[0], "UNSUBSCRIBE") {
			return [][]string{again, command}
		}
		return [][]string{command}
	}
}

// missAnsweredWithEval is what go-redis does: no SCRIPT LOAD, but EVAL.
func missAnsweredWithEval() mutation {
	missed := make(map[string]bool)
	return func(command []string) [][]string {
		s, ok := wire.ScriptBySHA1(command[min(1, len(command)-1)])
		switch {
		case len(command) == 3 && command[1] == "LOAD":
			return [][]string{{"PING"}}
		case ok && missed[s.SHA1]:
			command[0], command[1] = "EVAL", s.Body
			delete(missed, s.SHA1)
		case ok:
			missed[s.SHA1] = true
		}
		return [][]string{command}
	}
}

// mutation changes one command of a client into the commands for the server. The reply to the last one is the client's; without
// commands the reply is nil. A mutation may keep state: calls for one run do not overlap.
type mutation func(command []string) [][]string

// mutantProxy stands between an implementation and its server and breaks the commands of the implementation:
//
//	implementation ──▶ proxy ──▶ pipe ── serve ──▶ server
type mutantProxy struct {
	url string
	to  atomic.Value // the server's host:port

	mu     sync.Mutex // one mutation at a time
	mutate mutation
}

func newMutantProxy(t *testing.T) *mutantProxy {
	t.Helper()
	m := &mutantProxy{}
	p, err := redis.NewProxy(func(ctx context.Context) (net.Conn, error) {
		conn, err := redis.DialTo(m.to.Load().(string))(ctx)
		if err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			defer conn.Close()
			m.serve(far, conn)
		}()
		return near, nil
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	m.url = "redis://" + p.Addr
	return m
}

func (m *mutantProxy) use(mutate mutation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mutate = mutate
}

func (m *mutantProxy) apply(command []string) [][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mutate == nil {
		return [][]string{command}
	}
	return m.mutate(command)
}

// serve takes commands one by one and waits for their replies, until the connection subscribes: then the server sends at any time.
func (m *mutantProxy) serve(client, server net.Conn) {
	var raw bytes.Buffer // of one reply: the server sends the next one only when asked
	commands, replies := resp.NewReader(client, 0), resp.NewReader(io.TeeReader(server, &raw), 0)
	subscribed := false
	for {
		command, err := commands.ReadCommand()
		if err != nil || len(command) == 0 {
			return
		}
		out := m.apply(command)
		if !subscribed && strings.EqualFold(command[0], "SUBSCRIBE") {
			subscribed = true
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				io.Copy(client, server)
				client.Close()
			}()
			defer func() { server.Close(); <-ended }()
		}
		if len(out) == 0 {
			io.WriteString(client, "$-1\r\n")
			continue
		}
		for i, command := range out {
			if _, err := server.Write(resp.AppendCommand(nil, command...)); err != nil {
				return
			}
			if subscribed {
				continue
			}
			raw.Reset()
			if _, err := replies.Read(); err != nil {
				return
			}
			if i == len(out)-1 {
				client.Write(raw.Bytes())
			}
		}
	}
}

// portFault replaces text of docs/guides/port.py, so that the port breaks a MUST. Breaks are statements; authors who had not seen
// the judge wrote all faults that have some.
type portFault struct {
	Fault, Old, New  string
	Breaks           []string
	cause, statement string
}

// BenchmarkMutants judges each mutant of the port at the level state, by all cases and by random histories, and writes the counts
// into docs/results.md. It fails below 95 % killed, and if the port itself is killed.
//
//	make mutants
func BenchmarkMutants(b *testing.B) {
	text, err1 := os.ReadFile("../../../docs/guides/port.py")
	list, err2 := os.ReadFile("testdata/port-faults.json")
	results, err3 := os.ReadFile("../../../docs/results.md")
	var faults []portFault
	require.NoError(b, cmp.Or(err1, err2, err3, json.Unmarshal(list, &faults)))
	faults = append([]portFault{{Fault: "the port itself"}}, faults...)
	running, free := new(sync.WaitGroup), make(chan struct{}, lanes/2)
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
		if f.cause == "" {
			survived++
		} else if len(f.Breaks) > 0 {
			of++
			named += map[bool]int{true: 1}[slices.Contains(f.Breaks, f.statement)]
		}
	}
	all := len(faults) - 1
	found := fmt.Sprintf("`state` %d of a port's %d, by the author's statement for %d of %d", all-survived, all, named, of)
	fmt.Println(found)
	results = regexp.MustCompile("`state` .* of \\d+").ReplaceAll(results, []byte(found))
	require.NoError(b, os.WriteFile("../../../docs/results.md", results, 0o644))
	require.Empty(b, faults[0].cause, "the port itself")
	require.LessOrEqual(b, survived*20, all, "expected 95 percent killed")
}

// killed returns the first failure of a port and the statement that it breaks, or "".
func killed(b *testing.B, file string) (cause, statement string) {
	driver, err1 := spec.ParseProgram(fmt.Sprintf("exec:python3 '%s'", file))
	beyond, err2 := Load(scenarios.Conformance, "beyond")
	require.NoError(b, cmp.Or(err1, err2))
	cases, _ := loaded()
	plan := &Plan{Spec: driver, Redis: "process", Cases: slices.Concat(cases, beyond), Level: State, MaxFailures: 1, Notice: func(string) {}, Finished: func(Result) {}, wait: 3 * time.Second}
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
