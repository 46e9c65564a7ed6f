package dq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// A value that was read is not always encoded anew as it was: Java's maps and sets have
// an order of their own, lists a class. So where a value is looked for, what is there
// counts as equal if its bytes are, or if it decodes to a value that is deeply equal, NaN
// to NaN too; and what is removed is named by its own bytes. With a codec that keeps the
// bytes of what was read (codec.Keep), a value is equal where its bytes are alone.

// ambiguous reports whether different bytes may decode to equal values.
func ambiguous[T any](c codec.Codec[T]) bool {
	switch any(c).(type) {
	case codec.String, codec.Bytes, codec.Long, codec.Exact:
		return false
	}
	return true
}

// matcher tells which stored values are equal to the ones given.
type matcher[T any] struct {
	codec   codec.Codec[T]
	values  []T
	encoded []any
}

// newMatcher fails with the error of a value that cannot be encoded.
func newMatcher[T any](c codec.Codec[T], values []T) (*matcher[T], error) {
	encoded, err := encodeAll(c, values)
	return &matcher[T]{c, values, encoded}, err
}

// index returns which of the values the stored one is equal to, -1 for none.
func (m *matcher[T]) index(stored []byte) int {
	i := slices.IndexFunc(m.encoded, func(e any) bool { return bytes.Equal(e.([]byte), stored) })
	if i >= 0 || !ambiguous(m.codec) {
		return i
	}
	v, err := m.codec.Decode(stored)
	if err != nil {
		return -1
	}
	return slices.IndexFunc(m.values, func(w T) bool { return equal(v, w) })
}

// stored is one value of a list as it was read.
type stored struct {
	member []byte // as packed; the value itself in a destination queue
	value  []byte
}

// matches returns the values that are equal to any of those looked for, and whether
// each of these was found.
func (m *matcher[T]) matches(all []stored) (found []stored, each bool) {
	seen := make([]bool, len(m.values))
	for _, s := range all {
		if i := m.index(s.value); i >= 0 {
			found = append(found, s)
			seen[i] = true
		}
	}
	return found, !slices.Contains(seen, false)
}

// asStored returns the values looked for as bytes: as they are encoded, and as they are
// stored besides.
func (m *matcher[T]) asStored(all []stored) []any {
	found, _ := m.matches(all)
	return append(slices.Clone(m.encoded), valuesOf(found)...)
}

func valuesOf(all []stored) []any {
	args := make([]any, len(all))
	for i, s := range all {
		args[i] = s.value
	}
	return args
}

// list reads a stretch of a LIST as bytes.
func (c *Client) list(ctx context.Context, key string, start, stop int) ([][]byte, error) {
	reply, err := c.do(ctx, key, "LRANGE", key, start, stop)
	if err != nil {
		return nil, err
	}
	items, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("expected an array from the server, got %T", reply)
	}
	all := make([][]byte, 0, len(items))
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("expected a string from the server, got %T", item)
		}
		all = append(all, []byte(text))
	}
	return all, nil
}

// storedIn returns what a destination queue holds.
func (q *BlockingQueue[T]) storedIn(ctx context.Context) ([]stored, error) {
	items, err := q.client.list(ctx, q.Name(), 0, -1)
	all := make([]stored, len(items))
	for i, item := range items {
		all[i] = stored{item, item}
	}
	return all, err
}

// waiting returns a stretch of the pending list, members of both layouts, without those
// that neither reads. own reports whether all of them are of the release's layout.
func (d *DelayedQueue[T]) waiting(ctx context.Context, start, stop int) (all []stored, own bool, err error) {
	items, err := d.client.list(ctx, d.dest.names.Pending, start, stop)
	layout := d.client.release.Layout()
	own = true
	for _, item := range items {
		m, err := layout.UnpackAny(item)
		own = own && err == nil && m.Layout == layout && m.LengthSize == wire.LengthSize
		if err == nil {
			all = append(all, stored{item, m.Value})
		}
	}
	return all, own, err
}

// readsBoth reports whether an operation must go by what is stored: the queue is known
// to hold members of the other layout, or a script of Redisson has just failed at one.
func (d *DelayedQueue[T]) readsBoth(err error) bool {
	if d.client.strict {
		return false
	}
	now := d.client.scheduler.now()
	if failedToUnpack(err) {
		d.task.meet(now)
	}
	return d.task.mixed(now)
}

