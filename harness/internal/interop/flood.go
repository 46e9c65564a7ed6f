package interop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Size of the case in which both sides do everything at once.
const (
	floodMessages = 1000
	floodWorkers  = 4 // of each kind and side
	floodDelay    = 2 * time.Second
	// endMark tells a taker that there is nothing more.
	endMark = "end"
)

// flood is 1,000 messages under way.
type flood struct {
	mu   sync.Mutex
	seen map[string]int
	all  chan struct{} // closed when each has come
}

// delivered counts a delivery.
func (f *flood) delivered(v string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[v]++
	if len(f.seen) == floodMessages && f.seen[v] == 1 {
		close(f.all)
	}
}

func bothAtOnce(ctx context.Context, s *session, a, b Side) error {
	watch, err := s.watch(ctx)
	if err != nil {
		return err
	}
	err = s.runFlood(ctx, a, b)
	if err == nil {
		err = errors.Join(s.checkEmpty(ctx), watch.checkMembers(s.names, a.Release.Layout()))
	}
	return errors.Join(err, watch.close())
}

func (s *session) runFlood(ctx context.Context, a, b Side) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &flood{seen: make(map[string]int), all: make(chan struct{})}
	messages := make(chan string, floodMessages)
	for i := range floodMessages {
		messages <- fmt.Sprintf("message %d", i)
	}
	close(messages)

	var workers sync.WaitGroup
	for _, side := range []Side{a, b} {
		h, err := s.open(ctx, side)
		if err != nil {
			return err
		}
		for range floodWorkers {
			workers.Go(func() { cancelOn(cancel, f.offer(ctx, h, messages)) })
			workers.Go(func() { cancelOn(cancel, f.take(ctx, h)) })
		}
	}
	workers.Go(func() { cancelOn(cancel, s.endTakers(ctx, f)) })
	workers.Wait()
	return f.verdict(context.Cause(ctx))
}

// endTakers waits until each message has come, and then puts an end mark for each
// taker into the destination.
func (s *session) endTakers(ctx context.Context, f *flood) error {
	select {
	case <-f.all:
	case <-ctx.Done():
		return ctx.Err()
	}
	marks := slices.Repeat([]any{endMark}, 2*floodWorkers)
	return s.control.RPush(ctx, s.names.Destination, marks...).Err()
}

func cancelOn(cancel context.CancelCauseFunc, err error) {
	if err != nil {
		cancel(err)
	}
}

func (f *flood) offer(ctx context.Context, h *handle, messages <-chan string) error {
	for m := range messages {
		delay := time.Duration(rand.Int64N(int64(floodDelay)))
		if err := h.offer(ctx, text(m), delay); err != nil {
			return err
		}
	}
	return nil
}

// take takes until its end mark comes. It takes without a time-out, because Redisson
// 3.10.0 was seen to lose a value that was popped while its own timer ended a poll.
func (f *flood) take(ctx context.Context, h *handle) error {
	for {
		got, err := h.call(ctx, "q.take", nil)
		if err != nil {
			return err
		}
		typed, _ := got.(map[string]any)
		if typed["v"] == endMark {
			return nil
		}
		f.delivered(fmt.Sprint(typed["v"]))
	}
}

// verdict says what is wrong with what came; err is what ended the run early.
func (f *flood) verdict(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var missing, twice []string
	for i := range floodMessages {
		m := fmt.Sprintf("message %d", i)
		switch n := f.seen[m]; {
		case n == 0:
			missing = append(missing, m)
		case n > 1:
			twice = append(twice, m)
		}
		delete(f.seen, m)
	}
	if err == nil && len(missing)+len(twice)+len(f.seen) == 0 {
		return nil
	}
	return errors.Join(err, fmt.Errorf("of %d messages %d did not come (%.100q), %d came more than once (%.100q), %d were none of ours (%.100q)",
		floodMessages, len(missing), missing, len(twice), twice, len(f.seen), slices.Sorted(maps.Keys(f.seen))))
}

// checkMembers checks every member that was ever put into list and set.
func (w *watch) checkMembers(names wire.Names, layout wire.Layout) error {
	if err := w.until(context.Background(), floodMessages, "rpush", names.Pending); err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, call := range w.calls("rpush", names.Pending) {
		if _, err := layout.Unpack([]byte(call[0])); err != nil {
			return err
		}
		listed[call[0]] = true
	}
	scored := map[string]bool{}
	for _, call := range w.calls("zadd", names.TimeoutSet) {
		scored[call[1]] = true
	}
	if len(listed) != floodMessages || !maps.Equal(listed, scored) {
		return fmt.Errorf("expected %d members, the same in list and set, saw %d and %d", floodMessages, len(listed), len(scored))
	}
	return nil
}
