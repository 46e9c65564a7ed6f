package dq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// transferTimeout bounds one transfer, over go-redis's own time-outs.
const transferTimeout = 10 * time.Second

// moved is what a transfer did.
type moved struct {
	next        int64 // when the next member comes due in Unix ms, or noDue
	until       int64 // until when what is due was moved, Unix ms
	otherLayout int   // delivered members of the other layout
	quarantined int
}

// transfer moves up to limit due members: by the script of Redisson, until a member
// of the other layout has been met, members have been taken out of the pending list, or that
// is long and has them elsewhere than at its head; and then by our own, which reads both, knows of
// those and looks at both ends.
//
// Redisson's script stops at such a member with an error, after it has pushed the ones
// before it, which it leaves in the timeout set. Ours is then told so, and takes them
// out there without pushing them once more.
func (s *scheduler) transfer(t *task, how manner) (moved, error) {
	ctx, cancel := context.WithTimeout(s.ctx, transferTimeout)
	defer cancel()
	if now := s.now(); s.client.strict || !how.unlisted && !how.long && !t.mixed(now) {
		m, err := s.transferOne(ctx, t.names, now, s.limit(transferLimit))
		if err == nil || s.client.strict {
			return m, err
		}
		if !isForeign(err) {
			var reply resp.Error
			if errors.As(err, &reply) && mayHaveWritten(reply) {
				// It has pushed values that it did not take out of the set, and would do so
				// with each try. Ours looks at the keys before it writes.
				t.meet(s.now())
			}
			return m, err
		}
		t.meet(s.now())
		t.failedAt = strconv.FormatInt(now, 10)
	}
	limit := transferLimit
	if how.unlisted {
		limit = unlistedLimit
	}
	return s.transferOwn(ctx, t, s.limit(limit), how.until)
}

// limit is the one that the Client was given, or the usual one.
func (s *scheduler) limit(usual int) int {
	if s.client.limit != 0 {
		return s.client.limit
	}
	return usual
}

// transferOne runs Redisson's transfer script.
//
//	KEYS    destination, timeout set, pending list
//	ARGV    now in Unix ms; limit
//	returns the score of the first member left, in decimal, or nil
//	cost    O(limit × length of the pending list): one LREM for each member
//
// transfer-v1 is sent to 3.21.0 and in 2.x, transfer-v2 from 3.21.1.
func (s *scheduler) transferOne(ctx context.Context, n wire.Names, now int64, limit int) (moved, error) {
	reply, err := s.client.run(ctx, backgroundLane, "EVALSHA", wire.ScriptTransfer,
		[]string{n.Destination, n.TimeoutSet, n.Pending},
		[]any{strconv.FormatInt(now, 10), strconv.Itoa(limit)})
	if err != nil {
		return moved{next: noDue}, s.client.transferError(n.Destination, err)
	}
	next, err := s.nextDue(ctx, n, reply)
	return moved{next: next, until: now}, err
}

// keySets are how many of its keys a transfer of our own is sent with: all; fewer for a
// user whom these are forbidden, who was given the keys of Redisson and the quarantine,
// or of Redisson alone.
var keySets = [...]int{8, 4, 3}

