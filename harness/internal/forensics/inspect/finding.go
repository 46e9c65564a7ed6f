package inspect

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/text"
)

// The kinds of findings.
const (
	WrongType      = "wrong-type"
	DifferentSlots = "different-slots"
	ForeignMember  = "foreign-member"
	WindowsMember  = "windows-member"
	Unreadable     = "unreadable-member"
	StuckHead      = "stuck-head"
	Fractional     = "fractional-score"
	OverdueMembers = "overdue"
	NoSubscriber   = "no-subscriber"
	Ghost          = "ghost"
	Orphan         = "orphan"
	ListedAgain    = "listed-again"
	Quarantined    = "quarantined"
	Held           = "held"      // an anomaly where it is overdue or nobody listens: the guard is gone
	Abandoned      = "abandoned" // no Worker runs, and leases are over
	DeadLetters    = "dead-letters"
	OtherSide      = "other-side" // no anomaly: all members are of one layout
	SlowTransfer   = "slow-transfer"
	OtherCodec     = "other-codec" // an anomaly where the release has not got it
)

// findings are what there is to know, the gravest first.
func (l *look) findings() []Finding {
	all := []Finding{}
	for _, find := range []func() (Finding, bool){
		l.wrongType, l.differentSlots, l.foreignMembers, l.windowsMembers, l.unreadable, l.stuckHead, l.fractional, l.overdue, l.noSubscriber,
		l.ghosts, l.orphans, l.again, l.quarantined, l.otherCodec, l.held, l.abandoned, l.deadLetters, l.otherSide, l.slowTransfer,
	} {
		if f, found := find(); found {
			all = append(all, f)
		}
	}
	return all
}

func (l *look) old() string    { return l.q.Redisson[0].Text }
func (l *look) recent() string { return l.q.Redisson[1].Text }

func (l *look) wrongType() (Finding, bool) {
	n := l.reader.Names
	var wrong []string
	for _, k := range []struct{ key, want string }{{n.TimeoutSet, "zset"}, {n.Pending, "list"}, {n.Destination, "list"}} {
		if is := l.types[k.key]; is != k.want && is != "none" {
			wrong = append(wrong, fmt.Sprintf("%s is a %s, expected a %s", l.key(k.key), is, k.want))
		}
	}
	does := "every call that touches the key fails with WRONGTYPE; the transfer tries again every 5 s"
	queues := len(wrong)
	for i, key := range sideKeys(n.Destination) {
		want := [...]string{"zset", "zset", "zset", "zset", "set", "set"}[i]
		if is := l.types[key]; is != want && is != "none" && is != "" {
			wrong = append(wrong, fmt.Sprintf("%s, which dq and dq-bench use, is a %s, expected a %s", l.key(key), is, want))
		}
	}
	if queues == 0 {
		does = "does not know of the key"
	}
	return Finding{
		Kind: WrongType, Anomaly: true, Count: int64(len(wrong)), What: strings.Join(wrong, "; "), Old: does, New: does,
		Do: "find who wrote it, and move it to another key with RENAME",
	}, len(wrong) > 0
}

// key names a key so that it can be pasted into a shell.
func (l *look) key(key string) string { return text.Shell(key) }

// migrate is the command that rewrites the queue, for the release that it is meant for.
func (l *look) migrate() string {
	to := "LAYOUT"
	if l.options.Release != nil {
		to = l.options.Release.Layout().String()
	}
	return forensics.Command("migrate", l.q.Name, "--to", to)
}

// guard is the command that delivers for the queue.
func (l *look) guard() string { return forensics.Command("guard", l.q.Name) }

// repair is the command that mends it: with the layout that it has, where that is known.
func (l *look) repair() string {
	c := l.census
	to := "LAYOUT"
	switch old, recent := c.forms[forensics.DLc0], c.forms[forensics.Bc0Lc0]; {
	case l.options.Release != nil:
		to = l.options.Release.Layout().String()
	case old > 0 && recent == 0:
		to = wire.LayoutDLc0.String()
	case recent > 0 && old == 0:
		to = wire.LayoutBc0Lc0.String()
	}
	return forensics.Command("migrate", l.q.Name, "--to", to, "--repair")
}

