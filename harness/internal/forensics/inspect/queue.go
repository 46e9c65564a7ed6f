package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Options say how to look.
type Options struct {
	// Release is the Redisson release that the queue is meant for; nil for none. Members
	// of the other layout are foreign then, also where there are no others.
	Release *wire.Release
	// Redact leaves values out.
	Redact bool
	// Samples is how many members of each layout, codec and class are shown.
	Samples int
}

// own is the layout for the few members that fit both.
func (o Options) own() wire.Layout {
	if o.Release != nil {
		return o.Release.Layout()
	}
	return wire.Newest().Layout()
}

// look is an inspection of one queue under way.
type look struct {
	client  redis.Conn
	reader  *forensics.Reader
	options Options
	show    shower
	types   map[string]string // of the keys
	census  *census
	diff    forensics.Difference
	q       Queue

	heldUntil float64 // score of the first member that a guard holds
	// reservedUntil is up to when the first that a consumer holds is held, in Unix ms.
	reservedUntil float64
	noBridge      bool // none can be running: nobody is subscribed to anything
}

// LookAt inspects the queue with that destination. It writes nothing. An error is that
// of the server: what the user may not ask beyond the keys themselves is Uncertain.
func LookAt(ctx context.Context, client redis.Conn, dest string, options Options) (Queue, error) {
	began := time.Now()
	reader, err := forensics.NewReader(ctx, client, dest)
	if err != nil {
		return Queue{}, err
	}
	l := &look{
		client: client, reader: reader, options: options, show: shower{options.own(), options.Redact},
		q: Queue{Name: dest, Due: []Bucket{}, Layouts: []Layout{}, Values: []Value{}, Samples: []Member{}, Findings: []Finding{}},
	}
	for _, step := range []func(context.Context) error{l.count, l.walk, l.clock, l.aside, l.cost} {
		if err := step(ctx); err != nil {
			return Queue{}, fmt.Errorf("queue %q: %w", dest, err)
		}
	}
	l.sum()
	l.q.Findings = l.findings()
	cost := reader.Cost()
	l.q.Reading = Reading{
		Calls: cost.Calls, LongestMS: milliseconds(cost.Longest), Bytes: cost.Bytes, TookMS: milliseconds(time.Since(began)),
	}
	return l.q, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// count asks for types and numbers, all O(1).
func (l *look) count(ctx context.Context) error {
	n := l.reader.Names
	l.types = map[string]string{}
	for _, key := range append([]string{n.TimeoutSet, n.Pending, n.Destination}, sideKeys(n.Destination)...) {
		kind, err := l.client.Do(ctx, "TYPE", key).Text()
		if err != nil && len(l.types) < 3 {
			return fmt.Errorf("TYPE %s: %w", key, err)
		}
		l.types[key] = kind
	}
	now, err := redis.Time(ctx, l.client)
	if err != nil {
		return fmt.Errorf("TIME: %w", err)
	}
	l.q.At = now.UTC()
	counts := &l.q.Counts
	for _, c := range []struct {
		into *int64
		key  string
		is   string
		ask  string
	}{
		{&counts.TimeoutSet, n.TimeoutSet, "zset", "ZCARD"},
		{&counts.PendingList, n.Pending, "list", "LLEN"},
		{&counts.Destination, n.Destination, "list", "LLEN"},
	} {
		if l.types[c.key] != c.is {
			continue
		}
		if *c.into, err = l.client.Do(ctx, c.ask, c.key).Int64(); err != nil {
			return fmt.Errorf("the length of %s: %w", c.key, err)
		}
	}
	quarantine, err := l.client.Do(ctx, "ZCARD", scripts.Quarantine(n.Destination)).Int64()
	if err != nil && !isWrongType(err) {
		l.uncertain("the quarantine of dq", err)
	}
	counts.Quarantine = quarantine
	key := forensics.HeldKey(n.Destination)
	first, err := redis.Scores(l.client.Do(ctx, "ZRANGE", key, 0, 0, "WITHSCORES"))
	if err == nil && len(first) > 0 {
		l.heldUntil = first[0].Score
		counts.Held, err = l.client.Do(ctx, "ZCARD", key).Int64()
	}
	if err != nil && !isWrongType(err) {
		l.uncertain("what a guard holds", err)
	}
	l.countHeld(ctx)
	return nil
}

// countHeld asks what a dq.Worker keeps.
func (l *look) countHeld(ctx context.Context) {
	names := scripts.LeaseNamesOf(l.reader.Names.Destination)
	first, err := redis.Scores(l.client.Do(ctx, "ZRANGE", names.Leases, 0, 0, "WITHSCORES"))
	if err == nil && len(first) > 0 {
		l.reservedUntil = first[0].Score
		l.q.Counts.Reserved, err = l.client.Do(ctx, "ZCARD", names.Leases).Int64()
	}
	if err == nil || isWrongType(err) {
		l.q.Counts.Dead, err = l.client.Do(ctx, "ZCARD", names.Dead).Int64()
	}
	if err != nil && !isWrongType(err) {
		l.uncertain("what a Worker of dq holds", err)
	}
}

// sideKeys are those that dq and a guard keep beside the queue's: four ZSETs, two SETs.
func sideKeys(dest string) []string {
	unlisted, leases := scripts.UnlistingOf(dest).Unlisted, scripts.LeaseNamesOf(dest)
	return []string{scripts.Quarantine(dest), forensics.HeldKey(dest), leases.Leases, leases.Dead, unlisted[0], unlisted[1]}
}

// isWrongType tells what is a finding.
func isWrongType(err error) bool { return redis.HasErrorPrefix(err, "WRONGTYPE") }

// uncertain takes note of what could not be looked at.
func (l *look) uncertain(what string, err error) {
	l.q.Uncertain = append(l.q.Uncertain, text.Line(fmt.Sprintf("%s: not looked at: %v", what, err)))
}

// walk reads all members, first those of the timeout set.
func (l *look) walk(ctx context.Context) error {
	n := l.reader.Names
	l.census = newCensus(l.options.own(), l.show, l.options.Samples, l.q.Counts.TimeoutSet)
	if l.types[n.TimeoutSet] == "zset" {
		now := float64(l.q.At.UnixMilli())
		err := l.reader.TimeoutSet(ctx, func(chunk []redis.Z) error {
			for _, z := range chunk {
				l.census.add(z, now)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for key, want := range map[string]string{n.Pending: "list", n.TimeoutSet: "zset"} {
		if is := l.types[key]; is != want && is != "none" {
			return nil // of a wrong type: a finding
		}
	}
	t := &l.q.Transfer
	met := 0
	diff, err := forensics.Compare(ctx, l.reader, l.census.index, func(index int, member string) {
		if l.census.soonest[member] {
			delete(l.census.soonest, member) // LREM stops at the first entry
			met++
			t.Entries += int64(index) + 1
		}
	})
	l.diff = diff
	if diff.Lost || diff.Deep {
		*t = Transfer{}
	} else {
		// A member without an entry makes LREM pass all of the list.
		missing := len(l.census.soonest)
		t.Members = met + missing
		t.Entries += int64(missing) * l.q.Counts.PendingList
	}
	if diff.Lost {
		l.q.Uncertain = append(l.q.Uncertain, "ghosts and orphans: the pending list changed faster than it could be read; ask again at a calmer time")
	}
	if diff.Deep {
		l.q.Uncertain = append(l.q.Uncertain, "ghosts and orphans: the pending list is so long, and its members so large, that the server would have to seek its middle for longer than 5 ms; ask a replica")
	}
	if diff.Unsettled > 0 {
		l.q.Uncertain = append(l.q.Uncertain, fmt.Sprintf("%d entries of the pending list went away while they were looked at", diff.Unsettled))
	}
	return err
}

// spans are the bounds of the histogram of due times, relative to now.
var spans = []time.Duration{
	-24 * time.Hour, -time.Hour, -time.Minute, -time.Second, 0, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute,
	time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// overdueAfter is for how long a member may be due before that is called overdue:
// Redisson's timers tick every 100 ms at most.
const overdueAfter = time.Second

// clock asks how many members are due when: one ZCOUNT for each span, O(log n).
func (l *look) clock(ctx context.Context) error {
	key := l.reader.Names.TimeoutSet
	if l.types[key] != "zset" {
		return nil
	}
	now, err := redis.Time(ctx, l.client)
	if err != nil {
		return fmt.Errorf("TIME: %w", err)
	}
	at := now.UnixMilli()
	for i := 0; i <= len(spans); i++ {
		b := Bucket{}
		from, to := "0", "+inf"
		if i > 0 {
			ms := spans[i-1].Milliseconds()
			b.FromMS, from = &ms, fmt.Sprint(at+ms)
		}
		if i < len(spans) {
			ms := spans[i].Milliseconds()
			b.ToMS, to = &ms, fmt.Sprintf("(%d", at+ms)
		}
		b.Name = spanName(i)
		if b.Count, err = l.client.Do(ctx, "ZCOUNT", key, from, to).Int64(); err != nil {
			return fmt.Errorf("ZCOUNT %s: %w", key, err)
		}
		l.q.Due = append(l.q.Due, b)
	}
	late := fmt.Sprint(at - overdueAfter.Milliseconds())
	if l.q.Overdue.Count, err = l.client.Do(ctx, "ZCOUNT", key, "0", late).Int64(); err != nil || l.q.Overdue.Count == 0 {
		return err
	}
	oldest, err := redis.Scores(l.client.Do(ctx, "ZRANGEBYSCORE", key, "0", late, "WITHSCORES", "LIMIT", 0, 1))
	if len(oldest) > 0 {
		l.q.Overdue.SinceMS = &oldest[0].Score
	}
	return err
}

// spanName is what the histogram calls the span before the i-th bound.
func spanName(i int) string {
	name := func(d time.Duration) string {
		switch d = d.Abs(); {
		case d >= 24*time.Hour:
			return fmt.Sprintf("%d d", d/(24*time.Hour))
		case d >= time.Hour:
			return fmt.Sprintf("%d h", d/time.Hour)
		case d >= time.Minute:
			return fmt.Sprintf("%d min", d/time.Minute)
		}
		return fmt.Sprintf("%d s", d/time.Second)
	}
	switch {
	case i == 0:
		return "overdue for more than " + name(spans[0])
	case i == len(spans):
		return "in more than " + name(spans[i-1])
	case spans[i] == 0:
		return "due just now"
	case spans[i] < 0:
		return fmt.Sprintf("overdue for %s to %s", name(spans[i]), name(spans[i-1]))
	case spans[i-1] == 0:
		return "in less than " + name(spans[i])
	}
	return fmt.Sprintf("in %s to %s", name(spans[i-1]), name(spans[i]))
}

// aside looks at what is beside the keys; who may not is told.
func (l *look) aside(ctx context.Context) error {
	n := l.reader.Names
	count, clients, err := forensics.Subscribers(ctx, l.client, n.Channel)
	if err != nil {
		l.uncertain("subscribers", err)
	}
	s := Subscribers{Count: count, Clients: clients}
	if err != nil && count == 0 {
		s.Unknown = err.Error()
	}
	if role, err := l.client.Do(ctx, "INFO", "replication").Text(); err == nil && count == 0 && strings.Contains(role, "role:slave") {
		s.Unknown = "this is a replica, and services subscribe to its master"
		l.q.Uncertain = append(l.q.Uncertain, "subscribers: "+s.Unknown)
	}
	l.q.Subscribers = s
	if l.q.Counts.Held > 0 && count == 0 && s.Unknown == "" {
		patterns, err := forensics.Patterns(ctx, l.client)
		l.noBridge = err == nil && patterns == 0
	}
	for key, into := range map[string]*int64{n.TimeoutSet: &l.q.Memory.TimeoutSet, n.Pending: &l.q.Memory.PendingList, n.Destination: &l.q.Memory.Destination} {
		if l.types[key] == "none" {
			continue
		}
		if *into, err = l.client.Do(ctx, "MEMORY", "USAGE", key, "SAMPLES", memorySamples).Int64(); err != nil && !errors.Is(err, redis.Nil) { // nil: empty by now
			l.uncertain("memory of "+key, err)
		}
	}
	slices.Sort(l.q.Uncertain)
	return ctx.Err()
}

// memorySamples bounds how many elements MEMORY USAGE looks at.
const memorySamples = 5

// cost estimates what the next transfer of Redisson's takes.
func (l *look) cost(ctx context.Context) error {
	t := &l.q.Transfer
	if t.Members == 0 || l.types[l.reader.Names.Pending] != "list" {
		return nil
	}
	like, err := l.reader.Entries(ctx, 0, 1)
	if err != nil || len(like) == 0 {
		return err
	}
	if t.EntryNS, t.Measured, err = l.reader.EntryCost(ctx, l.q.Counts.PendingList, like[0]); err != nil {
		return err
	}
	t.BlockedMS = t.EntryNS * float64(t.Entries) / float64(time.Millisecond)
	return nil
}
