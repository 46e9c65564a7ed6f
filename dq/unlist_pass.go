package dq

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// pass is one pass and its result.
type pass struct {
	client  *Client
	names   wire.Names
	token   string
	horizon int64 // Unix ms
	length  int   // of the list, when it begins
	covered int64 // due times up to this one, in Unix ms, are out of the list already

	stage            scripts.Stage
	entries, members int
	calls            int
	began            time.Time
	took             time.Duration
	longest          time.Duration // of the calls
	quickest         time.Duration // the time of all calls without delays
	err              error
}

// run makes the calls, until the pass is over or its horizon near.
func (p *pass) run(ctx context.Context) {
	p.began = time.Now()
	defer func() { p.took = time.Since(p.began) }()
	horizon, count := strconv.FormatInt(p.horizon, 10), firstStep
	for {
		var quickest time.Duration
		for i := range paceSteps {
			took := p.step(ctx, horizon, count)
			if horizon = ""; p.err != nil || p.stage != scripts.UnlistMore {
				return
			}
			if quickest = min(quickest, took); i == 0 {
				quickest = took
			}
			if p.early() && conn.Pause(ctx, quickest) != nil {
				p.err = ctx.Err()
				return
			}
		}
		if p.now() >= p.horizon {
			p.stage = scripts.UnlistGone // and the keys go when their lease is over
			return
		}
		p.quickest += paceSteps * quickest
		switch {
		case quickest > stepTime:
			count = max(count/2, minStep)
		case quickest < stepTime/2:
			count = min(count*2, maxStep)
		}
	}
}

func (p *pass) now() int64 { return p.client.clock.Now().UnixMilli() }

// early reports whether the pass will be over in good time at the pace it has, and may leave
// the server to others between two calls. When the covered members are due, transfers wait.
func (p *pass) early() bool {
	if p.entries == 0 {
		return p.now() < p.covered
	}
	rest := time.Since(p.began) * time.Duration(p.length-p.entries) / time.Duration(p.entries)
	return p.now()+2*rest.Milliseconds() < p.covered
}

// step makes one call.
func (p *pass) step(ctx context.Context, horizon string, count int) (took time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	began, keys := time.Now(), scripts.UnlistingOf(p.names.Destination)
	reply, err := p.client.runOwn(ctx, conn.Background, scripts.Unlist(),
		[]string{
			p.names.TimeoutSet, p.names.Pending, keys.State, keys.Pass, keys.Next, keys.Leaving, keys.Unlisted[0], keys.Unlisted[1],
		},
		p.token, horizon, strconv.Itoa(count),
		strconv.FormatInt(unlistLease.Milliseconds(), 10), strconv.FormatInt(unlistedLife.Milliseconds(), 10))
	took = time.Since(began)
	p.calls++
	p.longest = max(p.longest, took)
	if err != nil {
		p.err = err
		return took
	}
	var n int
	if p.stage, n, p.err = scripts.ReadUnlisted(reply); p.stage == scripts.UnlistDone {
		p.members = n
	} else if n > 0 {
		p.entries = n
	}
	return took
}

// event is the report for observers.
func (p *pass) event() Unlisted {
	e := Unlisted{
		Queue: p.names.Destination, Until: time.UnixMilli(p.horizon), Entries: p.entries, Members: p.members,
		Calls: p.calls, Took: p.took, Longest: p.longest,
	}
	switch {
	case p.err != nil:
		e.Err = fmt.Errorf("dq: unlisting of %q: %w", p.names.Destination, p.err)
		if forbidden(p.err) {
			e.Err = fmt.Errorf("%w: long queues are transferred as by Redisson", e.Err)
		}
	case p.stage != scripts.UnlistDone:
		e.Err = fmt.Errorf("dq: unlisting of %q was given up: %s", p.names.Destination, givenUp[p.stage])
	}
	return e
}

var givenUp = map[scripts.Stage]string{
	scripts.UnlistGone:  "it took too long, or its keys were deleted",
	scripts.UnlistLost:  "too much was removed from the pending list meanwhile",
	scripts.UnlistRaced: "members were removed from the pending list meanwhile",
}