func (l *look) foreignMembers() (Finding, bool) {
	c := l.census
	old, recent := c.forms[forensics.DLc0], c.forms[forensics.Bc0Lc0]
	f := Finding{
		Kind: ForeignMember, Anomaly: true, Count: int64(l.q.Counts.Foreign), Old: l.old(), New: l.recent(),
		What: fmt.Sprintf("dLc0 (to 3.21.0): %s; Bc0Lc0 (from 3.21.1): %s", members(old), members(recent)),
		Do: "stop the clients of one side, and rewrite what it left with " + l.migrate() + "; or " +
			"run " + l.guard() + " beside both, until nothing of one of them is left and nobody offers it; " +
			"meanwhile do not call poll() on the delayed queue from Redisson: it destroys a member that it cannot read",
	}
	foreign := forensics.DLc0
	if r := l.options.Release; r != nil && r.Layout() == wire.LayoutDLc0 || r == nil && recent < old {
		foreign = forensics.Bc0Lc0
	}
	if r := l.options.Release; r != nil {
		f.What += fmt.Sprintf("; Redisson %s reads %s alone", r, r.Layout())
	}
	f.Members = c.byForm[foreign]
	return f, f.Count > 0
}

// otherCodec is about values of a codec that the release has not got, or that is not what it uses where
// the code names none.
func (l *look) otherCodec() (Finding, bool) {
	r := l.options.Release
	if r == nil {
		return Finding{}, false
	}
	const wrong = "delivers them, and whoever takes them with another codec fails at them, or gets other values without an error"
	f := Finding{Kind: OtherCodec, Old: wrong, New: wrong}
	var what []string
	var old string
	for _, name := range java.Optional() {
		n := 0
		for kind, count := range l.census.kinds {
			if kind.Codec == name {
				n += count
			}
		}
		absent := !java.Has(*r, name)
		if n == 0 || !absent && name == java.Default(*r) {
			continue
		}
		f.Count += int64(n)
		f.Anomaly = f.Anomaly || absent
		old = name
		if absent {
			what = append(what, fmt.Sprintf("written by %s, which Redisson %s has not got: %s", name, r, members(n)))
		} else {
			what = append(what, fmt.Sprintf("written by %s, which Redisson %s uses only where the code names it: %s", name, r, members(n)))
		}
	}
	f.What = strings.Join(what, "; ")
	f.Do = "see that whoever takes them uses that codec; where the release has not got it, let one that has, or dq, deliver and take them first"
	if old != "" && old != "fst" && old != java.Default(*r) {
		f.Do += fmt.Sprintf("; or stop all that offer or take, and have the values rewritten: %s",
			forensics.Command("migrate", l.q.Name, "--codec", fmt.Sprintf("%s:%s", old, java.Default(*r))))
	}
	return f, f.Count > 0
}

func (l *look) windowsMembers() (Finding, bool) {
	c := l.census
	n := c.forms[forensics.DLc0Windows] + c.forms[forensics.Bc0Lc0Windows]
	return Finding{
		Kind: WindowsMember, Anomaly: true, Count: int64(n), Old: l.old(), New: l.recent(),
		What:    "with a length of 4 bytes, as a Redis for Windows packs it: " + members(n),
		Do:      l.migrate() + " rewrites them, a dq client or a guard delivers them as they are; on a Redis for Windows itself they are right",
		Members: append(append([]Member{}, c.byForm[forensics.DLc0Windows]...), c.byForm[forensics.Bc0Lc0Windows]...),
	}, n > 0
}

func (l *look) unreadable() (Finding, bool) {
	n := l.q.Counts.Unreadable
	return Finding{
		Kind: Unreadable, Anomaly: true, Count: int64(n), Old: l.old(), New: l.recent(),
		What:    "of no layout, for no length in them fits: " + members(n),
		Do:      l.repair() + " sets them aside in " + l.key(scripts.Quarantine(l.q.Name)) + " now, a dq client or a guard when they come due; find who wrote them",
		Members: l.census.byForm[forensics.Unreadable],
	}, n > 0
}

func (l *look) fractional() (Finding, bool) {
	const late = "fails to read the head's due time (NumberFormatException, \"Unable to decode data\") and asks again every 5 s: delivers, but late"
	return Finding{
		Kind: Fractional, Anomaly: true, Count: l.census.fractionN, Old: late, New: late,
		What:    "due at a fraction of a millisecond, which no Redisson writes: " + members(l.census.fractionN),
		Do:      "have who writes them use whole milliseconds; ZADD " + l.key(l.reader.Names.TimeoutSet) + " XX with the rounded score mends one",
		Members: l.census.fractional,
	}, l.census.fractionN > 0
}

