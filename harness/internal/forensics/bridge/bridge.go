package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Options say what is bridged, and how.
type Options struct {
	// Queues are the names of destination queues; none for all that the server has, or gets.
	Queues []string
	// Lead is how long before it is due a member is taken out: more than the clocks of the
	// services differ.
	Lead time.Duration
	// Interval is how often queues are looked for, and looked at if nothing is announced: above 0.
	Interval time.Duration
	// To is the layout that waiting members are rewritten in; nil for none.
	To *wire.Layout
	// Cluster says that keys in different slots cannot be in one script.
	Cluster bool
	// Clock is the machine's, which members are due by, nil for clock.System. Where it is set while a bridge runs, the
	// server is asked for its TIME, and the nearer one of the two is followed: see clock.StepFilter.
	Clock clock.Clock
	// Notice gets a line at a time of what people should know. It may be called from
	// several goroutines at once.
	Notice func(line string)
}

// first is the layout that counts where a member fits both.
func (o *Options) first() wire.Layout {
	if o.To != nil {
		return *o.To
	}
	return wire.Newest().Layout()
}

// Bridge delivers the messages of queues that both sides of 3.21.1 use.
type Bridge struct {
	client  redis.Conn
	options Options
	clock   clock.Clock // set before a queue is opened

	mu      sync.Mutex
	queues  map[string]*queue // by channel
	refused map[string]bool   // by channel, queues that cannot be bridged
	running sync.WaitGroup
}

// New returns a Bridge that does nothing yet. An error says that a queue cannot be bridged.
func New(client redis.Conn, options Options) (*Bridge, error) {
	if options.Interval <= 0 {
		return nil, fmt.Errorf("interval: expected more than 0, got %v", options.Interval)
	}
	b := &Bridge{client: client, options: options, queues: map[string]*queue{}, refused: map[string]bool{}}
	for _, name := range options.Queues {
		if err := b.check(name); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *Bridge) notice(format string, args ...any) {
	if b.options.Notice != nil {
		b.options.Notice(fmt.Sprintf(format, args...))
	}
}

// check is an error where no script can have all keys of a queue.
func (b *Bridge) check(dest string) error {
	if !b.options.Cluster {
		return nil
	}
	slot := wire.Slot(dest)
	for _, key := range newQueue(b, dest).keys {
		if other := wire.Slot(key); other != slot {
			return fmt.Errorf("queue %q: its keys are in different slots, %d and %d: a cluster runs no script on them", dest, slot, other)
		}
	}
	return nil
}

// Run bridges until ctx ends, and then delivers what it holds. It fails if it cannot begin;
// what goes wrong later is told, and tried again.
func (b *Bridge) Run(ctx context.Context) error {
	defer b.guardClock(context.WithoutCancel(ctx))()
	defer b.running.Wait()
	work, stop := context.WithCancel(ctx)
	defer stop()
	subscription, err := b.begin(work)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // ended before it began
	case err != nil:
		return err
	}
	defer subscription.Close()
	b.running.Go(func() { b.listen(work, subscription) })
	ticker := time.NewTicker(b.options.Interval)
	defer ticker.Stop()
	for failing := false; ; {
		err := errors.Join(b.find(work), b.rewrite(work))
		switch {
		case work.Err() != nil:
			return nil
		case err != nil && !failing:
			b.notice("%v; it is tried again", err)
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-work.Done():
			return nil
		}
	}
}

