// Package workers compares workers with leases: dq.Worker, hibiken/asynq and riverqueue/river.
package workers

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

var results = flag.String("results", "", "the page whose section workers is written")

// side is an implementation: a worker with a lease of 15 s, or what it has.
type side interface {
	// work begins to handle messages through addr, until stop.
	work(ctx context.Context, addr string, handlers int, handle func(id string) error) (stop func(), err error)
	enqueue(ctx context.Context, ids ...string) error
	// open returns how many messages are not done, and how many of them are given up.
	open(ctx context.Context) (waiting, dead int, err error)
}

const lease = 15 * time.Second

// childAt says which side a process of this test is, and where.
const childAt = "DQ_TEST_WORKER"

func TestMain(m *testing.M) {
	if at := os.Getenv(childAt); at != "" {
		child(strings.Fields(at))
		return
	}
	os.Exit(m.Run())
}

// child handles messages until it is killed.
func child(at []string) {
	_, err := byName(at[0], at[1]).work(context.Background(), at[1], 8, func(id string) error {
		fmt.Println("begin", id)
		time.Sleep(200 * time.Millisecond)
		fmt.Println("end", id)
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

func byName(name, addr string) side {
	switch name {
	case "dq":
		return newDQ(addr)
	case "asynq":
		return &asynqSide{goredis.NewClient(&goredis.Options{Addr: addr})}
	}
	return newRiver(addr)
}

type tally struct {
	mu    sync.Mutex
	ended map[string]int
}

func (k *tally) end(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended[id]++
}

func (k *tally) counts() (handled, twice int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, n := range k.ended {
		if id != probe {
			handled++
			if n > 1 {
				twice++
			}
		}
	}
	return handled, twice
}

func (k *tally) has(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ended[id] > 0
}

// probe is a message offered when a fault is over: once it is handled, work has resumed.
const probe = "probe"

func numbered(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint("m", i))
	}
	return ids
}

// TestWorkersThroughFaults shows what becomes of messages whose worker meets a fault, and writes the table with -results. Without, one
// fault will do, and asynq, which takes a minute for it, is left out.
func TestWorkersThroughFaults(t *testing.T) {
	faults := []string{"away 2 s while 50 acknowledge", "away 6 s while 50 acknowledge", "READONLY 2 s while 50 acknowledge", "worker of 8 killed"}
	sides := []string{"dq", "asynq", "river"}
	if *results == "" {
		faults, sides = faults[:1], []string{"dq", "river"}
	}
	rows := make([][]string, len(faults)*len(sides))
	t.Run("all", func(t *testing.T) {
		for i, fault := range faults {
			for j, name := range sides {
				if strings.HasPrefix(fault, "READONLY") && name == "river" {
					continue // PostgreSQL has no such state
				}
				t.Run(fault+" "+name, func(t *testing.T) {
					t.Parallel()
					k := &tally{ended: map[string]int{}}
					resumed, dead := through(t, fault, name, k)
					handled, twice := k.counts()
					all := 50
					if strings.HasPrefix(fault, "worker") {
						all = 40
					}
					rows[i*len(sides)+j] = []string{fault, name, fmt.Sprintf("%d of %d", handled, all), fmt.Sprint(twice), fmt.Sprint(all - handled), fmt.Sprint(dead), resumed.Round(10 * time.Millisecond).String()}
					if name == "dq" {
						require.Equal(t, all, handled)
						require.Zero(t, dead)
						require.True(t, twice == 0 || strings.HasPrefix(fault, "worker"))
					}
				})
			}
		}
	})
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row == nil })
	table := "|fault|worker|handled|twice|lost|dead|resumed|\n|-|-|-|-|-|-|-|\n"
	for _, row := range rows {
		table += "|" + strings.Join(row, "|") + "|\n"
	}
	t.Log("\n" + table)
	if *results != "" {
		require.NoError(t, write(*results, table))
	}
}

