package dq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/text"
)

// ErrForeignMember is what every *ForeignMemberError is.
var ErrForeignMember = errors.New("dq: the queue holds a member of the other layout")

// ForeignMemberError is the error of a Redisson script that met a member of the other layout:
// of a transfer, which dq then repeats with a script of its own that reads both, and of any
// call under WithStrictWire and WithFaithful. The server does not say which member that was:
// DelayedQueue.Foreign does.
type ForeignMemberError struct {
	// Queue is the destination queue.
	Queue string
	// Layout is that of the members which are not read.
	Layout wire.Layout
	// Err is the server's error.
	Err error
}

func (e *ForeignMemberError) Error() string {
	queue, to := text.Shell(e.Queue), " --to "+e.Layout.Other().String()
	migrate := queue + to
	if strings.HasPrefix(queue, "-") { // else taken for a flag
		queue = "-- " + queue
		migrate = to[1:] + " " + queue
	}
	return fmt.Sprintf("%v, %s; dq-bench inspect %s shows it, and dq-bench migrate %s rewrites it: %v",
		ErrForeignMember, e.Layout, queue, migrate, e.Err)
}

// Unwrap returns ErrForeignMember and the server's error.
func (e *ForeignMemberError) Unwrap() []error { return []error{ErrForeignMember, e.Err} }

// failedToUnpack tells the error of a script that met a member which it cannot read. The
// text is that of Redis's struct library in all server versions.
func failedToUnpack(err error) bool {
	return err != nil && strings.Contains(err.Error(), "'unpack'")
}

// markForeign makes such an error a *ForeignMemberError.
func (c *Client) markForeign(queue string, err error) error {
	if failedToUnpack(err) {
		return &ForeignMemberError{Queue: queue, Layout: c.release.Layout().Other(), Err: err}
	}
	return err
}

// ForeignMembers are the members of a queue that a Redisson of the Client's release cannot
// read.
type ForeignMembers struct {
	// Count is how many there are, and Total how many members all in all.
	Count, Total int
	// First is the one that comes due first; the zero value if there is none.
	First ForeignMember
}

// ForeignMember is one of them.
type ForeignMember struct {
	// Due is its score, in ms.
	Due time.Time
	// Layout is "dLc0" or "Bc0Lc0", "-windows" behind it where a Redis for Windows has packed it,
	// or "unreadable".
	Layout string
	// Length is that of the member in bytes, and Start the first of them, 24 at most.
	Length int
	Start  []byte
}

func (m ForeignMember) String() string {
	return fmt.Sprintf("%s of %d bytes, due at %s, begins with %x", m.Layout, m.Length, m.Due.UTC().Format(time.RFC3339Nano), m.Start)
}

// foreignPage is how many members one ZRANGE of Foreign reads.
const foreignPage = 500

// Foreign reads all members that wait, 500 at a time, and returns which of them a Redisson of
// the Client's release cannot read. No other call does that: it is for whoever has got a
// *ForeignMemberError.
//
//	KEYS    timeout set
//	cost    O(n); what others add or remove meanwhile may be missed or counted twice
func (d *DelayedQueue[T]) Foreign(ctx context.Context) (all ForeignMembers, err error) {
	key, layout := d.dest.names.TimeoutSet, d.client.release.Layout()
	for {
		reply, err := d.client.do(ctx, key, "ZRANGE", key, all.Total, all.Total+foreignPage-1, "WITHSCORES")
		if err != nil {
			return all, in("foreign", d.Name(), err)
		}
		page, err := scored(reply)
		if err != nil {
			return all, in("foreign", d.Name(), err)
		}
		for _, m := range page {
			name := layoutName(layout, m.member)
			if name == layout.String() {
				continue
			}
			if all.Count == 0 {
				all.First = ForeignMember{
					Due: time.UnixMilli(int64(m.score)), Layout: name, Length: len(m.member), Start: []byte(m.member[:min(len(m.member), 24)]),
				}
			}
			all.Count++
		}
		all.Total += len(page)
		if len(page) < foreignPage {
			return all, nil
		}
	}
}

func layoutName(own wire.Layout, member string) string {
	m, err := own.UnpackAny([]byte(member))
	switch {
	case err != nil:
		return "unreadable"
	case m.LengthSize == wire.WindowsLengthSize:
		return m.Layout.String() + "-windows"
	}
	return m.Layout.String()
}

type scoredMember struct {
	member string
	score  float64
}

// scored reads the reply of ZRANGE WITHSCORES, which RESP3 nests.
func scored(reply any) ([]scoredMember, error) {
	items, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("expected an array from the server, got %T", reply)
	}
	var flat []any
	for _, item := range items {
		if pair, nested := item.([]any); nested {
			flat = append(flat, pair...)
			continue
		}
		flat = append(flat, item)
	}
	all := make([]scoredMember, 0, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		member, ok := flat[i].(string)
		if !ok {
			return nil, fmt.Errorf("expected a member from the server, got %T", flat[i])
		}
		score, err := strconv.ParseFloat(fmt.Sprint(flat[i+1]), 64)
		if err != nil || math.IsNaN(score) {
			return nil, fmt.Errorf("expected a score from the server, got %.40q", fmt.Sprint(flat[i+1]))
		}
		all = append(all, scoredMember{member, score})
	}
	return all, nil
}
