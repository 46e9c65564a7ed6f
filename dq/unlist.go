package dq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// Unlisting takes members out of a long pending list before they are due, all in one pass,
// so that no transfer has to walk the list for each: see scripts.Unlist.
const (
	// leastLength is how long the list must be, and shortList how long it may be to be searched in vain.
	leastLength, shortList = 1000, 10_000
	// leastFar is how many members must be due in the time that a pass covers and not be near the head of the list. LREM passes half of the
	// list for each, at an 80th of a pass's time for an entry: 160 of them cost as much as a pass, whatever the length.
	leastFar = 320
	// entryCost is the assumed time of a pass for an entry, in µs, until one was measured.
	entryCost = 3.0
	// passSlack is how long a pass should be over before the members it covers are due, and by how much its horizon lies beyond its length.
	passSlack = 500 * time.Millisecond
	// unlistedLimit is how many unlisted members one transfer moves, in 2 to 3 ms.
	unlistedLimit = 300

	// A call passes at least and at most so many entries: fewer when the quickest of some
	// calls took longer than stepTime, which measures the server and not other load.
	minStep, firstStep, maxStep = 25, 250, 500
	stepTime                    = 3 * time.Millisecond
	paceSteps                   = 8
	// unlistLease is for how long an abandoned pass blocks others.
	unlistLease = 2 * time.Second
	// unlistedLife is for how long unlisted members are remembered. Then they are transferred as Redisson does.
	unlistedLife = 24 * time.Hour
	// passWatch is how often another client's pass is looked at.
	passWatch = 50 * time.Millisecond
	// After a pass that was given up, the next one waits for so long, twice as long each time.
	minUnlistPause, maxUnlistPause = time.Second, 5 * time.Minute
)

// unlisting is a task's record of the members of its queue that were taken out of the pending list. Times are in Unix ms.
type unlisting struct {
	covered   int64   // members due until then are out of the list, but for late offers
	inUse     bool    // there are such members
	short     int64   // until when the list counts as short, without such members: a survey saw it so
	passing   bool    // a pass is under way, here or elsewhere
	mine      bool    // here
	held      bool    // a transfer waits for its end
	passedAt  int64   // when the last one here ended
	notBefore int64   // when the next one may begin
	blind     int64   // until when nothing is asked, because the server refused
	cost      float64 // of a pass to the server, in µs an entry
	pace      float64 // how long a pass takes, in µs an entry
	pause     time.Duration
}

// holds reports whether a transfer of members due then waits for the end of a pass: it would take longer, and hold up the pass.
func (u *unlisting) holds(due int64) bool { return u.passing && due != noDue && due > u.covered }

// passTime is how long a pass through so many entries takes, with its pauses, in ms.
func (u *unlisting) passTime(length int) int64 { return int64(u.pace * float64(length) / 1000) }

// pays reports whether a pass should begin.
func (u *unlisting) pays(s scripts.Surveyed, now int64) bool {
	if now < u.notBefore || s.Seen == 0 || s.Covered-now > 2*u.passTime(s.Length)+2*passSlack.Milliseconds() {
		return false
	}
	return s.Due*s.Far/s.Seen >= leastFar
}

// A busy queue is surveyed so often, and a quiet one so long before its next due time: first for the length of the list, for a pass through
// a long one takes its time, and then for later offers. Without lookTime to spare it would delay the transfer.
const (
	lookInterval = time.Second
	surveyLead   = 5 * time.Second
	lookLead     = 500 * time.Millisecond
	lookTime     = 5 * time.Millisecond
)

// lookAhead arranges a survey: now, if the next member is due soon, else shortly before it is.
func (s *scheduler) lookAhead(t *task) {
	if s.client.conn.Strict || t.redissonUntil > s.now() || t.due == noDue || t.gone {
		return
	}
	now, lead := s.now(), lookLead
	if t.looked < t.due-surveyLead.Milliseconds() {
		lead = surveyLead
	}
	at := max(t.looked+lookInterval.Milliseconds(), t.due-lead.Milliseconds())
	switch {
	case at <= now:
		s.look(t)
	case at < t.due && at < t.lookAt:
		s.setLook(t, at)
	}
}

// look makes a survey in the background.
func (s *scheduler) look(t *task) {
	began, keys := s.now(), scripts.UnlistingOf(t.names.Destination)
	cost := strconv.FormatFloat(t.unlisting.cost, 'f', 3, 64)
	t.looked = began
	if began < t.unlisting.blind || t.unlisting.mine {
		s.lookAhead(t)
		return
	}
	s.goroutines.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, transferTimeout)
		defer cancel()
		reply, err := s.client.runOwn(ctx, conn.Background, scripts.Survey(),
			[]string{t.names.TimeoutSet, t.names.Pending, keys.State, keys.Pass, keys.Unlisted[0], keys.Unlisted[1]},
			strconv.FormatInt(s.now(), 10), cost, strconv.Itoa(leastLength))
		var found scripts.Surveyed
		if err == nil {
			found, err = scripts.ReadSurveyed(reply)
		}
		s.post(func() {
			s.surveyed(t, began, found, err)
			s.lookAhead(t)
		})
	})
}

// surveyed takes the answer to a survey that was begun then.
func (s *scheduler) surveyed(t *task, began int64, found scripts.Surveyed, err error) {
	u, now := &t.unlisting, s.now()
	switch {
	case t.gone || u.mine || began <= u.passedAt:
		return
	case err != nil:
		u.blind = now + time.Minute.Milliseconds()
		u.passing, u.short = false, 0
		s.resume(t)
		return
	}
	u.covered, u.inUse, u.passing = found.Covered, found.Unlisted, found.Passing
	if u.short = 0; found.Length < shortList && !u.inUse && !u.passing {
		u.short = began + 2*lookInterval.Milliseconds()
	}
	switch {
	case u.passing:
		s.setLook(t, now+passWatch.Milliseconds())
	case !t.turns.standIn && u.pays(found, now):
		s.pass(t, found)
	default:
		s.resume(t)
	}
}

