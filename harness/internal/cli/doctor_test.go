package cli

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
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

// offered puts a value into a queue, as a Redisson of that layout does, due at an
// instant.
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

func offer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: offer QUEUE LAYOUT VALUE DELAY")
	}
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

// subscribe listens as a client with a delayed queue does, to the end of the script.
func subscribe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: subscribe QUEUE")
	}
	client := redis.NewClient(&redis.Options{Addr: ts.Getenv("REDIS_ADDR"), ClientName: "billing"})
	subscription := client.Subscribe(context.Background(), wire.NamesOf(args[0]).Channel)
	_, err := subscription.Receive(context.Background())
	ts.Check(err)
	ts.Defer(func() { subscription.Close(); client.Close() })
}

// A watch shows changes as lines and as metrics, goes on while the server is away, and ends as the last look would.
func TestDoctorWatches(t *testing.T) {
	srv := redistest.Redis(t)
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	client := redistest.Client(srv)
	defer client.Close()
	require.NoError(t, offered(ctx, client, "orders", wire.LayoutBc0Lc0, "x", time.Now().Add(time.Hour)))

	stdout, out := io.Pipe()
	stderr, errs := io.Pipe()
	flags := doctorFlags{watch: true, interval: 100 * time.Millisecond, listen: "127.0.0.1:0", stdout: out, stderr: errs}
	conn := srv.Conn()
	defer conn.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- flags.repeat(ctx, ops.NewDoctor(conn, ops.LookOptions{}))
		out.Close()
		errs.Close()
	}()
	notices, lines := bufio.NewScanner(stderr), bufio.NewScanner(stdout)
	require.True(t, notices.Scan())
	url, ok := strings.CutPrefix(notices.Text(), "metrics at ")
	require.True(t, ok, notices.Text())
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "queue=orders state=yellow waiting=1 ")
	require.Contains(t, lines.Text(), "findings=yellow:no-subscriber")

	require.NoError(t, offered(ctx, client, "orders", wire.LayoutDLc0, "x", time.Now().Add(time.Hour)))
	for !strings.Contains(lines.Text(), "state=red waiting=2") {
		require.True(t, lines.Scan(), "the second offer is seen")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	require.NoError(t, err)
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

// leased puts a message under a lease of a dq.Worker that is over.
func leased(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: leased QUEUE VALUE")
	}
	client := redis.NewClient(&redis.Options{Addr: ts.Getenv("REDIS_ADDR")})
	defer client.Close()
	names, ctx := scripts.LeaseNamesOf(args[0]), context.Background()
	ts.Check(client.ZAdd(ctx, names.Leases, redis.Z{Score: float64(time.Now().Add(-time.Minute).UnixMilli()), Member: "id"}).Err())
	ts.Check(client.HSet(ctx, names.Bodies, "id", args[1]).Err())
	ts.Check(client.HSet(ctx, names.Counts, "id", 1).Err())
}

// next runs the command that doctor printed for a kind of finding, with more flags, as a person who pastes it. A guard is
// interrupted.
func next(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: next KIND [FLAG…]")
	}
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
