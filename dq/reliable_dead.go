package dq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// DeadLetter is a message that was given up.
type DeadLetter[T any] struct {
	// Value is the message; Err says why it cannot be decoded, and Data has it as it is on the wire. Of a member that no
	// dq has written Data is all of it, and it can be dropped and not replayed.
	Value T
	Err   error
	Data  []byte
	// Attempts is how often it was held, and Reason why it was given up, at At by the server's clock.
	Attempts int
	Reason   string
	At       time.Time

	member string
}

// DeadLetters returns dead letters in the order in which they were given up, limit of them at most,
// behind the first skip. Those that are dropped or replayed meanwhile move the others up.
func (q *ReliableQueue[T]) DeadLetters(ctx context.Context, skip, limit int) ([]DeadLetter[T], error) {
	if q.err != nil {
		return nil, q.err
	}
	if skip < 0 || limit < 1 || skip > math.MaxInt-limit {
		return nil, fmt.Errorf("dq: dead letters of %q: expected to skip 0 or more and a limit of 1 or more, got %d and %d", q.dest.Name(), skip, limit)
	}
	reply, err := q.client.do(ctx, q.dest.Name(), "ZRANGE", q.names.Dead, strconv.Itoa(skip), strconv.Itoa(skip+limit-1), "WITHSCORES")
	if err != nil {
		return nil, in("dead letters", q.dest.Name(), err)
	}
	page, err := scored(reply)
	if err != nil {
		return nil, in("dead letters", q.dest.Name(), err)
	}
	letters := make([]DeadLetter[T], 0, len(page))
	for _, m := range page {
		letters = append(letters, q.deadLetter(m))
	}
	return letters, nil
}

// deadHead is the length of what is before the reason: token, attempts, length of the reason.
const deadHead = 16 + 4 + 2

var errDeadLetter = errors.New("a member of the dead letters that dq has not written")

func (q *ReliableQueue[T]) deadLetter(m scoredMember) DeadLetter[T] {
	member := m.member
	d := DeadLetter[T]{member: member, Data: []byte(member), Err: errDeadLetter, At: time.UnixMilli(int64(m.score))}
	if len(member) < deadHead {
		return d
	}
	end := deadHead + int(binary.LittleEndian.Uint16([]byte(member[20:22])))
	if len(member) < end {
		return d
	}
	d.Attempts = int(binary.LittleEndian.Uint32([]byte(member[16:20])))
	d.Reason, d.Data = member[deadHead:end], []byte(member[end:])
	d.Value, d.Err = replyValue(q.dest.codec, string(d.Data), nil)
	return d
}

// CountDead returns the number of dead letters.
func (q *ReliableQueue[T]) CountDead(ctx context.Context) (int, error) {
	if q.err != nil {
		return 0, q.err
	}
	reply, err := q.client.do(ctx, q.dest.Name(), "ZCARD", q.names.Dead)
	n, err := replyInt(reply, err)
	return int(n), in("dead letters", q.dest.Name(), err)
}

// Replay puts dead letters to the end of the queue, with no attempts, and returns how many were still
// there.
func (q *ReliableQueue[T]) Replay(ctx context.Context, letters ...DeadLetter[T]) (int, error) {
	return q.withDead(ctx, "replay", letters)
}

// Drop deletes dead letters and returns how many were still there.
func (q *ReliableQueue[T]) Drop(ctx context.Context, letters ...DeadLetter[T]) (int, error) {
	return q.withDead(ctx, "drop", letters)
}

func (q *ReliableQueue[T]) withDead(ctx context.Context, how string, letters []DeadLetter[T]) (done int, err error) {
	if q.err != nil {
		return 0, q.err
	}
	const atATime = 100
	for len(letters) > 0 {
		args := []any{how}
		for _, letter := range letters[:min(atATime, len(letters))] {
			args = append(args, letter.member)
		}
		reply, err := q.client.runOwn(ctx, callLane, deadScript, []string{q.names.Dead, q.dest.Name()}, args...)
		n, err := replyInt(reply, err)
		if err != nil {
			return done, in(how, q.dest.Name(), err)
		}
		done += int(n)
		letters = letters[len(args)-1:]
	}
	return done, nil
}
