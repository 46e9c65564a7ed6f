package forensics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Reader reads the keys of one queue in chunks that keep the server busy for about half a
// millisecond each. It is for one goroutine.
//
// A chunk begins a little before the end of the last one, so that what others remove
// meanwhile, which shifts the rest towards the head, is noticed: then the chunk is read
// again from further ahead. No member that is there from the beginning of a walk to
// its end is passed over, and none is visited twice.
type Reader struct {
	// Names are the keys that are read.
	Names wire.Names

	client    redis.Conn
	meter     *meter
	set, list *pace
}

// bareTrips is how many round trips that do nothing a Reader makes, to know the
// quickest.
const bareTrips = 5

// NewReader returns a Reader of the queue with that destination. It measures what a
// round trip takes.
func NewReader(ctx context.Context, client redis.Conn, dest string) (*Reader, error) {
	m := &meter{idle: time.Hour}
	r := &Reader{Names: wire.NamesOf(dest), client: client, meter: m, set: newPace(m, setBytes), list: newPace(m, listBytes)}
	for range bareTrips {
		began := time.Now()
		if err := client.Do(ctx, "EXISTS", r.Names.TimeoutSet).Err(); err != nil {
			return nil, fmt.Errorf("EXISTS %s: %w", r.Names.TimeoutSet, err)
		}
		r.meter.count(time.Since(began), 0)
	}
	return r, nil
}

// Busy takes note of a round trip that somebody else has made, and returns for how long at
// most it kept the server busy: the shortest way there and back that was seen does not count.
func (r *Reader) Busy(took time.Duration) time.Duration {
	return r.meter.count(took, 0)
}

// Cost is what was asked of the server so far.
func (r *Reader) Cost() Cost { return r.meter.cost }

// maxOverlap is how many members a chunk has in common with the one before it, where
// nothing was removed meanwhile and members are not large.
const maxOverlap = 8

// overlap is how many members the next chunk has in common with the last one.
func (p *pace) overlap() int { return min(p.size, maxOverlap) }

// TimeoutSet visits the members of the timeout set in order of due time, chunk by
// chunk, with their scores. visit must not keep the slice.
func (r *Reader) TimeoutSet(ctx context.Context, visit func([]redis.Z) error) error {
	var last redis.Z
	for next, back := 0, r.set.overlap(); ; {
		start := max(0, next-back)
		asked := min(next, r.set.overlap()) + r.set.size
		began := time.Now()
		chunk, err := redis.Scores(r.client.Do(ctx, "ZRANGE", r.Names.TimeoutSet, int64(start), int64(start+asked-1), "WITHSCORES"))
		if err != nil {
			return fmt.Errorf("ZRANGE %s: %w", r.Names.TimeoutSet, err)
		}
		r.set.chunk(time.Since(began), len(chunk), sizeOf(chunk))
		if start > 0 && (len(chunk) == 0 || isBehind(chunk[0], last)) {
			back *= 2 // so many were removed that members in between may have been passed over
			continue
		}
		fresh := 0
		if next > 0 {
			fresh = slices.IndexFunc(chunk, func(z redis.Z) bool { return isBehind(z, last) })
		}
		if fresh >= 0 && len(chunk) > 0 {
			if err := visit(chunk[fresh:]); err != nil {
				return err
			}
			last = chunk[len(chunk)-1]
		}
		if len(chunk) < asked {
			return nil
		}
		next, back = start+len(chunk), r.set.overlap()
	}
}

// isBehind reports whether z comes after other in the order of a sorted set.
func isBehind(z, other redis.Z) bool {
	if z.Score != other.Score {
		return z.Score > other.Score
	}
	return z.Member > other.Member
}

func sizeOf(chunk []redis.Z) int {
	n := 0
	for _, z := range chunk {
		n += len(z.Member)
	}
	return n
}

// ErrLost is returned by Pending when so much was removed from the list between two
// chunks that the way could not be found again. A new walk may do better.
var ErrLost = errors.New("the list changed faster than it could be read")