// resume starts the transfer that a pass has held up.
func (s *scheduler) resume(t *task) {
	if t.unlisting.held {
		t.unlisting.held = false
		s.start(t)
	}
}

// pass begins one in the background.
func (s *scheduler) pass(t *task, found scripts.Surveyed) {
	u, now := &t.unlisting, s.now()
	u.passing, u.mine, u.short = true, true, 0
	p := pass{scheduler: s, names: t.names, token: strconv.FormatUint(s.client.random(), 36), found: found}
	p.horizon = now + found.Window + 2*u.passTime(found.Length) + passSlack.Milliseconds()
	p.Unlisted = Unlisted{Queue: t.names.Destination, Until: time.UnixMilli(p.horizon)}
	s.goroutines.Go(func() {
		p.run(s.ctx)
		s.post(func() { s.passed(t, p) })
	})
}

// passed takes note of a pass that has ended.
func (s *scheduler) passed(t *task, p pass) {
	u, now := &t.unlisting, s.now()
	u.passing, u.mine, u.passedAt = false, false, now
	if p.quickest > 0 {
		u.cost = min(max(float64(p.quickest.Microseconds())/float64(p.Entries), 1), 20)
		u.pace = min(max(float64(p.Took.Microseconds())/float64(p.Entries), u.cost), 100)
	}
	idle := p.Err == nil && (p.stage == scripts.UnlistBusy || p.stage == scripts.UnlistFull)
	switch {
	case p.Err == nil && p.stage == scripts.UnlistDone:
		u.covered, u.inUse, u.pause = p.horizon, u.inUse || p.Members > 0, 0
	case idle, p.Err != nil && !errors.As(p.Err, new(resp.Error)):
		u.notBefore = now + time.Second.Milliseconds()
	default:
		u.pause = min(max(2*u.pause, minUnlistPause), maxUnlistPause)
		u.notBefore = now + u.pause.Milliseconds()
	}
	if !idle {
		s.client.tell(p.report())
	}
	s.resume(t)
	s.lookAhead(t)
}

// pass is one pass and its result.
type pass struct {
	Unlisted  // Err is a call's: see report
	scheduler *scheduler
	names     wire.Names
	token     string
	found     scripts.Surveyed // when it begins: due times up to Covered are out of the list already
	horizon   int64            // Unix ms
	began     time.Time
	stage     scripts.Stage
	quickest  time.Duration // the time of all calls without delays
}

// run makes the calls, until the pass is over or its horizon near.
func (p *pass) run(ctx context.Context) {
	p.began = time.Now()
	defer func() { p.Took = time.Since(p.began) }()
	horizon, count := strconv.FormatInt(p.horizon, 10), firstStep
	for {
		quickest := transferTimeout // which bounds each
		for range paceSteps {
			took := p.step(ctx, horizon, count)
			if horizon = ""; p.Err != nil || p.stage != scripts.UnlistMore {
				return
			}
			quickest = min(quickest, took)
			if p.early() && conn.Pause(ctx, quickest) != nil {
				p.Err = ctx.Err()
				return
			}
		}
		if p.scheduler.now() >= p.horizon {
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

// early reports whether the pass will be over in good time at the pace it has, and may leave
// the server to others between two calls. When the covered members are due, transfers wait.
func (p *pass) early() bool {
	if p.Entries == 0 {
		return p.scheduler.now() < p.found.Covered
	}
	rest := time.Since(p.began) * time.Duration(p.found.Length-p.Entries) / time.Duration(p.Entries)
	return p.scheduler.now()+2*rest.Milliseconds() < p.found.Covered
}

// step makes one call.
func (p *pass) step(ctx context.Context, horizon string, count int) (took time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	began, keys := time.Now(), scripts.UnlistingOf(p.names.Destination)
	reply, err := p.scheduler.client.runOwn(ctx, conn.Background, scripts.Unlist(),
		[]string{
			p.names.TimeoutSet, p.names.Pending, keys.State, keys.Pass, keys.Next, keys.Leaving, keys.Unlisted[0], keys.Unlisted[1],
		},
		p.token, horizon, strconv.Itoa(count),
		strconv.FormatInt(unlistLease.Milliseconds(), 10), strconv.FormatInt(unlistedLife.Milliseconds(), 10))
	took = time.Since(began)
	p.Calls++
	p.Longest = max(p.Longest, took)
	if err != nil {
		p.Err = err
		return took
	}
	var n int
	if p.stage, n, p.Err = scripts.ReadUnlisted(reply); p.stage == scripts.UnlistDone {
		p.Members = n
	} else if n > 0 {
		p.Entries = n
	}
	return took
}

// report is the event for observers.
func (p *pass) report() Unlisted {
	e := p.Unlisted
	switch {
	case e.Err != nil:
		e.Err = fmt.Errorf("dq: unlisting of %q: %w", e.Queue, e.Err)
		if forbidden(e.Err) {
			e.Err = fmt.Errorf("%w: long queues are transferred as by Redisson", e.Err)
		}
	case p.stage != scripts.UnlistDone:
		e.Err = fmt.Errorf("dq: unlisting of %q was given up: %s", e.Queue, givenUp[p.stage])
	}
	return e
}

var givenUp = map[scripts.Stage]string{
	scripts.UnlistGone:  "it took too long, or its keys were deleted",
	scripts.UnlistLost:  "too much was removed from the pending list meanwhile",
	scripts.UnlistRaced: "members were removed from the pending list meanwhile",
}
