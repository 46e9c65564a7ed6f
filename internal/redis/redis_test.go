package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// parentEnv makes the test binary play the parent of TestProcessDiesWithItsParent.
const parentEnv = "DQ_TEST_SERVER_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		s, err := redis.Start(context.Background(), "process", nil)
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(s.Addr)
		select {}
	}
	redistest.MainWithoutLeaks(m)
}

func process(t *testing.T) *redis.Server {
	t.Helper()
	return redistest.Start(t, "process", "redis")
}

func TestProcess(t *testing.T) {
	t.Parallel()
	s := process(t)
	require.Contains(t, []string{"redis", "valkey"}, s.Product)
	require.Regexp(t, `^\d+\.\d+\.\d+`, s.Version)
	require.Contains(t, s.How, "process /")
	pid := s.Nodes()[0].PID()
	require.False(t, s.Embedded())
	require.Equal(t, "redis://"+s.Addr+"/0", s.URL())

	c := redistest.Client(s)
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, c.Close())

	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "a second Close is harmless")
	require.ErrorIs(t, must(os.FindProcess(pid)).Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func TestProcessThatIsNoRedis(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/nowhere/redis-server": "expected a Redis server program at /nowhere/redis-server",
		"false":                 "it ended: it logged nothing",
	} {
		_, err := redis.Start(t.Context(), "process:"+path, nil)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestProcessDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child's life to its parent's")
	}
	t.Parallel()
	process(t) // skips where there is no server program
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"=1", "TMPDIR="+t.TempDir())
	out := must(parent.StdoutPipe())
	require.NoError(t, parent.Start())
	line := must(bufio.NewReader(out).ReadString('\n'))

	conn, err := net.Dial("tcp", strings.TrimSpace(line))
	require.NoError(t, err, line)
	defer conn.Close()
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	// The server's end closes the connection: an event, not a poll.
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.False(t, os.IsTimeout(err), "the server outlived its parent")
}

// A call to a server that falls silent ends with its context.
func TestWithinEndsWithItsContext(t *testing.T) {
	t.Parallel()
	silent := must(net.Listen("tcp", "127.0.0.1:0"))
	defer silent.Close()
	for name, call := range map[string]func(context.Context, redis.Conn) error{
		"Do": func(ctx context.Context, c redis.Conn) error { return c.Do(ctx, "PING").Err() },
		"Run": func(ctx context.Context, c redis.Conn) error {
			return c.Run(ctx, redis.NewScript("return 1"), nil).Err()
		},
		"Pipe": func(ctx context.Context, c redis.Conn) error { r, _ := c.Pipe(ctx, []any{"PING"}); return r[0].Err() },
	} {
		c := must(redis.Connect("redis://" + silent.Addr().String()))
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = silent.Accept(); cancel() }()
		require.ErrorIs(t, call(ctx, redis.Within(c, time.Hour)), context.Canceled, name)
	}
}

