package ops

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// State is how grave a finding is.
type State string

// The states.
const (
	Red    State = "red"    // messages are lost, late or stuck
	Yellow State = "yellow" // they will be, or a person should look
	Note   State = "note"
	Fine   State = "fine" // of a queue
)

var gravity = map[State]int{Red: 3, Yellow: 2, Note: 1, Fine: 0}

// Finding is a fact about a queue or a server, with one next command.
type Finding struct {
	Kind  string `json:"kind"`
	State State  `json:"state"`
	Count int64  `json:"count"` // of members or values
	Why   string `json:"why"`
	Next  string `json:"next,omitempty"`
}

func (q *Queue) found(kind string, state State, count int64, why, next string) {
	q.Findings = append(q.Findings, Finding{kind, state, count, why, next})
}

// find adds the findings of a queue. Kinds are in the order of their gravity.
func (l *Look) find(q *Queue) {
	old, recent, unreadable := q.Layouts["dLc0"], q.Layouts["Bc0Lc0"], q.Layouts["unreadable"]
	if len(q.wrong) > 0 {
		key := text.Shell(q.wrong[0])
		q.found("wrong-type", Red, int64(len(q.wrong)), key+" is of another type: each call on it fails with WRONGTYPE", l.redisCLI("", "RENAMENX "+key+" "+text.Shell(wire.PrefixName("misplaced", q.wrong[0]))))
	}
	if l.at.Topology == redis.Cluster && wire.Slot(q.names.TimeoutSet) != wire.Slot(q.names.Pending) {
		q.found("different-slots", Red, q.Waiting, "its keys are in different slots of the cluster: each script fails with CROSSSLOT; a name needs no \"{\", or a whole {tag}", "")
	}
	if other := twin(q.Name); q.twin > 0 && other != "" {
		q.found("shared-keys", Yellow, q.twin, fmt.Sprintf("%s in the list %s, whose queue has the same keys: a message goes to the list of the client that transfers it. Commands mean %s; one of the queues needs another name",
			messages(q.twin), text.Shell(other), text.Shell(q.Name)), Command("queue list", other, append([]string{"--of", "ready"}, l.flags...)...))
	}
	if foreign := l.foreign(q); foreign > 0 {
		state, reads, next := Red, "", l.next(q, "guard")
		if l.release != nil {
			reads = fmt.Sprintf("; Redisson %s reads %s only", l.release, l.release.Layout())
		}
		why := fmt.Sprintf("members of dLc0 (to 3.21.0): %s; of Bc0Lc0 (from 3.21.1): %s%s. A transfer of Redisson fails at the first foreign member, and repeats what it delivered before", q.some(old), q.some(recent), reads)
		if q.Ahead > 0 && q.aheadDue >= l.nowMS()-1000 {
			state, why, next = Yellow, why+"; a guard takes them out ahead", l.next(q, "doctor")
		} else if l.release != nil && q.Listeners <= 0 {
			next = l.next(q, "migrate", l.rewrites(q)...)
		}
		q.found("foreign-member", state, foreign, why, next)
	}
	if unreadable > 0 {
		q.found("unreadable-member", Red, unreadable, fmt.Sprintf("members of neither layout: %s. A transfer of Redisson fails at the first", q.some(unreadable)), l.next(q, "queue repair"))
	}
	if isNever(q.head) || isNever(q.last) {
		n, state, why := max(q.census().Never, 1), Yellow, "whose due time is after the year 9999, and never comes"
		if q.head < 0 {
			state, why = Red, "whose due time is before 1970, as of a delay that overflowed, or after 9999: Redisson transfers without a pause, or announces no later offer"
		}
		q.found("stuck-head", state, n, members(n)+" "+why, l.next(q, "queue deliver", "--where", "due=never"))
	}
	l.findStill(q)
	if codec, n := l.otherCodec(q); n > 0 {
		state, why, next := Note, "uses only if the code names it", ""
		own := java.Default(*l.release)
		if !java.Has(*l.release, codec) {
			state, why = Red, "lacks"
		} else if slices.ContainsFunc(q.census().Values, func(v Value) bool { return v.Codec == own }) {
			state, why = Red, "uses only if the code names it; it then fails at the others, written by "+own+", or takes them for other values"
		}
		if recodes(codec, wrote(codec), *l.release) != nil {
			next = l.next(q, "migrate", l.rewrites(q)...)
		}
		q.found("other-codec", state, n, fmt.Sprintf("%s written by %s, which Redisson %s %s", messages(n), codec, l.release, why), next)
	}
	c := q.census()
	some := func(kind string, n int64, what func(int64) string, why, verb string, flags ...string) {
		if n > 0 {
			q.found(kind, Yellow, n, map[bool]string{true: "at least "}[c.Unsure != ""]+what(n)+" "+why, l.next(q, verb, flags...))
		}
	}
	some("ghost", q.ghosts, members, "in the pending list and not in the timeout set: size() counts such a ghost, and no transfer delivers one", "queue repair")
	some("orphan", c.Orphans, members, "in the timeout set and not in the pending list: a transfer delivers such an orphan, but remove() and readAll() do not see one", "queue repair")
	some("listed-again", c.Again, members, "twice in the pending list: each leaves a ghost", "queue repair")
	some("windows-member", c.Windows, members, "packed by a Redis for Windows, which no other Redis reads", "guard")
	some("set-aside", q.Aside, members, "set aside, where no client reads", "queue list", "--of", "aside")
	some("dead-letters", q.Dead, messages, "given up by a Worker of dq", "queue deliver", "--of", "dead", "--all")
	if !isNever(q.head) && q.head != math.Trunc(q.head) {
		q.found("fractional-score", Yellow, 1, "the first due time has a fraction of a millisecond, which no Redisson writes: it is delivered up to 5 s late", l.next(q, "queue repair"))
	}
	const cure = ". LREM walks the list: offer in the order of due times, spread the load over queues, or let dq transfer"
	if took := l.slow[q.Name]; took > 0 {
		q.found("slow-transfer", Yellow, 1, fmt.Sprintf("a transfer kept the server busy for %v, by its slow log%s", took.Round(time.Millisecond), cure), map[bool]string{true: l.next(q, "doctor")}[q.Census == nil])
	} else if q.far {
		q.found("slow-transfer", Yellow, q.Listed, fmt.Sprintf("due members are far from the head of a list of %d: a transfer of 100 takes about %.0f ms%s", q.Listed, float64(q.Listed)*50*16e-6, cure), "")
	}
	switch {
	case q.Census == nil:
	case l.release != nil && Between("3.46.0", "")(*l.release):
		q.found("deprecated", Note, 1, "RDelayedQueue is deprecated since 3.46.0, and its successor is not in the open edition", "dq-bench changes 3.45.1 "+l.release.String())
	case l.release == nil && old > 0 && recent == 0:
		q.found("other-side", Note, old, "all members are dLc0; a Redisson from 3.21.1 on reads none of them", "")
	case l.release == nil && recent > 0 && old == 0:
		q.found("other-side", Note, recent, "all members are Bc0Lc0; a Redisson to 3.21.0 reads none of them", "")
	}
}

