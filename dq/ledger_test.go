package dq_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// poison is the value that kills the process of ledgerAt, and a variable: with it, its lease is short and a message has ledgerAttempts.
const poison, ledgerAttempts = "DQ_TEST_POISON", 3

const ledgerLease = 2 * time.Second

var soak = flag.Duration("soak", 0, "how long TestLedger lasts, with a fault every second or so; memory, goroutines and connections must not grow")

// ledger has what became of each message. Workers of two processes write to it: those of the test by themselves, the
// other one by lines of its output.
type ledger struct {
	mu       sync.Mutex
	messages map[string]*entry
	done     []bool            // by number: acknowledged, and so no longer in messages
	values   map[string]string // by the id of a hold
	early    map[string]int    // events that excuse, by the id of a hold whose handler has not begun
	wrong    []string          // messages that began once more, and no event had said so
	twice    int
	refused  int
}

func number(value string) int { n, _ := strconv.Atoi(value); return n }

// entry is one message.
type entry struct {
	confirmed    bool
	begun, ended int
	excused      int // events, or deaths of its process, that said it may come again
}

func (l *ledger) change(value string, f func(*entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done[number(value)] {
		return
	}
	if l.messages[value] == nil {
		l.messages[value] = &entry{}
	}
	f(l.messages[value])
}

// event notes an Event of a delivery by the value that its handler had.
func (l *ledger) event(kind, id string) {
	l.mu.Lock()
	value, known := l.values[id]
	if !known && kind != "Acknowledged" {
		l.early[id]++
	}
	l.mu.Unlock()
	if known && kind != "Acknowledged" {
		l.change(value, func(m *entry) { m.excused++ })
	} else if known {
		l.mu.Lock()
		defer l.mu.Unlock()
		if m := l.messages[value]; m != nil && m.begun > 1 {
			l.twice++
		}
		delete(l.messages, value)
		delete(l.values, id)
		l.done[number(value)] = true
	}
}

func (l *ledger) begin(value, id string) {
	l.mu.Lock()
	if l.done[number(value)] {
		l.wrong = append(l.wrong, value+": acknowledged before")
	}
	l.mu.Unlock()
	l.change(value, func(m *entry) {
		l.values[id] = value
		m.excused += l.early[id]
		delete(l.early, id)
		if m.begun++; m.begun > 1+m.excused {
			l.wrong = append(l.wrong, fmt.Sprintf("%s: %+v", value, *m))
		}
	})
}

func (l *ledger) end(value string) { l.change(value, func(m *entry) { m.ended++ }) }

// died excuses what a process that was killed had not acknowledged.
func (l *ledger) died(held map[string]string) {
	for _, value := range held {
		l.change(value, func(m *entry) { m.excused++ })
	}
}

// missing counts confirmed messages whose handler has not ended.
func (l *ledger) missing() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.messages {
		if m.confirmed && m.ended == 0 {
			n++
		}
	}
	return n
}

// ledgerAt is the variable that makes the test binary a Worker, which prints what it does, of the queue "orders".
const ledgerAt = "DQ_TEST_LEDGER_AT"

// transfers, as a variable with its value, has it take nothing and only transfer.
const transfers = "DQ_TEST_TRANSFERS=1"

// observeLedger has told called with the kind and the id of each Event of a delivery.
func observeLedger(told func(kind, id string)) dq.Option {
	kinds := strings.Fields("dq.Acknowledged dq.LeaseLost dq.ExtensionFailed dq.AckFailed dq.GivenBack dq.Dead")
	return dq.WithObserver(func(e dq.Event) {
		if kind := fmt.Sprintf("%T", e); slices.Contains(kinds, kind) {
			told(strings.TrimPrefix(kind, "dq."), reflect.ValueOf(e).FieldByName("ID").String())
		}
	})
}