func (l *look) overdue() (Finding, bool) {
	o := l.q.Overdue
	if o.Count == 0 {
		return Finding{}, false
	}
	const still = "that runs has lost its timer (3.5.6 to 3.45.0 can) or its subscription, or stands still at a member that it cannot read"
	return Finding{
		Kind: OverdueMembers, Anomaly: true, Count: o.Count, Old: still, New: still,
		What: fmt.Sprintf("%s, the oldest since %s (%s)", members(o.Count), moment(o.SinceMS), span(float64(l.q.At.UnixMilli())-*o.SinceMS)),
		Do:   "see that a service keeps an RDelayedQueue of this name open (getDelayedQueue, not destroyed); a restart, a reconnect or an offer that becomes the head wakes one that stands still",
	}, true
}

func (l *look) noSubscriber() (Finding, bool) {
	const nothing = "moves nothing until some client opens the queue with getDelayedQueue(); that one transfers at once what is overdue"
	waits := l.q.Counts.TimeoutSet > 0 && l.q.Subscribers.Count == 0 && l.q.Subscribers.Unknown == ""
	return Finding{
		Kind: NoSubscriber, Anomaly: true, Count: l.q.Counts.TimeoutSet, Old: nothing, New: nothing,
		What: fmt.Sprintf("nobody is subscribed to %s; waiting: %s", l.key(l.reader.Names.Channel), members(l.q.Counts.TimeoutSet)),
		Do:   "start a service that keeps an RDelayedQueue of this name open: offering or taking alone does not, and destroy() ends it",
	}, waits
}

func (l *look) ghosts() (Finding, bool) {
	const ghost = "never transfers it; size(), readAll(), peek() and contains() show it, poll() gives it out, and every transfer walks over it"
	return Finding{
		Kind: Ghost, Anomaly: true, Count: int64(l.diff.Ghosts.Count), Old: ghost, New: ghost,
		What:    "in the pending list and not in the timeout set, delivered or removed before: " + members(l.diff.Ghosts.Count),
		Do:      l.repair() + " moves them to a key of their own; they come from offers that a Redisson to 3.16.3 sent again after a time-out",
		Members: l.untimed(l.diff.Ghosts.First),
	}, l.diff.Ghosts.Count > 0
}

func (l *look) orphans() (Finding, bool) {
	const orphan = "transfers it when it is due, as any other; until then readAll(), contains() and remove() do not see it"
	return Finding{
		Kind: Orphan, Anomaly: true, Count: int64(l.diff.Orphans.Count), Old: orphan, New: orphan,
		What: "in the timeout set and not in the pending list: " + members(l.diff.Orphans.Count),
		Do: "if a transfer has failed here (a foreign or unreadable member, \"unpack\" in a log), those due before that have been delivered already: ZREM them. " +
			"Others were taken from the list alone, by retainAll() or a remove() to 3.3.1: ZREM them too, or they are delivered all the same. " +
			"If the list was lost, let them come; " + l.repair() + " lists them again, so that they can be read and removed until then",
		Members: l.untimed(l.diff.Orphans.First),
	}, l.diff.Orphans.Count > 0
}

func (l *look) again() (Finding, bool) {
	const again = "delivers it once, and leaves the other entry behind as a ghost"
	return Finding{
		Kind: ListedAgain, Anomaly: true, Count: int64(l.diff.Again.Count), Old: again, New: again,
		What:    fmt.Sprintf("once more in the pending list, behind the first: %d entries", l.diff.Again.Count),
		Do:      "LREM " + l.reader.Names.Pending + " -1 <member>, for each; a Redisson to 3.16.3 sent the offer again after a time-out",
		Members: l.untimed(l.diff.Again.First),
	}, l.diff.Again.Count > 0
}

// untimed shows members whose score is not at hand.
func (l *look) untimed(raw []string) []Member {
	var members []Member
	for _, m := range raw {
		members = append(members, l.show.member([]byte(m), nil))
	}
	return members
}

func (l *look) quarantined() (Finding, bool) {
	key := l.key(scripts.Quarantine(l.q.Name))
	const unknown = "does not know of them"
	return Finding{
		Kind: Quarantined, Anomaly: true, Count: l.q.Counts.Quarantine, Old: unknown, New: unknown,
		What: fmt.Sprintf("set aside by dq in %s, for nobody can read them: %s", key, members(l.q.Counts.Quarantine)),
		Do:   "ZRANGE " + key + " 0 -1 WITHSCORES shows them; to give one back: ZADD to the timeout set and RPUSH to the pending list; then ZREM it there",
	}, l.q.Counts.Quarantine > 0
}