// findStill finds messages that do not move.
func (l *Look) findStill(q *Queue) {
	if q.Overdue > 0 && len(q.wrong) == 0 {
		why := fmt.Sprintf("%s overdue, the oldest for %s", messages(q.Overdue), cmp.Or(map[bool]string{true: "more than 1 s"}[q.OldestMS == 0], text.Span(q.OldestMS)))
		if q.Listeners == 0 {
			why += "; no client listens, so nobody transfers"
		} else if q.Listeners > 0 {
			why += fmt.Sprintf("; clients that listen: %d, and none transfers: its timer was lost (3.5.6 to 3.45.0), or it fails at a member. One PUBLISH wakes it: %s", q.Listeners,
				l.redisCLI("", "PUBLISH "+text.Shell(q.names.Channel)+" 0"))
		}
		q.found("overdue", Red, q.Overdue, why, l.next(q, "guard"))
	}
	if late := int64(l.nowMS() - q.aheadDue); q.Ahead > 0 && late > 1000 {
		q.found("ahead", Red, q.Ahead, fmt.Sprintf("%s taken ahead by a guard, the first overdue for %s: no guard runs", messages(q.Ahead), text.Span(late)), l.next(q, "guard"))
	} else if q.Ahead > 0 {
		q.found("ahead", Note, q.Ahead, messages(q.Ahead)+" taken ahead by a guard, which delivers each when it is due", "")
	}
	if late := int64(l.nowMS() - q.leaseDue); q.Leased > 0 && late >= 5000 {
		state, why := Red, "no Worker runs"
		if q.leaseLast > l.nowMS() {
			state, why = map[bool]State{true: Yellow, false: Red}[late < 60_000], "its message waits for a busy Worker, or only retries wait and no Worker runs"
		}
		q.found("abandoned", state, q.Leased, fmt.Sprintf("Workers of dq hold %s, and the first lease ended %s ago: %s", messages(q.Leased), text.Span(late), why), l.next(q, "queue deliver", "--of", "held,retry", "--all"))
	}
	switch why := fmt.Sprintf("%s delivered and not taken; the first has not moved for %.0f s", messages(q.Ready), q.StillSeconds); {
	case q.StillSeconds == 0:
	case q.alike:
		q.found("not-taken", Yellow, q.Ready, messages(q.Ready)+" delivered; the first values are equal, so that only a falling number would show that a consumer takes them", l.next(q, "doctor", "--watch"))
	case q.StillSeconds >= stillFor.Seconds():
		q.found("not-taken", Red, q.Ready, why+": no consumer takes them; start the service that does", l.next(q, "queue list", "--of", "ready"))
	default:
		q.found("not-taken", Yellow, q.Ready, why+": is its consumer down? A longer look shows it", l.next(q, "doctor", "--watch"))
	}
	if q.Waiting > 0 && q.Listeners == 0 && q.Overdue == 0 {
		q.found("no-subscriber", Yellow, q.Waiting, messages(q.Waiting)+" waiting, and no client listens: nothing is transferred until a service calls getDelayedQueue(), or a guard runs", l.next(q, "guard"))
	}
}

