//go:build unix

package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// hostile sets up connections as a Redis does, and then gives the same answer to each command, over and over if it has no end.
// asked is closed at the first of these.
func hostile(t *testing.T, answer string, endless bool) (addr string, asked <-chan struct{}) {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	info := "redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\n"
	setUp := map[string]string{
		"HELLO": "-ERR unknown command\r\n", "CLIENT": "+OK\r\n", "SELECT": "+OK\r\n", "PING": "+PONG\r\n",
		"TIME": "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n", "INFO": fmt.Sprintf("$%d\r\n%s\r\n", len(info), info),
	}
	met := make(chan struct{})
	once := sync.OnceFunc(func() { close(met) })
	go func() {
		for c, err := listener.Accept(); err == nil; c, err = listener.Accept() {
			go func() {
				defer c.Close()
				in := resp.NewReader(c, 0)
				for command, err := in.ReadCommand(); err == nil; command, err = in.ReadCommand() {
					reply, known := setUp[strings.ToUpper(command[0])]
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
			addr, asked := hostile(t, answer, strings.Contains(name, "without"))
			cmd := command(t, 30*time.Second, []string{"doctor", "--redis", "redis://" + addr})
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
			require.ErrorContains(t, err, "exit status ") // and it was not killed at the deadline
			require.NotEmpty(t, stderr.String())
			requireLittleMemory(t, cmd.ProcessState)
			if name == "interrupted" {
				require.Regexp(t, "^dq-bench: interrupted: ", stderr.String())
				require.Less(t, took, 4*time.Second, "it does not wait for the limit of 5 s")
			}
			t.Logf("%v: %.200s", took, &stderr)
		})
	}
}

// What comes from outside is read within bounds of time and bytes, whatever it is.
func TestInputFromOutsideIsBounded(t *testing.T) {
	t.Parallel()
	sources := map[string]func(t *testing.T, name string){
		"a pipe without a writer": func(t *testing.T, name string) { require.NoError(t, syscall.Mkfifo(name, 0o600)) },
		"a device":                func(t *testing.T, name string) { require.NoError(t, os.Symlink("/dev/zero", name)) },
		"a line without end": func(t *testing.T, name string) {
			writer(t, name, func(w io.Writer) bool { _, err := w.Write(bytes.Repeat([]byte("a"), 1<<20)); return err == nil })
		},
		"a slow drip": func(t *testing.T, name string) { writer(t, name, drip) },
	}
	commands := map[string][]string{
		"a plan":         {"run", "-f", "FILE.yaml"},
		"a token":        {"run", "--redis", "redis://127.0.0.1:1", "--listen", "127.0.0.1:0", "--agents", "1", "--token-file", "FILE"},
		"an agent":       {"agent", "--join", "127.0.0.1:1", "--token-file", "FILE"},
		"a password":     {"run", "--redis", "redis://127.0.0.1:1", "--redis-password-file", "FILE"},
		"an authority":   {"run", "--redis", "rediss://127.0.0.1:1?tls_ca=FILE"},
		"a run file":     {"compare", "FILE", "FILE"},
		"a stored run":   {"compare", "FOLDER", "FOLDER"},
		"runs of a page": {"compare", "FOLDER/*", "FOLDER"},
		"a recording":    {"diff", "FILE", "FILE"},
		"a replay":       {"replay", "--redis", "embedded", "FILE"},
	}
	var pairs [][2]string
	for _, what := range slices.Sorted(maps.Keys(commands)) {
		for _, source := range slices.Sorted(maps.Keys(sources)) {
			pairs = append(pairs, [2]string{what, source})
		}
	}
	for _, pair := range redistest.Sample(t, pairs, 3) { // each of both is there
		t.Run(pair[0]+" from "+pair[1], func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			at := filepath.Join(folder, "run.json")
			if pair[0] == "a plan" {
				at = filepath.Join(folder, "plan.yaml")
			}
			sources[pair[1]](t, at)
			var line []string
			for _, word := range commands[pair[0]] {
				line = append(line, strings.NewReplacer("FILE.yaml", at, "FILE", at, "FOLDER", folder).Replace(word))
			}
			state, said := ended(t, 15*time.Second, line) // 5 s where nothing else runs
			require.Contains(t, []int{1, 2}, state.ExitCode(), said)
			requireLittleMemory(t, state)
		})
	}
}

