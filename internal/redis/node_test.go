package redis_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

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

	begun := time.Now()
	require.NoError(t, n.Restart(t.Context()))
	t.Logf("restarted in %s", time.Since(begun))
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

	acl := filepath.Join(t.TempDir(), "users.acl")
	require.NoError(t, os.WriteFile(acl, []byte("user default off\nuser app on >pw ~* &* +@all\n"), 0o600))
	s = redistest.Process(t, "--aclfile", acl)
	require.Regexp(t, `^(redis|valkey) \d+\.\d+\.\d+ `, s.String(), "known though nobody may ask it")
	app := goredis.NewClient(&goredis.Options{Addr: s.Addr, Username: "app", Password: "pw"})
	defer app.Close()
	require.NoError(t, app.Ping(t.Context()).Err())

	_, err := redis.StartProcess(t.Context(), "", "--no-such-thing", "1")
	require.ErrorContains(t, err, "no-such-thing")
}