// begin subscribes, and opens the queues that there are.
func (b *Bridge) begin(ctx context.Context) (*redis.Subscription, error) {
	if err := b.may(ctx); err != nil {
		return nil, err
	}
	subscription, err := b.subscribe(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.find(ctx); err != nil {
		_ = subscription.Close()
		return nil, err
	}
	return subscription, nil
}

// may fails where the server would refuse what a bridge does.
func (b *Bridge) may(ctx context.Context) error {
	names := b.options.Queues
	if len(names) == 0 {
		var err error
		if names, err = forensics.Queues(ctx, b.client); err != nil {
			return fmt.Errorf("looking for queues: %w", err)
		}
	}
	made := len(names) == 0
	if made {
		names = []string{"dq-bench bridge: no such queue"}
	}
	for _, name := range names {
		if b.check(name) != nil {
			continue // it is left alone
		}
		limit, cancel := context.WithTimeout(ctx, callTimeout)
		err := mayRun.Run(limit, b.client, newQueue(b, name).keys).Err()
		cancel()
		switch {
		case made && err != nil && strings.Contains(err.Error(), " key"):
			// The user may use other keys.
		case made && err != nil:
			return fmt.Errorf("a bridge could not do its work: %w", err)
		case err != nil:
			return fmt.Errorf("queue %q: a bridge could not do its work: %w", name, err)
		}
	}
	return nil
}

// channelPattern is what the channels of all queues match.
const channelPattern = channelPrefix + "*"

const channelPrefix = "redisson_delay_queue_channel:"

// subscribe listens to announcements.
func (b *Bridge) subscribe(ctx context.Context) (*redis.Subscription, error) {
	limit, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var s *redis.Subscription
	var err error
	if len(b.options.Queues) == 0 {
		s, err = b.client.PSubscribe(limit, channelPattern)
	} else {
		var channels []string
		for _, name := range b.options.Queues {
			channels = append(channels, wire.NamesOf(name).Channel)
		}
		s, err = b.client.Subscribe(limit, channels...)
	}
	if err != nil {
		return nil, fmt.Errorf("subscribing to the announcements: %w", err)
	}
	return s, nil
}

// listen hands announcements to their queues. After each new subscription all queues are
// looked at: nobody knows what was announced before.
func (b *Bridge) listen(ctx context.Context, s *redis.Subscription) {
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-s.Received:
			switch {
			case !ok:
				return
			case m.Channel == "":
				b.lookAtAll()
			default:
				b.announced(ctx, m.Channel, m.Payload)
			}
		}
	}
}

func (b *Bridge) lookAtAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.queues {
		q.announce(0)
	}
}

// announced takes note of a due time on a channel. One that is no number has the queue
// looked at.
func (b *Bridge) announced(ctx context.Context, channel, payload string) {
	b.mu.Lock()
	q := b.queues[channel]
	b.mu.Unlock()
	if q == nil {
		name, ok := wire.DestinationOf(strings.Replace(channel, channelPrefix, "redisson_delay_queue_timeout:", 1))
		if !ok {
			return
		}
		if q = b.open(ctx, name); q == nil {
			return
		}
	}
	due, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		due = 0
	}
	q.announce(due)
}

// find opens the queues that were named, or all that there are.
func (b *Bridge) find(ctx context.Context) error {
	names := b.options.Queues
	if len(names) == 0 {
		var err error
		if names, err = forensics.Queues(ctx, b.client); err != nil {
			return fmt.Errorf("looking for queues: %w", err)
		}
	}
	for _, name := range names {
		b.open(ctx, name)
	}
	return nil
}

// open begins to bridge a queue, unless it is bridged already; nil where that cannot be.
func (b *Bridge) open(ctx context.Context, name string) *queue {
	channel := wire.NamesOf(name).Channel
	b.mu.Lock()
	q, refused := b.queues[channel], b.refused[channel]
	b.mu.Unlock()
	if q != nil || refused || ctx.Err() != nil {
		return q
	}
	err := b.isOpen(ctx, name)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.queues[channel] != nil || b.refused[channel]:
		return b.queues[channel]
	case err != nil:
		b.refused[channel] = true
		b.notice("%v; it is left alone", err)
		return nil
	}
	q = newQueue(b, name)
	b.queues[channel] = q
	b.notice("queue %q: bridged", name)
	b.running.Go(func() { q.run(ctx) })
	return q
}

// isOpen is an error where a queue that was found cannot be bridged. The queues "a" and "{a}"
// share their keys but for the destination, so that a name that was found may mean either.
func (b *Bridge) isOpen(ctx context.Context, name string) error {
	if err := b.check(name); err != nil {
		return err
	}
	if slices.Contains(b.options.Queues, name) || strings.Contains(name, "{") {
		return nil
	}
	other := "{" + name + "}"
	limit, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	n, err := b.client.Do(limit, "EXISTS", other).Int64()
	if err == nil && n > 0 {
		return fmt.Errorf("queue %q: its keys are those of %q too, which exists: name the one that is meant", name, other)
	}
	return nil
}

// rewrite rewrites what waits in the layout that the fleet has left.
func (b *Bridge) rewrite(ctx context.Context) error {
	if b.options.To == nil {
		return nil
	}
	b.mu.Lock()
	queues := make([]*queue, 0, len(b.queues))
	for _, q := range b.queues {
		queues = append(queues, q)
	}
	b.mu.Unlock()
	var errs []error
	for _, q := range queues {
		done, err := migrate.Run(ctx, b.client, q.names.Destination, migrate.Options{To: *b.options.To, Force: true, Cluster: b.options.Cluster})
		if err != nil && ctx.Err() == nil {
			errs = append(errs, fmt.Errorf("queue %q: rewriting: %w", q.names.Destination, err))
		}
		if done != nil {
			q.rewrote(done.Done.Rewritten)
		}
	}
	return errors.Join(errs...)
}