// A command that reads, or that waits for who runs the load, ends at once when it is told to.
func TestACommandThatReadsEndsWhenToldTo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	plan, token := filepath.Join(folder, "plan.yaml"), filepath.Join(folder, "token")
	require.NoError(t, os.WriteFile(token, []byte("s3cret"), 0o600))
	writer(t, plan, drip)
	silent := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { silent.Close() })
	endless, _ := hostile(t, strings.Repeat("a", 1<<20), true)
	for _, args := range [][]string{
		{"run", "-f", plan}, {"analyze", plan}, {"agent", "--join", silent.Addr().String(), "--token-file", token},
		{"run", "--driver", "memory", "--redis", "redis://127.0.0.1:1", "--listen", "127.0.0.1:0", "--agents", "1", "--token-file", token, "--out", filepath.Join(folder, "out")},
	} {
		cmd := command(t, 20*time.Second, args)
		require.NoError(t, cmd.Start())
		time.AfterFunc(500*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
		_ = cmd.Wait()
		require.Equal(t, "exit status 1", cmd.ProcessState.String(), "%v", args)
	}
	state, said := ended(t, 15*time.Second, []string{"agent", "--join", endless, "--token-file", token})
	require.Equal(t, 1, state.ExitCode(), said)
	requireLittleMemory(t, state)
}

// An agent that is ended in the middle of a run fails: the run lacks its share. A run that waits for others counts it no longer.
func TestAnAgentThatIsEndedInARunFails(t *testing.T) {
	t.Parallel()
	door := load.NewDoor("s3cret")
	s := must(web.Serve(t.Context(), "127.0.0.1:0", nil, nil, door))
	defer s.Close()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("s3cret"), 0o600))
	cmd := command(t, time.Minute, []string{"agent", "--join", s.URL(), "--token-file", token})
	var said bytes.Buffer
	cmd.Stderr = &said
	require.NoError(t, cmd.Start())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := door.Wait(ctx, 2, "memory", func(notice string) {
		if strings.HasPrefix(notice, "an agent left, 0 of 2 are there: ") {
			cancel()
			return
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // once it is let in
	})
	require.EqualError(t, err, "0 of 2 agents arrived: context canceled")
	require.EqualError(t, cmd.Wait(), "exit status 1")
	require.Contains(t, said.String(), "dq-bench: interrupted in the middle of a run of "+strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/"))
}

// requireLittleMemory bounds the memory that a program took. The system counts in what this process had when it started the program.
func requireLittleMemory(t *testing.T, state *os.ProcessState) {
	t.Helper()
	var own syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	require.Less(t, state.SysUsage().(*syscall.Rusage).Maxrss, own.Maxrss+200<<10, "KiB of memory")
}

// writer makes a pipe that write is called for again and again, while a reader is there.
func writer(t *testing.T, name string, write func(io.Writer) bool) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	file := must(os.OpenFile(name, os.O_RDWR, 0)) // which is a reader, too: what nobody reads stays
	go func() {
		for write(file) {
		}
	}()
	t.Cleanup(func() { file.Close() })
}

// drip writes a byte now and then.
func drip(w io.Writer) bool {
	_, err := w.Write([]byte("a"))
	time.Sleep(50 * time.Millisecond)
	return err == nil
}

func command(t *testing.T, limit time.Duration, args []string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, must(os.Executable()), args...)
	cmd.Args[0], cmd.Dir = "dq-bench", t.TempDir()
	return cmd
}

func ended(t *testing.T, limit time.Duration, args []string) (state *os.ProcessState, said string) {
	t.Helper()
	cmd := command(t, limit, args)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState, string(out)
}