func TestExternalRefusals(t *testing.T) {
	t.Parallel()
	own := process(t)
	c := redistest.Client(own)
	require.NoError(t, c.ConfigSet(t.Context(), "requirepass", "s3cret").Err())
	require.NoError(t, c.Close())
	open := process(t)

	acl := filepath.Join(t.TempDir(), "users.acl")
	require.NoError(t, os.WriteFile(acl, []byte("user default off\nuser app on >pw ~* &* +@all\n"), 0o600))
	users := redistest.Process(t, "--aclfile", acl)
	require.Regexp(t, `^(redis|valkey) \d+\.\d+\.\d+ `, users.String(), "known though nobody may ask it")

	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	tlsWeb := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(tlsWeb.Close)
	mute := redis.Serving(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	// A port that was free a moment ago may be another test's by now.
	const closed = "127.0.0.1:1"

	for name, tc := range map[string]struct{ url, want string }{
		"refused":            {"redis://" + closed, "nothing listens there"},
		"no such host":       {"redis://dq-bench.invalid", "the host name does not resolve"},
		"wrong password":     {"redis://:wr0ng@" + own.Addr, `refuses the user "default" with this password`},
		"wrong user":         {"redis://u:wr0ng@" + own.Addr, `refuses the user "u" with this password`},
		"no password given":  {"redis://" + own.Addr, "it wants a password"},
		"no user given":      {"redis://" + users.Addr, "another user with a password"},
		"user is off":        {"redis://:wr0ng@" + users.Addr, `the user "default" with this password, or that user is off`},
		"only +OK":           {"redis://:wr0ng@" + fake(t, "+OK\r\n"), "its INFO names no version"},
		"a line without end": {"redis://" + fake(t, "+"+strings.Repeat("x", 1<<20)), "that is no Redis answer"},
		"no such database":   {"redis://" + open.Addr + "/999", "no database of that number"},
		"TLS to plain":       {"rediss://" + open.Addr, "redis:// if it speaks no TLS"},
		"plain to TLS":       {"redis://:wr0ng@" + tlsWeb.Listener.Addr().String(), "rediss:// if it speaks TLS"},
		"untrusted TLS":      {"rediss://" + tlsWeb.Listener.Addr().String(), "certificate is not trusted"},
		"a web server":       {"redis://" + web.Listener.Addr().String(), "no Redis"},
		"mute":               {"redis://" + mute, "no answer within"},
		"no cluster":         {"redis+cluster://" + closed, "nothing listens there"},
		"no sentinel":        {"redis+sentinel://" + closed + "/m", "nothing listens there"},
		"not a sentinel":     {"redis+sentinel://" + open.Addr + "/m", "that is no sentinel"},
		"not a cluster":      {"redis+cluster://" + open.Addr, "found a Redis in standalone mode: use redis:// instead of redis+cluster://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := redis.Start(ctx, tc.url, nil)
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, "expected a ")
			require.NotContains(t, err.Error(), "wr0ng")
			require.NotContains(t, err.Error(), "\n")
		})
	}
	for name, url := range map[string]string{"right password": "redis://:s3cret@" + own.Addr, "needless password": "redis://:s3cret@" + open.Addr, "user": "redis://app:pw@" + users.Addr} {
		t.Run(name, func(t *testing.T) {
			s := must(redis.Start(t.Context(), url, nil))
			require.Equal(t, []string{"external", own.Version}, []string{s.How, s.Version})
			require.NotContains(t, s.String(), "s3cret")
			require.NoError(t, s.Close(), "which leaves the server alone")
			require.NoError(t, must(redis.Dial(t.Context(), url, []string{"ECHO", "mark"})).Close())
			_, err := redis.Dial(t.Context(), url, []string{"NOSUCH"})
			require.ErrorContains(t, err, "NOSUCH: ERR unknown command")
			require.NoError(t, s.Conn().Do(t.Context(), "PING").Err())
		})
	}
	t.Run("a dead node of a cluster", func(t *testing.T) {
		node := redistest.Process(t, "--cluster-enabled", "yes")
		s := must(redis.Start(t.Context(), "redis+cluster://"+closed+","+node.Addr, nil))
		require.Equal(t, node.Addr, s.Addr, "the node that answered is named")
		require.NoError(t, must(redis.Dial(t.Context(), s.URL(), []string{"ECHO", "mark"})).Close())
	})
}

// fake is a server that answers each read with the same bytes.
func fake(t *testing.T, answer string) (addr string) {
	t.Helper()
	return redis.Serving(t, func(c net.Conn) {
		for buf := make([]byte, 1000); ; {
			if _, err := c.Read(buf); err != nil {
				return
			}
			_, _ = io.WriteString(c, answer)
		}
	})
}

func TestNodeKillAndRestartKeepWhatWasWritten(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t, "--appendonly", "yes", "--appendfsync", "always")
	n := s.Nodes()[0]
	pid := n.PID()
	c := redistest.Client(n)
	defer c.Close()
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())

	require.NoError(t, n.Kill())
	require.NoError(t, n.Kill(), "to kill what has ended is no error")
	require.False(t, n.Running())
	_, err := net.Dial("tcp", n.Addr)
	require.Error(t, err, "the port refuses")
	require.DirExists(t, n.Dir)

	require.NoError(t, n.Restart(t.Context()))
	require.NotEqual(t, pid, n.PID())
	require.Equal(t, "v", c.Get(t.Context(), "k").Val())

	require.NoError(t, n.Restart(t.Context()), "also while it runs")
	require.Equal(t, "v", c.Get(t.Context(), "k").Val())
	require.NoError(t, s.Close())
	require.NoDirExists(t, n.Dir)
	require.Error(t, n.Restart(t.Context()), "not once it is closed")
}

func TestNodePauseAndResume(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	n := s.Nodes()[0]
	c := redistest.Client(s)
	defer c.Close()
	require.NoError(t, c.Ping(t.Context()).Err())

	require.NoError(t, n.Pause())
	require.False(t, n.Running())
	impatient := goredis.NewClient(&goredis.Options{Addr: n.Addr, ReadTimeout: 100 * time.Millisecond, MaxRetries: -1})
	defer impatient.Close()
	err := impatient.Ping(t.Context()).Err()
	require.True(t, os.IsTimeout(err), "%v", err)
	require.NoError(t, n.Resume())
	require.NoError(t, n.Resume(), "twice is harmless")
	require.NoError(t, c.Ping(t.Context()).Err())

	require.NoError(t, n.Pause())
	require.NoError(t, s.Close(), "Close ends a paused server too")
	require.NoDirExists(t, n.Dir)
	require.Error(t, n.Pause())
}

func TestProcessArguments(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t, "--requirepass", "secret")
	require.NotEmpty(t, s.Version)
	c := redistest.Client(s)
	defer c.Close()
	require.NoError(t, c.Ping(t.Context()).Err(), "its clients know the password")

	_, err := redis.StartProcess(t.Context(), "", "--no-such-thing", "1")
	require.ErrorContains(t, err, "no-such-thing")
}
