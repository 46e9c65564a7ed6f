package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// Every command of docs/upgrade.md is run, and prints what stands there, with real Redissons
// as the services: at the releases that it names, and at the two that meet at the change.
//
// In a block of the language console, what follows "$ " is a command, and what follows that its output, where … stands for anything, and
// alone for any number of lines. What the services do is in comments: "service VERSION starts", or "starts with CODEC", "ends", "offers N,
// due in D", "has delivered N", "takes N", and "time passes", after which all is due.
func TestTheUpgradeStory(t *testing.T) {
	t.Parallel()
	text := must(os.ReadFile("../../../docs/upgrade.md"))
	for _, pair := range [][2]string{{"3.16.6", "4.7.0"}, {"3.21.0", "3.21.1"}} {
		t.Run(pair[0]+" to "+pair[1], func(t *testing.T) {
			redistest.Redisson(t, pair[:]...)
			tell(t, strings.NewReplacer("3.16.6", pair[0], "4.7.0", pair[1]).Replace(string(text)))
		})
	}
}

// story is the document while it is carried out.
type story struct {
	t        *testing.T
	ctx      context.Context
	srv      *redis.Server
	client   goredis.UniversalClient
	names    wire.Names
	services map[string]*javaService
	shell    *shell
	offered  int
}

func tell(t *testing.T, text string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	srv := redistest.Redis(t)
	client := redistest.Client(srv)
	t.Cleanup(func() { client.Close() })
	s := &story{
		t: t, ctx: ctx, srv: srv, client: client, names: wire.NamesOf("orders"),
		services: map[string]*javaService{}, shell: newShell(t, srv.URL()),
	}
	comment := regexp.MustCompile(`^<!-- (.*) -->$`)
	commands := 0
	for blocks := strings.Split(text, "```"); len(blocks) > 0; blocks = blocks[min(2, len(blocks)):] {
		for line := range strings.Lines(blocks[0]) {
			if m := comment.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				s.happens(m[1])
			}
		}
		if len(blocks) > 1 && strings.HasPrefix(blocks[1], "console\n") {
			commands += s.console(strings.TrimPrefix(blocks[1], "console\n"))
		}
	}
	require.Greater(t, commands, 8, "the story has commands")
}

// happens carries out a comment.
func (s *story) happens(what string) {
	s.t.Helper()
	if what == "time passes" {
		for i, member := range s.client.ZRange(s.ctx, s.names.TimeoutSet, 0, -1).Val() {
			require.NoError(s.t, s.client.Do(s.ctx, "ZADD", s.names.TimeoutSet, 1000+i, member).Err())
		}
		return
	}
	words := strings.Fields(strings.ReplaceAll(what, ",", ""))
	require.Equal(s.t, "service", words[0], what)
	version, verb := words[1], words[2]
	switch service := s.services[version]; verb {
	case "starts":
		before := s.client.PubSubNumSub(s.ctx, s.names.Channel).Val()[s.names.Channel]
		codec := "string"
		if len(words) > 3 {
			codec = words[4]
		}
		s.services[version] = openRedisson(s.t, s.srv, version, "orders", codec)
		require.Eventually(s.t, func() bool {
			return s.client.PubSubNumSub(s.ctx, s.names.Channel).Val()[s.names.Channel] > before
		}, time.Minute, 10*time.Millisecond, what)
	case "ends":
		require.NoError(s.t, service.link.Close())
		delete(s.services, version)
	case "offers":
		n, err := strconv.Atoi(words[3])
		require.NoError(s.t, err, what)
		delay, err := time.ParseDuration(words[len(words)-1])
		require.NoError(s.t, err, what)
		for i := range n {
			s.offered++
			service.call("dq.offer", map[string]any{
				"value": map[string]string{"t": "string", "v": fmt.Sprintf("order %d", s.offered)}, "delay": delay.Milliseconds() + int64(i)*100,
			})
		}
	case "takes", "has": // has delivered
		n, err := strconv.ParseInt(words[len(words)-1], 10, 64)
		require.NoError(s.t, err, what)
		require.Eventually(s.t, func() bool { return s.client.LLen(s.ctx, s.names.Destination).Val() >= n }, time.Minute, 10*time.Millisecond, what)
		values := s.client.LRange(s.ctx, s.names.Destination, 0, -1).Val()
		for i := 0; verb == "takes" && i < len(values); i++ {
			var taken struct{ V string }
			require.NoError(s.t, json.Unmarshal(service.call("q.poll", nil), &taken))
			require.Regexp(s.t, `^order \d+$`, taken.V)
			values[i] = taken.V
		}
		slices.Sort(values)
		require.Equal(s.t, []int{int(n), int(n)}, []int{len(values), len(slices.Compact(values))}, what)
		require.NoError(s.t, s.client.Del(s.ctx, s.names.Destination).Err())
	default:
		s.t.Fatalf("the story says %q", what)
	}
}

// console runs the commands of a block and returns how many they were.
func (s *story) console(block string) (commands int) {
	s.t.Helper()
	for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
		command, expected, _ := strings.Cut(part, "\n")
		for strings.HasSuffix(command, "\\") {
			more, rest, _ := strings.Cut(expected, "\n")
			command, expected = command+"\n"+more, rest
		}
		got := s.shell.run(command)
		s.t.Logf("$ %s\n%s", command, got)
		pattern := regexp.MustCompile(`(?s)\A` + patternOf(strings.TrimRight(expected, "\n")) + `\n?\z`)
		require.Regexp(s.t, pattern, strings.TrimRight(got, "\n"), "$ %s", command)
		commands++
	}
	return commands
}