// transferOwn runs our own transfer script: see scripts.Transfer. What is due behind until
// stays.
func (s *scheduler) transferOwn(ctx context.Context, t *task, limit int, until int64) (moved, error) {
	n, u := t.names, scripts.UnlistingOf(t.names.Destination)
	keys := []string{
		n.Destination, n.TimeoutSet, n.Pending, scripts.Quarantine(n.Destination),
		u.State, u.Unlisted[0], u.Unlisted[1], u.Leaving,
	}
	until = min(s.now(), until)
	run := func() (any, error) {
		return s.client.runOwn(ctx, backgroundLane, transferScript, keys[:keySets[t.narrower]], strconv.FormatInt(until, 10),
			strconv.Itoa(min(limit, scripts.MaxLimit)), s.client.release.Layout().String(), t.failedAt)
	}
	reply, err := run()
	for err != nil && t.narrower < len(keySets)-1 && forbidden(err) {
		t.narrower++
		reply, err = run()
	}
	if err != nil {
		return moved{next: noDue}, s.client.transferError(n.Destination, err)
	}
	done, err := scripts.ReadTransferred(reply)
	if err != nil {
		return moved{next: noDue}, s.client.transferError(n.Destination, err)
	}
	t.failedAt = ""
	if done.OtherLayout+done.Quarantined > 0 {
		t.meet(s.now())
	}
	var head any
	if done.Next != "" {
		head = done.Next
	}
	next, err := s.nextDue(ctx, n, head)
	if done.Delivered == 0 && keySets[t.narrower] < 4 {
		next = max(next, s.now()+stuckHeadInterval.Milliseconds()) // the head may be one that nobody reads
	}
	return moved{next: next, until: until, otherLayout: done.OtherLayout, quarantined: done.Quarantined}, err
}

// nextDue reads the score of the head that a transfer returns.
func (s *scheduler) nextDue(ctx context.Context, n wire.Names, reply any) (int64, error) {
	next, err := s.parseScore(n, reply)
	if err != nil || next >= 0 || s.client.faithful {
		return next, err
	}
	return s.behindStuckHead(ctx, n)
}

// stuckHeadInterval is how often a queue is looked at whose announcements are
// blocked.
const stuckHeadInterval = time.Second

// behindStuckHead returns when to transfer next in a queue whose first member has
// a negative score, as an overflowing delay gives it. Such a member is never due
// for the script, and while it is the head no later offer is announced: Redisson
// stalls there.
func (s *scheduler) behindStuckHead(ctx context.Context, n wire.Names) (int64, error) {
	look := s.now() + stuckHeadInterval.Milliseconds()
	reply, err := s.client.one(ctx, request{lane: backgroundLane, key: n.TimeoutSet, commands: [][]any{
		{"ZRANGEBYSCORE", n.TimeoutSet, "0", "+inf", "WITHSCORES", "LIMIT", "0", "1"},
	}})
	if err != nil {
		return noDue, fmt.Errorf("dq: transfer of %q: %w", n.Destination, err)
	}
	first, _ := reply.([]any)
	switch {
	case len(first) == 0:
		return look, nil
	case len(first) == 1: // RESP3 nests member and score
		first, _ = first[0].([]any)
	}
	if len(first) != 2 {
		return look, nil
	}
	next, err := s.parseScore(n, fmt.Sprint(first[1]))
	return min(next, look), err
}

// parseScore reads the score that a transfer returns. A fractional one, which
// only a foreign tool writes, is rounded up; Redisson fails on it for ever, and
// so does a faithful client. A score beyond what can come due is as good as none.
func (s *scheduler) parseScore(n wire.Names, reply any) (int64, error) {
	if reply == nil {
		return noDue, nil
	}
	text, ok := reply.(string)
	if !ok {
		return noDue, fmt.Errorf("dq: transfer of %q: expected a score from the server, got %T", n.Destination, reply)
	}
	if due, err := strconv.ParseInt(text, 10, 64); err == nil {
		return due, nil
	}
	score, err := strconv.ParseFloat(text, 64)
	if err != nil || s.client.faithful {
		return noDue, fmt.Errorf("dq: transfer of %q: expected a score in whole milliseconds, got %q", n.Destination, text)
	}
	if score = math.Ceil(score); score < math.MinInt64 || score >= math.MaxInt64 || math.IsNaN(score) {
		return noDue, nil
	}
	return int64(score), nil
}

// forbidden reports whether the user lacks a right: to a key of a script, or to a command
// inside it, of which Redis 7 says so in other words.
func forbidden(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM") || strings.Contains(err.Error(), "The user executing the script can't")
}

func isForeign(err error) bool { return errors.Is(err, ErrForeignMember) }