// workInProcess runs a Worker until the parent kills the process.
func workInProcess(url string) error {
	opt, err := goredis.ParseURL(url)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(words ...any) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintln(os.Stdout, words...)
	}
	client, err := dq.NewClient(goredis.NewClient(opt), dq.WithRelease("3.16.6"), observeLedger(func(kind, id string) { say(kind, id) }))
	if err != nil {
		return err
	}
	q, err := dq.NewQueue(client, "orders", codec.String{})
	if err != nil {
		return err
	}
	if slices.Contains(os.Environ(), transfers) {
		select {}
	}
	o := dq.WorkerOptions{Concurrency: 8, Lease: ledgerLease}
	if os.Getenv(poison) != "" {
		o.Lease, o.MaxAttempts = 300*time.Millisecond, ledgerAttempts
	}
	w := dq.NewWorker(client, o)
	dq.Handle(w, q, func(_ context.Context, m *dq.Message[string]) error {
		if m.Value == poison {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		}
		say("begin", m.ID, m.Value)
		time.Sleep(rand.N(4 * time.Millisecond)) // a handler's work
		say("end", m.ID, m.Value)
		return nil
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	return w.Run(ctx)
}

// other runs a Worker in a process, notes what it prints, and kills it after a while; it does so until ctx ends.
func (l *ledger) other(ctx context.Context, url string, life time.Duration) error {
	for ctx.Err() == nil {
		cmd := exec.Command(os.Args[0]) //nolint:noctx // killed below
		cmd.Env = append(os.Environ(), ledgerAt+"="+url)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return err
		}
		kill := time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
		held := map[string]string{} // what it has not acknowledged
		l.read(out, held)
		_ = cmd.Wait()
		kill.Stop()
		stop()
		l.died(held)
	}
	return nil
}

// read notes lines until the process has ended. held is then what it had.
func (l *ledger) read(out io.Reader, held map[string]string) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		words := strings.SplitN(lines.Text(), " ", 3)
		switch {
		case len(words) == 3 && words[0] == "begin":
			l.begin(words[2], words[1])
			held[words[1]] = words[2]
		case len(words) == 3:
			l.end(words[2])
		case len(words) == 2:
			l.event(words[0], words[1])
			if words[0] == "Acknowledged" {
				delete(held, words[1])
			}
		}
	}
}

// TestLedger accounts for each message: what was confirmed is handled, and what is handled twice an Event said so of before,
// or its process was killed. Single connections are cut, and the server refuses writes, has no memory, is busy with a
// script, stands still and is killed. DQ_THOROUGH offers 20,000, and -soak as many as fit.
func TestLedger(t *testing.T) {
	t.Parallel()
	messages, faults := 700, 7
	if redistest.Thorough() {
		messages, faults = 20_000, 35
	}
	if *soak > 0 {
		messages, faults = int(300*soak.Seconds()), int(soak.Seconds())
	}
	s := redistest.Process(t, "--appendonly", "yes", "--appendfsync", "always", "--lua-time-limit", "50")
	l := &ledger{messages: map[string]*entry{}, done: make([]bool, messages+1), values: map[string]string{}, early: map[string]int{}}
	b, p := through(t, s, observeLedger(l.event))
	work := func(_ context.Context, m *dq.Message[string]) error {
		l.begin(m.Value, m.ID)
		time.Sleep(rand.N(4 * time.Millisecond)) // a handler's work
		l.end(m.Value)
		return nil
	}
	b.works(t, dq.WorkerOptions{Concurrency: 8, Lease: ledgerLease}, work)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute+2**soak)
	defer stop()
	disturbed, calm := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer calm()
	others.Go(func() {
		if err := l.other(disturbed, "redis://"+p.Addr, time.Second); err != nil {
			t.Error(err)
		}
	})
	q := must(dq.NewQueue(b.client, "orders", codec.String{}))
	var offers sync.WaitGroup
	var next atomic.Int64
	pace := time.Duration(faults) * 700 * time.Millisecond / time.Duration(messages)
	for range 4 {
		offers.Go(func() {
			for i := next.Add(1); int(i) <= messages; i = next.Add(1) {
				value := fmt.Sprint(i)
				_, err := q.Offer(ctx, value, rand.N(100*time.Millisecond))
				switch {
				case err == nil:
					l.change(value, func(m *entry) { m.confirmed = true })
				case !errors.Is(err, dq.ErrUncertain):
					l.mu.Lock()
					l.refused++
					l.mu.Unlock()
				}
				time.Sleep(4 * pace)
			}
		})
	}
	var states [][4]uint64
	for i := range faults {
		disturbLedger(t, ctx, i%7, s, b, p)
		time.Sleep(300 * time.Millisecond) // the next fault meets work again
		states = append(states, stateOf(b))
	}
	offers.Wait()
	calm()
	others.Wait()
	require.Eventually(t, func() bool { return l.missing() == 0 }, 60*time.Second, 20*time.Millisecond, "%d messages lost", l.missing())
	require.Eventually(t, func() bool { return b.redis.Exists(ctx, "dq_leases:{orders}").Val() == 0 }, 30*time.Second, 20*time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Empty(t, l.wrong, "handled twice, and no event had said so")
	t.Logf("%d messages, %d refused, %d handled again, 0 lost; first %v, last %v", messages, l.refused, l.twice, states[0], states[faults-1])
	for i, what := range []string{"bytes of heap", "bytes of the server", "goroutines", "connections"} {
		if *soak > 0 {
			first, last := median(states[:faults/3], i), median(states[faults-faults/3:], i)
			require.LessOrEqual(t, last, first*3/2+[]uint64{4 << 20, 4 << 20, 10, 10}[i], what)
		}
	}
}