// takeOutBatch is how many members one script call removes.
const takeOutBatch = 500

// takeOut removes members, and returns the values of those that were in the pending
// list: nobody else has these.
func (d *DelayedQueue[T]) takeOut(ctx context.Context, members []stored) (taken []stored, err error) {
	return d.takeOutFor(ctx, members, false)
}

// errNotPutBack is what becomes of a value that a poll has taken out of a delayed queue
// for a caller that is gone: it is told, with the value, for its due time is gone.
var errNotPutBack = errors.New("dq: taken out of the delayed queue for a poll that had ended; it was not put back")

// tellTaken tells of values that came when nobody waited for them any more.
func (d *DelayedQueue[T]) tellTaken(values [][]byte) {
	for _, v := range values {
		d.client.tell(Returned{Queue: d.dest.Name(), Value: v, Err: errNotPutBack})
	}
}

// takeOutFor is takeOut; for a poll, the values are wanted.
func (d *DelayedQueue[T]) takeOutFor(ctx context.Context, members []stored, poll bool) (taken []stored, err error) {
	for batch := range slices.Chunk(members, takeOutBatch) {
		args := make([]any, len(batch))
		for i, m := range batch {
			args[i] = m.member
		}
		r := ownRequest(callLane, takeOutScript, d.both(), args...)
		if poll {
			r.pops = func(reply any) {
				var values [][]byte
				for _, s := range takenOf(batch, reply) {
					values = append(values, s.value)
				}
				d.tellTaken(values)
			}
		}
		reply, err := d.client.one(ctx, r)
		if err != nil {
			return taken, err
		}
		if _, err := scripts.ReadTaken(reply); err != nil {
			return taken, err
		}
		taken = append(taken, takenOf(batch, reply)...)
	}
	return taken, nil
}

// takenOf returns the members of a batch that the script has taken out.
func takenOf(batch []stored, reply any) (taken []stored) {
	found, err := scripts.ReadTaken(reply)
	if err != nil {
		return nil
	}
	for i, was := range found {
		if i < len(batch) && was {
			taken = append(taken, batch[i])
		}
	}
	return taken
}

// window is how many members more than it needs a poll reads, and maxPage how many it
// reads at a time.
const (
	window  = 16
	maxPage = 1000
)

// pollBoth removes up to limit values from the front, of both layouts: values or an error,
// never both, for what was taken must not be overlooked beside one; the next call meets it
// again. A value that cannot be decoded is taken alone.
func (d *DelayedQueue[T]) pollBoth(ctx context.Context, limit int) (values []T, err error) {
	for len(values) < limit {
		got, more, err := d.pollPage(ctx, limit-len(values), len(values) == 0)
		values = append(values, got...)
		switch {
		case len(values) > 0 && (err != nil || !more):
			return values, nil //nolint:nilerr // what stands in the way is the next call's
		case err != nil || !more:
			return nil, err
		}
	}
	return values, nil
}

// pollPage removes up to limit values of those that one look finds. more says that it is
// worth another: others were faster, or there was more than one look reads. alone has it
// take a value that cannot be decoded, where that is the first.
func (d *DelayedQueue[T]) pollPage(ctx context.Context, limit int, alone bool) (values []T, more bool, err error) {
	all, _, err := d.waiting(ctx, 0, min(limit, maxPage)+window)
	if err != nil || len(all) == 0 {
		return nil, false, err
	}
	var decoded []T
	var undecodable error
	for _, s := range all[:min(len(all), limit)] {
		v, err := replyValue(d.dest.codec, string(s.value), nil)
		if err != nil {
			undecodable = err
			break
		}
		decoded = append(decoded, v)
	}
	if len(decoded) == 0 {
		if !alone {
			return nil, false, undecodable
		}
		taken, err := d.takeOutFor(ctx, all[:1], true)
		if len(taken) > 0 {
			err = undecodable
		}
		return nil, err == nil, err
	}
	taken, err := d.takeOutFor(ctx, all[:len(decoded)], true)
	for i, s := range all[:len(decoded)] {
		if len(taken) > 0 && bytes.Equal(taken[0].member, s.member) {
			values, taken = append(values, decoded[i]), taken[1:]
		}
	}
	return values, undecodable == nil, err
}
