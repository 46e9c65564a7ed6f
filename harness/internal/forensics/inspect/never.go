package inspect

import (
	"fmt"
	"math"
	"strings"
)

// fate is what a due time that never comes does to a running Redisson while it is that of the head.
// Which it is was seen on 3.16.6 and 4.7.0, with Redis 7.0.15.
type fate int

const (
	// restless is before 1970: the transfer is repeated without a pause.
	restless fate = iota
	// silent is as restless, and too far for Redisson to read.
	silent
	// unreadable is too far after 1970 for Redisson to read.
	unreadable
	// distant is after the year 9999, and nothing but that.
	distant
	fates
)

// neverDue are the members of a fate.
type neverDue struct {
	count int64
	first []Member
}

const (
	// lastMS is the end of the year 9999, in Unix ms.
	lastMS = 253402300799999
	// exponentFrom is from where on the server writes a score with an exponent, which Java reads as no
	// number.
	exponentFrom = 1e17
)

// fateOf is that of a score, and false where its time comes.
func fateOf(score float64) (fate, bool) {
	read := math.Abs(score) < exponentFrom && score == math.Trunc(score)
	switch {
	case score < 0 && read:
		return restless, true
	case score < 0:
		return silent, true
	case score > lastMS && read:
		return distant, true
	case score > lastMS:
		return unreadable, true
	}
	return 0, false
}

// neverN is how many members are never due.
func (c *census) neverN() (n int64) {
	for _, never := range c.never {
		n += never.count
	}
	return n
}

func (l *look) stuckHead() (Finding, bool) {
	f := Finding{Kind: StuckHead, Anomaly: true, Count: l.census.neverN()}
	const unread = "it fails to read its due time (NumberFormatException, \"Unable to decode data\") and asks again every 5 s"
	for fate, text := range [fates]struct{ what, does string }{
		restless: {"before 1970", "while one from before 1970 is the head, transfers without a pause, thousands of times a second"},
		silent: {"long before 1970, as a delay gives it that overflows",
			"while one from long before 1970 is the head, no later offer is announced, and what comes due waits for a timer set before, or a new connection; that " + unread[len("it "):]},
		unreadable: {"long after the year 9999", "while one from long after the year 9999 is the head, " + unread[len("it "):] + ", and delivers what else is offered"},
		distant:    {"after the year 9999", "waits for one from after the year 9999, and delivers what else is offered"},
	} {
		if never := l.census.never[fate]; never.count > 0 {
			f.What += fmt.Sprintf("%s: %s; ", text.what, members(never.count))
			f.Old += text.does + "; "
			f.Members = append(f.Members, never.first[:min(len(never.first), max(1, fewMembers-len(f.Members)))]...)
		}
	}
	f.What = "with a due time that never comes, " + strings.TrimSuffix(f.What, "; ")
	f.Old = strings.TrimSuffix(f.Old, "; ")
	f.New = f.Old
	f.Do = "ZREM them from " + l.key(l.reader.Names.TimeoutSet) + " and LREM them from " + l.key(l.reader.Names.Pending) + ", or offer them anew with a delay that can be"
	return f, f.Count > 0
}