const (
	// maxBusy is for how long no call may keep the server busy.
	maxBusy = 5 * time.Millisecond
	// deepAfter is after how many calls in a row that take longer the list is called too
	// deep: one or two may have been delayed by something else.
	deepAfter = 8
)

// ErrDeep is returned by Pending where the list is so long, and its members so large,
// that to seek to its middle alone keeps the server busy for longer than 5 ms.
var ErrDeep = errors.New("the middle of the list is too far away for calls of 5 ms")

// Pending visits the entries of the pending list in their order, chunk by chunk, with
// the index of the first. A member that is there twice is visited twice. visit must
// not keep the slice.
//
// The server seeks to the index of a chunk node by node from the nearer end (before
// Redis 6.2 from the head), each node holding about 8 KB.
func (r *Reader) Pending(ctx context.Context, visit func(first int, members []string) error) error {
	way, slow := trail{}, 0
	for next, back := 0, r.list.overlap(); ; {
		start := max(0, next-back)
		asked := next - start + r.list.size
		chunk, busy, err := r.entries(ctx, start, asked)
		if err != nil {
			return err
		}
		if slow++; busy <= maxBusy {
			slow = 0
		}
		if slow == deepAfter {
			if _, busy, err = r.entries(ctx, next, 1); err != nil {
				return err
			}
			if busy > maxBusy {
				return fmt.Errorf("LRANGE %s %d: %w", r.Names.Pending, next, ErrDeep)
			}
			slow = 0 // what took so long are the members, large as they are, and not to seek them
		}
		fresh, ok := way.find(chunk, next-start, start == 0)
		if !ok {
			if start == 0 || back == len(way.entries) {
				return fmt.Errorf("LRANGE %s: %w", r.Names.Pending, ErrLost)
			}
			back = min(2*back, len(way.entries))
			continue
		}
		if fresh < len(chunk) {
			if err := visit(start+fresh, chunk[fresh:]); err != nil {
				return err
			}
			way.add(chunk[fresh:])
		}
		if len(chunk) < asked {
			return nil
		}
		next, back = start+len(chunk), r.list.overlap()
	}
}

// Entries returns up to count entries of the pending list from an index on.
func (r *Reader) Entries(ctx context.Context, first, count int) ([]string, error) {
	chunk, _, err := r.entries(ctx, first, count)
	return chunk, err
}

func (r *Reader) entries(ctx context.Context, first, count int) (chunk []string, busy time.Duration, err error) {
	began := time.Now()
	chunk, err = r.client.Do(ctx, "LRANGE", r.Names.Pending, int64(first), int64(first+count-1)).StringSlice()
	if err != nil {
		return nil, 0, fmt.Errorf("LRANGE %s: %w", r.Names.Pending, err)
	}
	bytes := 0
	for _, member := range chunk {
		bytes += len(member)
	}
	return chunk, r.list.chunk(time.Since(began), len(chunk), bytes), nil
}

// Scores returns for each of the members its score, or nil for one that the timeout set
// does not hold.
func (r *Reader) Scores(ctx context.Context, members []string) ([]*float64, error) {
	scores := make([]*float64, len(members))
	for first := 0; first < len(members); first += minChunk {
		part := members[first:min(first+minChunk, len(members))]
		calls := make([][]any, len(part))
		for i, member := range part {
			calls[i] = []any{"ZSCORE", r.Names.TimeoutSet, member}
		}
		began := time.Now()
		replies, _ := r.client.Pipe(ctx, calls...) // each reply has its own error
		r.meter.count(time.Since(began), 0)
		for i, reply := range replies {
			score, err := redis.Score(reply)
			switch {
			case err == nil:
				scores[first+i] = &score
			case !errors.Is(err, redis.Nil):
				return nil, fmt.Errorf("ZSCORE %s: %w", r.Names.TimeoutSet, err)
			}
		}
	}
	return scores, nil
}