// through has messages handled by a side that meets a fault. It returns how long after the fault a message that was offered then
// was handled, and how many messages were given up, once none waits any more.
func through(t *testing.T, fault, name string, k *tally) (resumed time.Duration, dead int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	addr, server := start(t, name)
	far := newRelay(t, addr)
	direct := byName(name, addr)
	var over time.Time
	if strings.HasPrefix(fault, "worker") {
		require.NoError(t, direct.enqueue(ctx, numbered(40)...))
		kill(t, ctx, name, addr, k)
		over = time.Now()
		require.NoError(t, direct.enqueue(ctx, probe))
		stop, err := byName(name, addr).work(ctx, addr, 8, func(id string) error { k.end(id); return nil })
		require.NoError(t, err)
		defer stop()
	} else {
		require.NoError(t, direct.enqueue(ctx, numbered(50)...))
		var begun sync.WaitGroup
		begun.Add(50)
		var once sync.Map
		release := make(chan struct{})
		stop, err := byName(name, far.addr).work(ctx, far.addr, 50, func(id string) error {
			if _, again := once.LoadOrStore(id, true); !again && id != probe {
				begun.Done()
			}
			<-release
			k.end(id)
			return nil
		})
		require.NoError(t, err)
		defer stop()
		begun.Wait()
		time.AfterFunc(100*time.Millisecond, func() { close(release) })
		switch strings.Fields(fault)[0] {
		case "READONLY":
			conn := server.Conn()
			defer conn.Close()
			require.NoError(t, conn.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err())
			time.Sleep(2 * time.Second)
			require.NoError(t, conn.Do(ctx, "REPLICAOF", "NO", "ONE").Err())
		default:
			far.set(true)
			wait, err := time.ParseDuration(strings.Fields(fault)[1] + "s")
			require.NoError(t, err)
			time.Sleep(wait)
			far.set(false)
		}
		over = time.Now()
		require.NoError(t, direct.enqueue(ctx, probe))
	}
	for !k.has(probe) && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	resumed = time.Since(over)
	for ctx.Err() == nil {
		waiting, given, err := direct.open(ctx)
		if err == nil && waiting == 0 {
			return resumed, given
		}
		time.Sleep(100 * time.Millisecond)
	}
	_, dead, _ = direct.open(context.Background())
	return resumed, dead
}

// kill has a process handle messages, and kills it in the midst of them.
func kill(t *testing.T, ctx context.Context, name, addr string, k *tally) {
	t.Helper()
	program := exec.CommandContext(ctx, os.Args[0])
	program.Env = append(os.Environ(), childAt+"="+name+" "+addr)
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	ends := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, id, _ := strings.Cut(lines.Text(), " ")
		if what == "end" {
			k.end(id)
			if ends++; ends == 10 { // others have begun
				_ = program.Process.Kill()
			}
		}
	}
	_ = program.Wait()
}

// start starts what a side needs. The server is nil for PostgreSQL.
func start(t *testing.T, name string) (addr string, server *redis.Server) {
	t.Helper()
	if name == "river" {
		return postgres(t), nil
	}
	s := redistest.Process(t)
	return s.Addr, s
}

// relay hands on what comes over TCP, unless it is down. A redis.Proxy waits for whole commands, which PostgreSQL does not send.
type relay struct {
	addr string
	mu   sync.Mutex
	down bool
	open []net.Conn
}

func newRelay(t *testing.T, to string) *relay {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	r := &relay{addr: l.Addr().String()}
	t.Cleanup(func() { _ = l.Close(); r.set(true) })
	go func() {
		for near, err := l.Accept(); err == nil; near, err = l.Accept() {
			r.join(near, to)
		}
	}()
	return r
}

func (r *relay) join(near net.Conn, to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var far net.Conn
	err := net.ErrClosed
	if !r.down {
		far, err = net.Dial("tcp", to)
	}
	if err != nil {
		_ = near.Close()
		return
	}
	r.open = append(r.open, near, far)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() { _, _ = io.Copy(way[0], way[1]); _ = near.Close(); _ = far.Close() }()
	}
}

// set has the relay down, which cuts all connections, or up again.
func (r *relay) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
	for _, c := range r.open {
		_ = c.Close()
	}
	r.open = nil
}

// write puts the table between the marks of its section.
func write(page, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), "<!-- workers: make faults -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->\n")
	if !ok || !ended {
		return fmt.Errorf("%s: expected the marks <!-- workers: make faults --> and <!-- end -->", page)
	}
	return os.WriteFile(page, []byte(before+"<!-- workers: make faults -->\n\n"+table+"\n<!-- end -->\n"+after), 0o644)
}
