package baseline

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// DefaultLease is how long a process of List or ZSet may be silent
// before another one takes its temp list over. A process that was only held up
// for longer sees its messages delivered twice.
const DefaultLease = 10 * time.Second

const (
	// tempPool is the size of the connection pool, Redisson's default.
	tempPool = 64
	// tempPause is the wait after a command that failed.
	tempPause = 100 * time.Millisecond
	// tempTimeout bounds what is done whatever becomes of the caller's context.
	tempTimeout = 5 * time.Second
)

// tempKeys names the keys of one queue.
//
// The document has one temp list for all consumers. Which of its elements belong
// to a consumer that has died cannot be told then, so each process has a list of
// its own here, and a ZSET says until when (Unix ms, the processes' clocks) each
// is alive.
type tempKeys struct{ source string }

func (k tempKeys) leases() string        { return k.source + "_temp_leases" }
func (k tempKeys) temp(id string) string { return k.source + "_temp:" + id }

type tempOptions struct {
	driver string
	clock  clock.Clock
	lease  time.Duration
}

// tempQueue is a queue that keeps what it popped in a temp list until a taker
// has it: RPOPLPUSH or the script of the document move an element there, LREM
// removes it. Take acknowledges just before it returns, for a Queue knows no
// acknowledgement: that round trip is part of the lateness.
//
// One goroutine, the pump, moves elements and hands them to takers; another one
// renews the lease.
type tempQueue struct {
	conn   redis.Conn // for offers, acknowledgements and the lease
	moving redis.Conn // the pump's own; closing it ends a blocking pop
	clock  clock.Clock
	keys   tempKeys
	id     string
	lease  time.Duration

	offer func(ctx context.Context, value []byte, due time.Time) error
	// fetch waits for a while for elements, moves them to the temp list and
	// returns them.
	fetch func(ctx context.Context) ([]string, error)
	// open turns an element into the value, and waits until it may be handed over.
	open    func(ctx context.Context, element string) ([]byte, error)
	onClose func()

	ctx     context.Context
	stop    context.CancelFunc
	workers sync.WaitGroup
	ready   chan tempElement

	mu sync.Mutex
	// inFlight counts the elements of the temp list that this process knows of.
	inFlight map[string]int
	// unacknowledged are those a taker has got, but LREM failed.
	unacknowledged []string

	taking  sync.RWMutex // read locked by each Take
	closing sync.Once
}

type tempElement struct {
	element string
	value   []byte
}

// openTemp connects and takes a lease. The caller sets the functions, and calls
// start.
func openTemp(ctx context.Context, target driver.Target, name string, o tempOptions) (*tempQueue, error) {
	conn, err := redis.ConnectMany(target.RedisURL, tempPool)
	if err != nil {
		return nil, fmt.Errorf("driver %s: %w", o.driver, err)
	}
	moving, err := redis.ConnectMany(target.RedisURL, tempPool)
	if err != nil {
		return nil, fmt.Errorf("driver %s: %w", o.driver, err)
	}
	q := &tempQueue{
		conn: conn, moving: moving,
		clock: o.clock, lease: o.lease, keys: tempKeys{name}, id: rand.Text()[:8],
		ready: make(chan tempElement), inFlight: map[string]int{},
	}
	if q.clock == nil {
		q.clock = clock.System()
	}
	if q.lease <= 0 {
		q.lease = DefaultLease
	}
	q.ctx, q.stop = context.WithCancel(context.Background())
	if err := q.renew(ctx); err != nil {
		q.conn.Close()
		q.moving.Close()
		return nil, fmt.Errorf("driver %s: %w", o.driver, err)
	}
	return q, nil
}

func (q *tempQueue) start() {
	q.workers.Go(q.pump)
	q.workers.Go(q.stayAlive)
}

// Offer fails for a negative delay.
func (q *tempQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	if delay < 0 {
		return fmt.Errorf("expected a delay of 0 or more, got %s", delay)
	}
	if q.ctx.Err() != nil {
		return driver.ErrClosed
	}
	return q.offer(ctx, value, q.clock.Now().Add(delay))
}

// Take waits for what the pump hands over.
func (q *tempQueue) Take(ctx context.Context) ([]byte, error) {
	q.taking.RLock()
	defer q.taking.RUnlock()
	select {
	case e := <-q.ready:
		q.acknowledge(context.WithoutCancel(ctx), e.element)
		return e.value, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-q.ctx.Done():
		return nil, driver.ErrClosed
	}
}

// Poll takes what the pump is handing over at this moment.
func (q *tempQueue) Poll(ctx context.Context) ([]byte, bool, error) {
	q.taking.RLock()
	defer q.taking.RUnlock()
	if q.ctx.Err() != nil {
		return nil, false, driver.ErrClosed
	}
	select {
	case e := <-q.ready:
		q.acknowledge(context.WithoutCancel(ctx), e.element)
		return e.value, true, nil
	default:
		return nil, false, ctx.Err()
	}
}

// acknowledge removes an element from the temp list. If that fails the lease's
// goroutine tries again; were the process to die before, the message would come
// twice.
func (q *tempQueue) acknowledge(ctx context.Context, element string) {
	ctx, cancel := context.WithTimeout(ctx, tempTimeout)
	defer cancel()
	err := q.conn.Do(ctx, "LREM", q.keys.temp(q.id), 1, element).Err()
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.unacknowledged = append(q.unacknowledged, element)
		return
	}
	if q.inFlight[element]--; q.inFlight[element] <= 0 {
		delete(q.inFlight, element)
	}
}

