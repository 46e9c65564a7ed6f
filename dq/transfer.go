package dq

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/text"
)

// transferTimeout bounds one transfer, over go-redis's own time-outs.
const transferTimeout = 10 * time.Second

// moved is the result of a transfer.
type moved struct {
	scripts.Transferred       // by our own script
	next                int64 // the next due time in Unix ms, or noDue
	until               int64 // due times up to this were moved, Unix ms
	refused             error // why our own script is not for this user
}

// transfer moves due members by our own script, which reads both layouts, knows of members that are out of the pending list, and looks at
// both ends of it. WithRedissonCommands, and for a user with rights only to Redisson's keys and commands, it is Redisson's.
func (s *scheduler) transfer(t *task, byOwn bool, u unlisting) (m moved, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, transferTimeout)
	defer cancel()
	var head any // the score of the first member left
	if byOwn {
		head, err = s.transferOwn(ctx, t.names, u, &m)
		if err != nil && forbidden(err) && !scripts.LacksRedisson(err) {
			m.refused, byOwn = err, false
		}
	}
	if !byOwn {
		head, err = s.transferOne(ctx, t.names, &m)
	}
	if err == nil {
		m.next, err = parseScore(head)
	}
	if look := s.now() + stuckHeadInterval.Milliseconds(); m.next < 0 {
		m.next = look
	} else if m.Stuck {
		m.next = min(m.next, look)
	}
	return m, s.transferError(t, err)
}

// transferOne runs Redisson's transfer script.
//
//	KEYS    destination, timeout set, pending list
//	ARGV    now in Unix ms; limit
//	returns the score of the first member left, in decimal, or nil
//	cost    O(limit × length of the pending list): one LREM for each member
//
// transfer-v1 is sent to 3.21.0 and in 2.x, transfer-v2 from 3.21.1.
func (s *scheduler) transferOne(ctx context.Context, n wire.Names, m *moved) (head any, err error) {
	m.until = s.now()
	return s.client.run(ctx, conn.Background, "EVALSHA", wire.ScriptTransfer,
		[]string{n.Destination, n.TimeoutSet, n.Pending}, []any{m.until, transferLimit})
}

// transferOwn runs our own transfer script: see scripts.Transfer.
func (s *scheduler) transferOwn(ctx context.Context, n wire.Names, u unlisting, m *moved) (head any, err error) {
	keys, limit := []string{n.Destination, n.TimeoutSet, n.Pending, scripts.Quarantine(n.Destination)}, map[bool]int{true: unlistedLimit, false: transferLimit}[u.passing || u.inUse]
	if m.until = s.now(); u.passing {
		m.until = min(m.until, u.covered) // members behind it wait for the pass to end
	}
	if out := scripts.UnlistingOf(n.Destination); m.until >= u.short {
		keys = append(keys, out.State, out.Unlisted[0], out.Unlisted[1], out.Leaving)
	}
	reply, err := s.client.runOwn(ctx, conn.Background, scripts.Transfer(), keys, m.until, limit, s.client.release.Layout().String())
	if err == nil {
		m.Transferred, err = scripts.ReadTransferred(reply)
	}
	return m.Next, err
}

// stuckHeadInterval is how often a queue is looked at whose announcements are blocked: see scripts.Transferred. Redisson stalls there.
const stuckHeadInterval = time.Second

// parseScore reads the score that a transfer returns, nil or empty if no member is left. A fractional one, which
// only a foreign tool writes, is rounded up; Redisson fails on it for ever. A score beyond every clock counts as no score.
func parseScore(reply any) (int64, error) {
	if reply == nil || reply == "" {
		return noDue, nil
	}
	score, err := replyAs[string]("a score", reply, nil)
	if err != nil {
		return noDue, err
	}
	due, err := strconv.ParseFloat(score, 64)
	if err != nil {
		return noDue, fmt.Errorf("expected a score in milliseconds, got %q", score)
	}
	if due = math.Ceil(due); due >= math.MaxInt64 || math.IsNaN(due) {
		return noDue, nil
	}
	return int64(max(due, math.MinInt64)), nil
}

// forbidden reports whether the user lacks a right: to a key of a script, or to a command
// inside it, of which Redis 7.0 and 8.2 say so in words of their own.
func forbidden(err error) bool {
	return slices.ContainsFunc([]string{"NOPERM ", "The user executing the script can't", "ACL failure in script"}, func(words string) bool { return strings.Contains(err.Error(), words) })
}

// transferError adds the operation to an error, and marks an error about a member of the other layout. The text is from
// Redis's struct library in all server versions.
func (s *scheduler) transferError(t *task, err error) error {
	if err == nil {
		return nil
	}
	queue := t.names.Destination
	if strings.Contains(err.Error(), "'unpack'") {
		own := s.client.release.Layout()
		err = fmt.Errorf("%w, %s; dq-bench migrate --to %s -- %s rewrites it: %w", ErrForeignMember, own.Other(), own, text.Shell(queue), err)
	}
	return fmt.Errorf("dq: transfer of %q: %w", queue, err)
}
