package cli

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// offered puts a value into a queue, as a Redisson of that layout does, due at an instant.
func offered(ctx context.Context, client redis.UniversalClient, queue string, layout wire.Layout, value string, due time.Time) error {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], rand.Uint64())
	member, names := layout.Pack(id, []byte(value)), wire.NamesOf(queue)
	_, err := client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.ZAdd(ctx, names.TimeoutSet, redis.Z{Score: float64(due.UnixMilli()), Member: member})
		tx.RPush(ctx, names.Pending, member)
		return nil
	})
	return err
}

func offer(ts *testscript.TestScript, args []string) {
	delay, err := time.ParseDuration(args[3])
	ts.Check(err)
	layout := wire.LayoutDLc0
	if args[1] != layout.String() {
		layout = layout.Other()
	}
	client := redis.NewClient(&redis.Options{Addr: ts.Getenv("REDIS_ADDR")})
	defer client.Close()
	ts.Check(offered(context.Background(), client, args[0], layout, args[2], time.Now().Add(delay)))
}

func redisDo(ts *testscript.TestScript, _ bool, args []string) {
	client := redis.NewClient(&redis.Options{Addr: ts.Getenv("REDIS_ADDR")})
	defer client.Close()
	words := make([]any, len(args))
	for i, word := range args {
		words[i] = word
	}
	ts.Check(client.Do(context.Background(), words...).Err())
}

func subscribe(ts *testscript.TestScript, args []string) {
	client := redis.NewClient(&redis.Options{Addr: ts.Getenv("REDIS_ADDR"), ClientName: "billing"})
	subscription := client.Subscribe(context.Background(), wire.NamesOf(args[0]).Channel)
	_, err := subscription.Receive(context.Background())
	ts.Check(err)
	ts.Defer(func() { subscription.Close(); client.Close() })
}

// A watch shows changes as lines and as metrics, goes on while the server is away, and ends as the last look would.
func TestDoctorWatches(t *testing.T) {
	t.Parallel()
	srv := redistest.Redis(t)
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	client := redistest.Client(srv)
	defer client.Close()
	require.NoError(t, offered(ctx, client, "orders", wire.LayoutBc0Lc0, "x", time.Now().Add(time.Hour)))

	stdout, out := io.Pipe()
	stderr, errs := io.Pipe()
	d := &doctorCall{call: newCall("doctor", nil), watch: true, interval: 100 * time.Millisecond}
	d.listen = "127.0.0.1:0"
	require.NoError(t, d.checkListen())
	d.SetContext(ctx)
	d.SetOut(out)
	d.SetErr(errs)
	conn := srv.Conn()
	defer conn.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- d.repeat(ops.NewDoctor(conn, ops.LookOptions{}), conn)
		out.Close()
		errs.Close()
	}()
	notices, lines := bufio.NewScanner(stderr), bufio.NewScanner(stdout)
	require.True(t, notices.Scan())
	url, ok := strings.CutPrefix(notices.Text(), "metrics at ")
	require.True(t, ok, notices.Text())
	require.True(t, notices.Scan())
	require.Contains(t, notices.Text(), "page at http://127.0.0.1:")
	shows := func(text string) {
		for !strings.Contains(lines.Text(), text) {
			require.True(t, lines.Scan(), text)
		}
	}
	shows("YELLOW  orders  1 waiting")
	shows("no-subscriber: ")
	require.NoError(t, offered(ctx, client, "orders", wire.LayoutDLc0, "x", time.Now().Add(time.Hour)))
	shows("RED     orders  2 waiting")
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	metrics := must(io.ReadAll(response.Body))
	for _, line := range []string{"dq_queues_up 1", `dq_queue_waiting_members{queue="orders"} 2`, `dq_queue_findings{kind="foreign-member",state="red",queue="orders"} 1`} {
		require.Contains(t, string(metrics), line+"\n")
	}

	go io.Copy(io.Discard, stdout) //nolint:errcheck // ends with the pipe
	require.NoError(t, srv.Close())
	require.True(t, notices.Scan(), "that the server is away is said")
	go io.Copy(io.Discard, stderr) //nolint:errcheck // ends with the pipe
	interrupt()
	err = <-ended
	var coded *exitError
	require.True(t, errors.As(err, &coded), "%v", err)
	require.Equal(t, exitFailed, coded.code)
}