// stateOf returns figures that must not grow: bytes of the heap and of the server, goroutines and connections.
func stateOf(b *bundle) [4]uint64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	info := redis.Fields(b.redis.Info(context.Background(), "clients", "memory").Val())
	used, _ := strconv.ParseUint(info["used_memory"], 10, 64)
	connections, _ := strconv.ParseUint(info["connected_clients"], 10, 64)
	return [4]uint64{memory.HeapAlloc, used, uint64(runtime.NumGoroutine()), connections}
}

func median(states [][4]uint64, figure int) uint64 {
	sorted := slices.SortedFunc(slices.Values(states), func(a, b [4]uint64) int { return cmp.Compare(a[figure], b[figure]) })
	return sorted[len(sorted)/2][figure]
}

// disturbLedger does one thing to the server or the connections.
func disturbLedger(t *testing.T, ctx context.Context, which int, s *redis.Server, b *bundle, p *redis.Proxy) {
	t.Helper()
	switch which {
	case 0:
		for range 10 {
			if all := p.Conns(nil); len(all) > 0 {
				all[rand.N(len(all))].Reset()
			}
			time.Sleep(20 * time.Millisecond)
		}
	case 1:
		require.NoError(t, b.redis.ReplicaOf(ctx, "127.0.0.1", "1").Err())
		time.Sleep(300 * time.Millisecond)
		require.NoError(t, b.redis.ReplicaOf(ctx, "NO", "ONE").Err())
	case 2:
		require.NoError(t, b.redis.ConfigSet(ctx, "maxmemory", "1").Err())
		time.Sleep(300 * time.Millisecond)
		require.NoError(t, b.redis.ConfigSet(ctx, "maxmemory", "0").Err())
	case 3:
		_ = b.redis.Eval(ctx, "local function now() local t = redis.call('time') return t[1] + t[2] / 1e6 end local till = now() + 0.6 while now() < till do end", nil).Err()
	case 4:
		require.NoError(t, s.Nodes()[0].Pause())
		time.Sleep(300 * time.Millisecond)
		require.NoError(t, s.Nodes()[0].Resume())
	case 5:
		require.NoError(t, b.redis.ScriptFlush(ctx).Err())
		require.NoError(t, b.redis.ClientKillByFilter(ctx, "TYPE", "pubsub").Err())
		require.NoError(t, b.redis.Do(ctx, "CLIENT", "PAUSE", "100", "WRITE").Err())
	case 6:
		require.NoError(t, s.Nodes()[0].Kill())
		require.NoError(t, s.Nodes()[0].Restart(ctx))
	}
}