// pump moves elements and hands them over. After an error it looks into its own
// temp list too: the reply may have been lost after the elements were moved.
func (q *tempQueue) pump() {
	doubt, nextLook := false, time.Time{}
	for q.ctx.Err() == nil {
		var elements []string
		var err error
		if now := q.clock.Now(); doubt || !now.Before(nextLook) {
			elements, err = q.stranded(q.ctx, doubt)
			nextLook = now.Add(q.lease / 3)
			doubt = err != nil
		} else {
			elements, err = q.fetch(q.ctx)
			q.know(elements)
			doubt = err != nil
		}
		if !q.handOver(elements) {
			return
		}
		if err != nil {
			q.pause()
		}
	}
}

// handOver gives the elements to takers, one after the other. It returns false
// once the queue is closed: the elements stay in the temp list.
func (q *tempQueue) handOver(elements []string) bool {
	for _, element := range elements {
		value, err := q.open(q.ctx, element)
		if q.ctx.Err() != nil {
			return false
		}
		if err != nil {
			// A foreign element; its taker is to see it as it is.
			value = []byte(element)
		}
		select {
		case q.ready <- tempElement{element, value}:
		case <-q.ctx.Done():
			return false
		}
	}
	return true
}

func (q *tempQueue) pause() {
	timer := time.NewTimer(tempPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.ctx.Done():
	}
}

func (q *tempQueue) know(elements []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, element := range elements {
		q.inFlight[element]++
	}
}

// stranded moves the elements of temp lists whose process has died to the own
// one, and returns what is there that no taker of this process has or waits for,
// the oldest first.
func (q *tempQueue) stranded(ctx context.Context, doubt bool) ([]string, error) {
	adopted, err := q.adopt(ctx)
	if err != nil || adopted == 0 && !doubt {
		return nil, err
	}
	elements, err := q.moving.Do(ctx, "LRANGE", q.keys.temp(q.id), 0, -1).StringSlice()
	if err != nil {
		return nil, err
	}
	slices.Reverse(elements)
	q.mu.Lock()
	defer q.mu.Unlock()
	seen, unknown := map[string]int{}, []string(nil)
	for _, element := range elements {
		if seen[element]++; seen[element] > q.inFlight[element] {
			q.inFlight[element]++
			unknown = append(unknown, element)
		}
	}
	return unknown, nil
}

// adopt moves the elements of processes whose lease is over, one at a time, so
// that two processes that do this at once share them.
func (q *tempQueue) adopt(ctx context.Context) (adopted int, err error) {
	leases, err := redis.Scores(q.moving.Do(ctx, "ZRANGE", q.keys.leases(), 0, -1, "WITHSCORES"))
	if err != nil {
		return 0, err
	}
	now := float64(q.clock.Now().UnixMilli())
	for _, lease := range leases {
		id := lease.Member
		if lease.Score >= now || id == q.id {
			continue
		}
		for {
			err := q.moving.Do(ctx, "RPOPLPUSH", q.keys.temp(id), q.keys.temp(q.id)).Err()
			if errors.Is(err, redis.Nil) {
				break
			}
			if err != nil {
				return adopted, err
			}
			adopted++
		}
		if err := q.moving.Do(ctx, "ZREM", q.keys.leases(), id).Err(); err != nil {
			return adopted, err
		}
	}
	return adopted, nil
}

// stayAlive renews the lease, and acknowledges what could not be before.
func (q *tempQueue) stayAlive() {
	tick := time.NewTicker(q.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-q.ctx.Done():
			return
		}
		// A failure is made good by the next tick, or by whoever adopts.
		_ = q.renew(q.ctx)
		q.acknowledgeAgain(q.ctx)
	}
}

func (q *tempQueue) renew(ctx context.Context) error {
	until := q.clock.Now().Add(q.lease).UnixMilli()
	return q.conn.Do(ctx, "ZADD", q.keys.leases(), until, q.id).Err()
}

func (q *tempQueue) acknowledgeAgain(ctx context.Context) {
	q.mu.Lock()
	again := q.unacknowledged
	q.unacknowledged = nil
	q.mu.Unlock()
	for _, element := range again {
		q.acknowledge(ctx, element)
	}
}

// Close ends the pump and gives the lease up. What is left in the temp list is
// taken over by whoever opens the queue next.
func (q *tempQueue) Close() error {
	var err error
	q.closing.Do(func() {
		q.halt()
		q.taking.Lock()
		defer q.taking.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), tempTimeout)
		defer cancel()
		q.acknowledgeAgain(ctx)
		err = q.release(ctx)
		q.conn.Close()
	})
	return err
}

// halt ends the goroutines, as the death of the process would.
func (q *tempQueue) halt() {
	q.stop()
	q.moving.Close()
	q.workers.Wait()
	q.onClose()
}

// release ends the lease, and forgets a temp list that is empty.
func (q *tempQueue) release(ctx context.Context) error {
	left, err := q.conn.Do(ctx, "LLEN", q.keys.temp(q.id)).Int64()
	if err != nil {
		return fmt.Errorf("give up the temp list of queue %q: %w", q.keys.source, err)
	}
	if left > 0 {
		return q.conn.Do(ctx, "ZADD", q.keys.leases(), 0, q.id).Err()
	}
	return q.conn.Do(ctx, "ZREM", q.keys.leases(), q.id).Err()
}