// patternOf is what output is to match.
func patternOf(expected string) string {
	var lines []string
	for line := range strings.SplitSeq(expected, "\n") {
		if strings.TrimSpace(line) == "…" {
			lines = append(lines, `.*?`)
			continue
		}
		lines = append(lines, strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(line, " ")), "…", `[^\n]*`)+` *`)
	}
	return strings.Join(lines, "\n")
}

// shell is one that runs a command after another.
type shell struct {
	t      *testing.T
	stdin  io.Writer
	stdout *bufio.Reader
}

func newShell(t *testing.T, redisURL string) *shell {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	command := exec.CommandContext(ctx, "sh")
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "DQ_REDIS="+redisURL)
	command.WaitDelay = 10 * time.Second
	stdin := must(command.StdinPipe())
	stdout := must(command.StdoutPipe())
	command.Stderr = command.Stdout
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		defer cancel()
		// What runs in the background must not outlive a test that failed before it ended it.
		fmt.Fprintln(stdin, "kill $(jobs -p) 2>/dev/null")
		stdin.Close()
		defer time.AfterFunc(command.WaitDelay, cancel).Stop()
		_ = command.Wait()
	})
	return &shell{t, stdin, bufio.NewReader(stdout)}
}

// run returns what a command prints on stdout and stderr.
func (s *shell) run(command string) string {
	s.t.Helper()
	const mark = "-- the command has ended --"
	_, err := fmt.Fprintf(s.stdin, "{ %s\n} 2>&1; echo; echo '%s'\n", command, mark)
	require.NoError(s.t, err)
	var b strings.Builder
	for {
		line, err := s.stdout.ReadString('\n')
		require.NoError(s.t, err, "$ %s\n%s", command, b.String())
		if strings.TrimSuffix(line, "\n") == mark {
			return strings.TrimSuffix(b.String(), "\n")
		}
		b.WriteString(line)
	}
}

// javaService is a queue that a real Redisson has open, until the test ends.
type javaService struct {
	t      *testing.T
	link   *program.Link
	handle string
}

func openRedisson(t *testing.T, srv *redis.Server, version, queue, codec string) *javaService {
	t.Helper()
	redistest.Redisson(t, version)
	p := must(spec.ParseProgram("redisson:" + version))
	link, err := p.Start(t.Context(), func(line string) { t.Log(line) }, t.Output())
	if err != nil {
		redistest.Missing(t, "redisson", err)
	}
	t.Cleanup(func() { link.Close() })
	s := &javaService{t, link, ""}
	var opened struct{ Handle string }
	require.NoError(t, json.Unmarshal(s.call("open", map[string]any{"redis": srv.URL(), "queue": queue, "codec": codec}), &opened))
	s.handle = opened.Handle
	return s
}

// call runs an op of docs/protocol.md on the queue and returns its result.
func (s *javaService) call(op string, arguments map[string]any) json.RawMessage {
	s.t.Helper()
	all := map[string]any{"handle": s.handle}
	maps.Copy(all, arguments)
	result, err := s.link.Call(s.t.Context(), op, all)
	require.NoError(s.t, err)
	return result
}

// Who has the rights that an error asks for may do all that the command does; who has none is told them, and that nothing was changed.
func TestRightsThatErrorsAskFor(t *testing.T) {
	t.Setenv("DQ_JAVA", "dq-fake-java")
	srv := redistest.Redis(t)
	ctx := t.Context()
	client := redistest.Client(srv)
	defer client.Close()
	for command, rights := range map[string]string{
		"doctor orders": doctorRights, "doctor": doctorRights, "queue list orders": doctorRights,
		"migrate orders --to 4.7.0 --yes": changeRights, "migrate orders --codec string:json --classpath app.jar --yes": changeRights,
		"queue repair orders --yes --out " + t.TempDir(): changeRights, "queue reschedule orders --all --to 2h --yes --out " + t.TempDir(): changeRights,
		"guard orders --for 200ms": guardRights, "guard --all --for 200ms": guardRights,
	} {
		require.NoError(t, client.FlushAll(ctx).Err())
		names := wire.NamesOf("orders")
		require.NoError(t, offered(ctx, client, "orders", wire.LayoutDLc0, "x", time.Now().Add(time.Hour)))
		require.NoError(t, client.RPush(ctx, names.Pending, "ghost").Err())
		due := float64(time.Now().Add(time.Hour).UnixMilli())
		require.NoError(t, client.ZAdd(ctx, names.TimeoutSet, goredis.Z{Score: due, Member: "unreadable"},
			goredis.Z{Score: due, Member: wire.LayoutDLc0.Pack([8]byte{1}, []byte("orphan"))}).Err())
		run := func(rights string) error {
			user := []any{"ACL", "SETUSER", "examiner", "reset", "on", ">secret"}
			for word := range strings.FieldsSeq(strings.ReplaceAll(rights, "QUEUE", "orders")) {
				user = append(user, word)
			}
			require.NoError(t, client.Do(ctx, user...).Err())
			address := must(url.Parse(srv.URL()))
			address.User = url.UserPassword("examiner", "secret")
			cmd := newRootCmd()
			cmd.SetArgs(append(strings.Fields(command), "--redis", address.String()))
			var out strings.Builder
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			return cmd.ExecuteContext(ctx)
		}
		err := run(connectRights)
		require.ErrorContains(t, err, "NOPERM", command)
		require.ErrorContains(t, err, "grant the user "+rights, command)
		if strings.HasPrefix(command, "migrate") {
			err := run(strings.ReplaceAll(rights, "+lset", "-lset"))
			require.ErrorContains(t, err, "nothing was changed", command)
			require.ErrorContains(t, err, "grant the user "+rights, command)
		}
		if err := run(rights); err != nil {
			require.NotContains(t, err.Error(), "grant", command)
			require.Regexp(t, "red findings|left: ", err.Error(), command)
		}
	}
}