// heldLate is how long after it is due what a guard holds is an anomaly, in ms.
const heldLate = 1000

func (l *look) held() (Finding, bool) {
	key := l.key(forensics.HeldKey(l.q.Name))
	const unknown = "does not know of them"
	f := Finding{
		Kind: Held, Count: l.q.Counts.Held, Old: unknown, New: unknown,
		What: fmt.Sprintf("taken out by dq-bench guard, which delivers them when they are due, in %s: %s", key, members(l.q.Counts.Held)),
		Do:   "let the guard run",
	}
	if overdue := float64(l.q.At.UnixMilli()) - l.heldUntil; overdue > heldLate {
		f.Anomaly = true
		f.What += fmt.Sprintf("; the first has been due for %s", span(overdue))
	}
	if l.noBridge {
		f.Anomaly = true
		f.What += "; and nobody listens for announcements, as a guard does"
	}
	if f.Anomaly {
		f.Do = "no guard runs: " + l.guard() + " delivers them"
	}
	return f, f.Count > 0
}

// abandonedAfter is how long after its time a value that a consumer held is put back at the latest, in ms.
const abandonedAfter = 5000

func (l *look) abandoned() (Finding, bool) {
	const unknown = "does not know of them"
	over := float64(l.q.At.UnixMilli()) - l.reservedUntil
	return Finding{
		Kind: Abandoned, Anomaly: true, Count: l.q.Counts.Reserved, Old: unknown, New: unknown,
		What: fmt.Sprintf("consumers hold, in %s: %s; the first was to go back %s ago", l.key(scripts.LeaseNamesOf(l.q.Name).Leases),
			valueCount(l.q.Counts.Reserved), span(over)),
		Do: "start a process with a dq.Worker of it: any takes over what others have held too long",
	}, l.q.Counts.Reserved > 0 && over > abandonedAfter
}

func (l *look) deadLetters() (Finding, bool) {
	const unknown = "does not know of them"
	return Finding{
		Kind: DeadLetters, Anomaly: true, Count: l.q.Counts.Dead, Old: unknown, New: unknown,
		What: fmt.Sprintf("a Worker of dq has given up, in %s: %s", l.key(scripts.LeaseNamesOf(l.q.Name).Dead), valueCount(l.q.Counts.Dead)),
		Do:   "look at their reasons by Queue.Dead, and then Replay or Drop them",
	}, l.q.Counts.Dead > 0
}

// otherSide says what an upgrade across 3.21.1, either way, would meet.
func (l *look) otherSide() (Finding, bool) {
	old, recent := l.census.forms[forensics.DLc0], l.census.forms[forensics.Bc0Lc0]
	if l.q.Counts.Foreign > 0 || old+recent == 0 || l.apart() {
		return Finding{}, false
	}
	f := Finding{Kind: OtherSide, Count: int64(old + recent), Old: l.old(), New: l.recent()}
	if old > 0 {
		f.What = "all are dLc0, written by releases to 3.21.0: " + members(old)
		f.Do = "before a Redisson from 3.21.1 on opens the queue: " + forensics.Command("migrate", l.q.Name, "--to", "Bc0Lc0") + ", or " + l.guard() + " beside it"
	} else {
		f.What = "all are Bc0Lc0, written by 3.21.1 or newer: " + members(recent)
		f.Do = "before a Redisson to 3.21.0 opens the queue: " + forensics.Command("migrate", l.q.Name, "--to", "dLc0") + ", or " + l.guard() + " beside it"
	}
	return f, true
}

// slowMS is from when on one transfer keeps a server from others for long.
const slowMS = 10

func (l *look) slowTransfer() (Finding, bool) {
	t := l.q.Transfer
	const walks = "sends the transfer all the same; every other client of the server waits meanwhile"
	return Finding{
		Kind: SlowTransfer, Count: int64(t.Members), Old: walks, New: walks,
		What: fmt.Sprintf("the transfer of the next %d members passes %s entries of the pending list: about %.0f ms in which the server does nothing else", t.Members, count(t.Entries), t.BlockedMS),
		Do:   "offer in the order of due times where that is possible, or spread the load over several queues: LREM walks the list from its head",
	}, t.BlockedMS >= slowMS
}