// A value that only the application's Java reads is found by its fields.
func TestQueueWhereByJava(t *testing.T) {
	t.Parallel()
	srv := redistest.Redis(t)
	client := redistest.Client(srv)
	defer client.Close()
	for _, value := range []string{"\xac\xed\x00\x05opaque 7", "\xac\xed\x00\x05opaque 8"} {
		require.NoError(t, offered(t.Context(), client, "orders", wire.LayoutBc0Lc0, value, time.Now().Add(time.Hour)))
	}
	list := func(more ...string) string {
		cmd := exec.CommandContext(t.Context(), "dq-bench", append([]string{"queue", "list", "orders", "--where", ".orderId == 7", "--redis", srv.URL()}, more...)...)
		cmd.Env = append(os.Environ(), "DQ_JAVA=dq-fake-java")
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	require.Empty(t, list())
	require.Regexp(t, `^waiting \S+ +in .*serialization.*\n$`, list("--classpath", "app.jar"))
}

// leased puts a message under a lease of a dq.Worker that ends some time from now.
func leased(ts *testscript.TestScript, args []string) {
	client := redis.NewClient(&redis.Options{Addr: ts.Getenv("REDIS_ADDR")})
	defer client.Close()
	names, ctx := scripts.LeaseNamesOf(args[0]), context.Background()
	ends, err := time.ParseDuration(args[2])
	ts.Check(err)
	ts.Check(client.ZAdd(ctx, names.Leases, redis.Z{Score: float64(time.Now().Add(ends).UnixMilli()), Member: "id"}).Err())
	ts.Check(client.HSet(ctx, names.Bodies, "id", args[1]).Err())
	ts.Check(client.HSet(ctx, names.Counts, "id", 1).Err())
}

// next runs the command that doctor printed for a kind of finding, with more flags, as a person who pastes it. A guard is interrupted.
func next(ts *testscript.TestScript, args []string) {
	kept := "NEXT_" + strings.ReplaceAll(args[0], "-", "_")
	if _, after, found := strings.Cut(ts.ReadFile("stdout"), " "+args[0]+": "); found {
		_, command, _ := strings.Cut(after, "\n  next    ")
		command, _, _ = strings.Cut(command, "\n")
		ts.Setenv(kept, command)
	}
	command := strings.TrimSpace(ts.Getenv(kept) + " " + strings.Join(args[1:], " "))
	if !strings.HasPrefix(command, "dq-bench ") {
		ts.Fatalf("no command is printed for %s: %q", args[0], command)
	}
	if strings.Contains(command, " guard ") {
		command = "timeout -s INT 2 " + command + " || true"
	}
	ts.Check(ts.Exec("sh", "-c", command))
}

// The command that a finding names mends it: the test runs the command, with --yes if it prints a plan.
func TestNextCommandsMend(t *testing.T) {
	t.Parallel()
	names, leases, ahead := wire.NamesOf("orders"), scripts.LeaseNamesOf("orders"), ops.AheadKey("orders")
	member := func(l wire.Layout, value string) string {
		return string(l.Pack([8]byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte(value)))
	}
	a, old, windows := member(wire.LayoutBc0Lc0, "x"), member(wire.LayoutDLc0, "y"), "abcdefgh\x01\x00\x00\x00a"
	in := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).UnixMilli(), 10) }
	offer := func(member, due string) [][]any {
		return [][]any{{"ZADD", names.TimeoutSet, due, member}, {"RPUSH", names.Pending, member}}
	}
	hour := in(time.Hour)
	for kind, broken := range map[string][][]any{
		"overdue":           offer(a, in(-time.Minute)),
		"foreign-member":    append(offer(a, in(time.Second)), offer(old, in(time.Second))...),
		"ahead":             {{"ZADD", ahead, 5, old}},
		"unreadable-member": offer("x", hour),
		"ghost":             {{"RPUSH", names.Pending, a}},
		"listed-again":      append(offer(a, hour), []any{"RPUSH", names.Pending, a}),
		"windows-member":    offer(windows, "5000"),
		"wrong-type":        {{"ZADD", names.TimeoutSet, hour, a}, {"SET", names.Pending, "x"}},
		"orphan":            {{"ZADD", names.TimeoutSet, hour, a}},
		"fractional-score":  {{"ZADD", names.TimeoutSet, hour + ".5", a}},
		"stuck-head":        {{"ZADD", names.TimeoutSet, -5, a}},
		"abandoned":         {{"ZADD", leases.Leases, 5, "id"}, {"HSET", leases.Bodies, "id", "x"}},
		"dead-letters":      {{"ZADD", leases.Dead, 5, "id"}, {"HSET", leases.Bodies, "id", "x"}},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Redis(t)
			conn := srv.Conn()
			defer conn.Close()
			_, err := conn.Pipe(t.Context(), broken...)
			require.NoError(t, err)
			find := func() string {
				seen, err := ops.NewDoctor(conn, ops.LookOptions{Queues: []string{"orders"}, Flags: []string{"--redis", srv.URL()}, Address: srv.URL()}).Look(t.Context())
				require.NoError(t, err)
				for _, f := range seen.Queues[0].Findings {
					if f.Kind == kind {
						return f.Next
					}
				}
				return ""
			}
			next := find()
			require.NotEmpty(t, next, "the finding is there")
			if strings.HasPrefix(next, "redis-cli ") {
				require.NoError(t, exec.CommandContext(t.Context(), "sh", "-c", next).Run(), next)
				require.Empty(t, find())
				return
			}
			cmd, args := newRootCmd(), strings.Fields(next)[1:]
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ended, guards := make(chan error, 1), args[0] == "guard"
			if !guards {
				args = append(args, "--yes", "--out", t.TempDir())
			}
			cmd.SetArgs(args)
			go func() { ended <- cmd.ExecuteContext(ctx) }()
			for ; guards && find() != ""; time.Sleep(10 * time.Millisecond) {
				require.NoError(t, ctx.Err())
			}
			if guards {
				cancel() // it has mended the queue
			}
			require.NoError(t, <-ended, next)
			require.Empty(t, find(), next)
		})
	}
}
