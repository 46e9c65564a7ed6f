//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostile sets up connections as a Redis does, and then gives the same answer to each command, over and over if it has no end.
// asked is closed at the first of these.
func hostile(t *testing.T, answer string, endless bool) (addr string, asked <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	info := "redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\n"
	setUp := map[string]string{
		"HELLO": "-ERR unknown command\r\n", "CLIENT": "+OK\r\n", "SELECT": "+OK\r\n", "PING": "+PONG\r\n",
		"TIME": "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n", "INFO": fmt.Sprintf("$%d\r\n%s\r\n", len(info), info),
	}
	met := make(chan struct{})
	once := sync.OnceFunc(func() { close(met) })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in := bufio.NewScanner(c); in.Scan(); { // *N, and N times $size and an argument
					n, _ := strconv.Atoi(strings.TrimPrefix(in.Text(), "*"))
					name := ""
					for i := range 2 * n {
						if in.Scan(); i == 1 {
							name = strings.ToUpper(in.Text())
						}
					}
					reply, known := setUp[name]
					if !known {
						once()
					}
					for again := true; again; again = endless && !known {
						if _, err := io.WriteString(c, cmp.Or(reply, answer)); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	return listener.Addr().String(), met
}

// A server that never answers, or answers without an end, or whose cursor does not move ends the look, in a bounded time and memory. An
// interrupted look ends at once.
func TestDoctorAndHostileServers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"silence": "", "a string without an end": "$999999999999\r\n" + strings.Repeat("x", 1<<20), "an array without an end": "*999999999\r\n" + strings.Repeat("$1\r\nx\r\n", 1<<16),
		"one cursor": "*2\r\n$1\r\n7\r\n*0\r\n", "interrupted": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			addr, asked := hostile(t, answer, strings.Contains(name, "without"))
			cmd := exec.CommandContext(ctx, "dq-bench", "doctor", "--redis", "redis://"+addr)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			began := time.Now()
			require.NoError(t, cmd.Start())
			if name == "interrupted" {
				<-asked
				began = time.Now()
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			}
			err := cmd.Wait()
			took := time.Since(began)
			require.NoError(t, ctx.Err())
			var ended *exec.ExitError
			require.ErrorAs(t, err, &ended)
			require.NotEmpty(t, stderr.String())
			peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss / 1024
			require.Less(t, peak, int64(200), "MB")
			if name == "interrupted" {
				require.Less(t, took, 4*time.Second, "it does not wait for the limit of 5 s")
			}
			t.Logf("%v, %d MB: %.200s", took, peak, &stderr)
		})
	}
}
