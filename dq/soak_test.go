package dq_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

var soak = flag.Duration("soak", 2*time.Second, "how long TestSoak lasts; from a minute on, memory and the like must not grow")

// A soak offers soakRate messages a second to soakQueues queues, half of them by clients of either layout.
const (
	soakQueues  = 8
	soakRate    = 400
	soakWorkers = 4
	soakSamples = 24
	soakDelay   = 2 * time.Second
	soakDrain   = 60 * time.Second
)

// TestSoak runs mixed loads on one server for as long as -soak says, with a fault each second: connections are
// killed, scripts forgotten, the server stands still. Every message is accounted for, and memory, goroutines and
// connections stay what they are.
func TestSoak(t *testing.T) {
	t.Parallel()
	url := redistest.Redis(t).URL()
	s := &soaking{ledger: map[string]soaked{}, admin: connect(t, url)}
	offering, stopOffers := context.WithTimeout(t.Context(), *soak)
	defer stopOffers()
	taking, stopTakes := context.WithCancel(t.Context())
	defer stopTakes()

	var offers, takes sync.WaitGroup
	for _, release := range []string{"3.16.6", "4.7.0"} {
		client, err := dq.NewClient(connect(t, url), dq.WithRelease(release))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		for n := range soakQueues {
			q := dq.NewTaker(client, "soak-"+strconv.Itoa(n), codec.String{})
			d := dq.NewSender(q)
			require.NoError(t, d.Ready(deadline(t)))
			offers.Go(func() { s.offer(offering, d, release, n) })
			takes.Go(func() { s.take(taking, t, client, n) })
		}
	}
	offers.Go(func() { s.disturb(offering) })
	offers.Go(func() { s.watch(offering, t) })
	offers.Wait()
	require.Eventually(t, func() bool { return s.outstanding() == 0 }, soakDrain, 20*time.Millisecond,
		"%d messages that were confirmed did not come", s.outstanding())
	stopTakes()
	takes.Wait()
	s.judge(t)
}

// soaking is one soak.
type soaking struct {
	admin *redis.Client

	mu     sync.Mutex
	ledger map[string]soaked // what is offered and has not come
	counts struct{ offered, uncertain, delivered, again, lostByKills, faults, kills int }
	late   []time.Duration // since the last sample
	states []soakState
}

// soaked is one message.
type soaked struct {
	due       time.Time
	confirmed bool
}

// soakState is what must not grow: bytes of the heap and of the server, goroutines, connections, and the p99 past due in ms.
type soakState [5]uint64

// offer offers its share to one queue until ctx ends.
func (s *soaking) offer(ctx context.Context, d *dq.Sender[string], by string, queue int) {
	for n := 0; pauseFor(ctx, rand.N(2*time.Second*2*soakQueues/soakRate)) == nil; n++ {
		value := fmt.Sprintf("%d %s %d", queue, by, n)
		delay := rand.N(soakDelay)
		s.mu.Lock()
		s.ledger[value] = soaked{due: time.Now().Add(delay)}
		s.mu.Unlock()
		err := d.Offer(context.WithoutCancel(ctx), value, delay)
		s.mu.Lock()
		m, waits := s.ledger[value]
		switch {
		case err == nil:
			s.counts.offered++
			if m.confirmed = true; waits { // it may have come already
				s.ledger[value] = m
			}
		case errors.Is(err, dq.ErrUncertain):
			s.counts.uncertain++
		default:
			delete(s.ledger, value)
		}
		s.mu.Unlock()
	}
}

// take consumes a queue until ctx ends: by a Worker, by takes, or by takes that give up.
func (s *soaking) take(ctx context.Context, t *testing.T, client *dq.Client, queue int) {
	q, err := dq.NewQueue(client, "soak-"+strconv.Itoa(queue), codec.String{})
	if err != nil {
		t.Error(err)
		return
	}
	switch queue % 3 {
	case 0:
		w := dq.NewWorker(client, dq.WorkerOptions{Concurrency: soakWorkers, Lease: 2 * time.Second, Backoff: func(int) time.Duration { return 20 * time.Millisecond }})
		dq.Handle(w, q, func(_ context.Context, m *dq.Message[string]) error {
			if rand.N(50) == 0 {
				return errors.New("once more")
			}
			s.came(m.Value)
			return nil
		})
		if err := w.Run(ctx); err != nil {
			t.Errorf("queue %d: %v", queue, err)
		}
	case 1:
		if err := consume(ctx, q, soakWorkers, s.came); !errors.Is(err, context.Canceled) {
			t.Errorf("queue %d: %v", queue, err)
		}
	default:
		for ctx.Err() == nil {
			short, cancel := context.WithTimeout(ctx, rand.N(50*time.Millisecond))
			if v, err := q.Take(short); err == nil {
				s.came(v)
			}
			cancel()
		}
	}
}