func graver(a, b Finding) int { return cmp.Compare(gravity[b.State], gravity[a.State]) }

// judge adds the findings of all queues, and orders the queues.
func (l *Look) judge() {
	count := map[State]int{}
	for _, q := range l.Queues {
		l.find(q)
		slices.SortStableFunc(q.Findings, graver)
		if q.State = Fine; len(q.Findings) > 0 && q.Findings[0].State != Note {
			q.State = q.Findings[0].State
		}
		for _, f := range q.Findings {
			count[f.State]++
		}
	}
	if len(l.Queues) == 0 && len(l.Server.Databases) > 0 {
		l.Findings = append(l.Findings, Finding{"other-database", Yellow, 1, fmt.Sprintf("database %d holds no delayed queue; these databases hold keys: %s", l.Server.Database, strings.Join(l.Server.Databases, ", ")),
			l.elsewhere("", "--all")})
	}
	slices.SortStableFunc(l.Findings, graver)
	for _, f := range l.Findings {
		count[f.State]++
	}
	l.Red, l.Yellow = count[Red], count[Yellow]
	slices.SortStableFunc(l.Queues, func(a, b *Queue) int {
		return cmp.Or(cmp.Compare(gravity[b.State], gravity[a.State]), cmp.Compare(b.Overdue, a.Overdue), strings.Compare(a.Name, b.Name))
	})
}

// elsewhere is a command for another database with keys.
func (l *Look) elsewhere(queue string, flags ...string) string {
	at := l.at
	at.Database, _ = strconv.Atoi(l.Server.Databases[0])
	return Command("doctor", queue, append(flags, at.Flags("FILE")...)...)
}

// next is a command about a queue, with the address of the server.
func (l *Look) next(q *Queue, verb string, flags ...string) string {
	return Command(verb, q.Name, append(flags, l.flags...)...)
}

// rewrites are the flags of the migration that the services need, of the values and of the layout: one command does both.
func (l *Look) rewrites(q *Queue) (flags []string) {
	if codec, n := l.otherCodec(q); n > 0 {
		flags = recodes(codec, wrote(codec), *l.release)
	}
	if l.foreign(q) > 0 {
		flags = append(flags, "--to", l.release.String())
	}
	return flags
}

func (l *Look) nowMS() float64 { return float64(l.At.UnixMilli()) }

// foreign is how many members of a queue the services do not read.
func (l *Look) foreign(q *Queue) int64 {
	if l.release == nil {
		return min(q.Layouts["dLc0"], q.Layouts["Bc0Lc0"])
	}
	return q.Layouts[l.release.Layout().Other().String()]
}

// some is a count, of the members that were read.
func (q *Queue) some(n int64) string {
	if q.Census == nil && n > 0 {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}

// lastMS is the end of the year 9999, in Unix ms. Redisson reads no score from 1e17 on.
const lastMS = 253402300799999

func isNever(score float64) bool { return score < 0 || score > lastMS }

// otherCodec is the first codec of values that the services do not write by default, and how many it wrote; 0 without one.
func (l *Look) otherCodec(q *Queue) (codec string, n int64) {
	for _, v := range q.census().Values {
		if l.release != nil && slices.Contains(java.Optional(), v.Codec) && v.Codec != java.Default(*l.release) && cmp.Or(codec, v.Codec) == v.Codec {
			codec, n = v.Codec, n+v.Count
		}
	}
	return codec, n
}

// census is empty for a queue that was not read whole.
func (q *Queue) census() *Census { return cmp.Or(q.Census, &Census{}) }

func members(n int64) string  { return text.Plural(n, "member") }
func messages(n int64) string { return text.Plural(n, "message") }
