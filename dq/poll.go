package dq

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
)

const (
	// usualPoll is PollEvery of a Worker with many queues.
	usualPoll = time.Second
	// pollBatch is how many queues one pipeline asks for.
	pollBatch = 500
	// sweepPolls is in how many polls all queues are taken from, whatever they hold: a lease that a dead process left shows only there.
	sweepPolls = 30
	// mostAsked is how many servers of a Cluster are asked at the same time.
	mostAsked = 16
)

// polls reports whether queues are looked at on a shared connection.
func (w *Worker) polls() bool { return w.options.PollEvery > 0 || len(w.queues) > mostBlocking }

// poll wakes queues that hold something, until the Worker takes no more.
func (w *Worker) poll() {
	tick := time.NewTicker(cmp.Or(w.options.PollEvery, usualPoll))
	defer tick.Stop()
	swept := 0
	for {
		select {
		case <-w.taking.Done():
			return
		case <-tick.C:
		}
		for range len(w.queues)/sweepPolls + 1 {
			swept = (swept + 1) % len(w.queues)
			w.wake(w.queues[swept])
		}
		w.lookAtAll()
	}
}

// lookAtAll asks for many queues in a call, and in a Cluster for each on its own server.
func (w *Worker) lookAtAll() {
	if !w.client.conns.Clustered {
		for batch := range slices.Chunk(w.queues, pollBatch) {
			w.look(batch)
		}
		return
	}
	var looking sync.WaitGroup
	for share := range slices.Chunk(w.queues, len(w.queues)/mostAsked+1) {
		looking.Go(func() {
			for i := range share {
				w.look(share[i : i+1])
			}
		})
	}
	looking.Wait()
}

// look asks one server which of the queues hold something. A queue that cannot be asked is taken from, and the error reported.
func (w *Worker) look(batch []*leased) {
	ctx, cancel := context.WithTimeout(w.taking, settleTimeout)
	defer cancel()
	commands := make([][]any, len(batch))
	for i, q := range batch {
		commands[i] = []any{"EXISTS", q.queue, q.keys.Staged}
	}
	for i, reply := range w.client.conns.Send(ctx, conn.Request{Lane: conn.Background, Key: batch[0].queue, Commands: commands}) {
		if n, ok := reply.(int64); !ok || n > 0 {
			w.wake(batch[i])
		}
	}
}

// watch has queues woken by transfers, of this Client and of others that announce theirs, or no more.
func (s *scheduler) watch(queues []*leased, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range queues {
		switch {
		case q.moved == nil:
		case on:
			q.moved.watchers[q] = struct{}{}
		default:
			delete(q.moved.watchers, q)
		}
	}
}

// wakeWatchers wakes Workers after a transfer.
func (s *scheduler) wakeWatchers(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for q := range t.watchers {
		q.wake()
	}
}