func (s *soaking) came(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, waits := s.ledger[value]
	if !waits {
		s.counts.again++
		return
	}
	delete(s.ledger, value)
	s.counts.delivered++
	s.late = append(s.late, time.Since(m.due))
}

// disturb does something to the server each second.
func (s *soaking) disturb(ctx context.Context) {
	for pauseFor(ctx, 500*time.Millisecond+rand.N(time.Second)) == nil {
		s.mu.Lock()
		s.counts.faults++
		s.mu.Unlock()
		switch rand.N(5) {
		case 0:
			s.admin.ScriptFlush(ctx)
		case 1:
			s.admin.Do(ctx, "CLIENT", "KILL", "TYPE", "pubsub")
		case 2:
			s.mu.Lock()
			s.counts.kills++
			s.mu.Unlock()
			s.admin.Do(ctx, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		case 3:
			s.admin.Do(ctx, "CLIENT", "PAUSE", "100", "ALL")
		case 4:
			s.admin.Do(ctx, "CLIENT", "PAUSE", "100", "WRITE")
		}
	}
}

// watch takes samples.
func (s *soaking) watch(ctx context.Context, t *testing.T) {
	for pauseFor(ctx, *soak/soakSamples) == nil {
		runtime.GC()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		info := s.admin.Info(context.WithoutCancel(ctx), "clients", "memory").Val()
		s.mu.Lock()
		slices.Sort(s.late)
		var late time.Duration
		if n := len(s.late); n > 0 {
			late = s.late[n*99/100]
		}
		s.late = s.late[:0]
		state := soakState{
			memory.HeapAlloc, infoNumber(info, "used_memory"), uint64(runtime.NumGoroutine()), infoNumber(info, "connected_clients"),
			uint64(max(0, late.Milliseconds())),
		}
		s.states = append(s.states, state)
		t.Logf("heap %d KiB, server %d KiB, %d goroutines, %d connections, p99 %d ms late; %+v, %d wait",
			state[0]>>10, state[1]>>10, state[2], state[3], state[4], s.counts, len(s.ledger))
		s.mu.Unlock()
	}
}

// infoNumber is a field of INFO, 0 where it is missing.
func infoNumber(info, field string) uint64 {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			n, _ := strconv.ParseUint(value, 10, 64)
			return n
		}
	}
	return 0
}

// outstanding is how many confirmed messages have still to come. Of those that nobody holds reliably, a connection
// that was killed may have taken one along, which nobody waits for any longer once it is 10 s overdue.
func (s *soaking) outstanding() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for value, m := range s.ledger {
		queue, _, _ := strings.Cut(value, " ")
		number, _ := strconv.Atoi(queue)
		switch {
		case !m.confirmed:
		case number%3 != 0 && time.Since(m.due) > 10*time.Second:
			delete(s.ledger, value)
			s.counts.lostByKills++
		default:
			n++
		}
	}
	return n
}

func (s *soaking) judge(t *testing.T) {
	t.Logf("%+v", s.counts)
	require.Positive(t, s.counts.delivered)
	require.LessOrEqual(t, s.counts.lostByKills, s.counts.kills*2*soakQueues*soakWorkers, "a connection takes one message along")
	if *soak < time.Minute {
		return
	}
	third := len(s.states) / 3
	for i, bound := range []struct {
		figure string
		most   func(first uint64) uint64
	}{
		{"bytes of heap", func(first uint64) uint64 { return first*3/2 + 4<<20 }},
		{"bytes of the server", func(first uint64) uint64 { return first*3/2 + 4<<20 }},
		{"goroutines", func(first uint64) uint64 { return first*5/4 + 10 }},
		{"connections", func(first uint64) uint64 { return first*5/4 + 10 }},
		{"ms past due (p99)", func(first uint64) uint64 { return 2*first + 50 }},
	} {
		first, last := s.median(i, 1, third+1), s.median(i, len(s.states)-third, len(s.states))
		require.LessOrEqual(t, last, bound.most(first), bound.figure)
	}
}

// median is that of a figure in some of the samples.
func (s *soaking) median(figure, from, to int) uint64 {
	var all []uint64
	for _, state := range s.states[from:to] {
		all = append(all, state[figure])
	}
	slices.Sort(all)
	return all[len(all)/2]
}
