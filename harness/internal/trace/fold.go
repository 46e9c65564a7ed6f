package trace

import (
	"math"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// foldMisses replaces EVALSHA, SCRIPT LOAD, EVALSHA by the last of them where the first made no call and has the
// arguments of the last.
func foldMisses(calls []Call) []Call {
	dropped := make([]bool, len(calls))
	used := make([]bool, len(calls))
	for i := range calls {
		c := &calls[i]
		if c.Name() != "evalsha" || len(c.Args) < 3 || len(c.Inner) > 0 || used[i] {
			continue
		}
		load := next(calls, i, func(j int) bool {
			l := &calls[j]
			return !used[j] && l.BodySHA1 != "" && l.BodySHA1 == strings.ToLower(c.Args[1]) && l.Name() == "script"
		})
		again := next(calls, load, func(j int) bool { return !used[j] && j != i && slices.Equal(calls[j].Args, c.Args) })
		if load < len(calls) && again < len(calls) {
			dropped[i], dropped[load] = true, true
			calls[again].Tried = c.Time
			used[load], used[again] = true, true
		}
	}
	kept := make([]Call, 0, len(calls))
	for i, c := range calls {
		if !dropped[i] {
			kept = append(kept, c)
		}
	}
	return kept
}

// next returns the first index behind i for which ok holds, or len(calls).
func next(calls []Call, i int, ok func(int) bool) int {
	for i++; i < len(calls); i++ {
		if ok(i) {
			return i
		}
	}
	return len(calls)
}

// pushedEarly is how long before a message is due Redisson begins to send transfers without a pause, in ms.
const pushedEarly = 10

// foldEmptyTransfers drops the transfers that Redisson sends again and again, as fast as it can, so that their number
// says how fast that is: those that move nothing where the head of the queue is due within pushedEarly, and, but for
// the first of them, where it has been due and is not moved, as one of a negative score. Every other one counts.
func foldEmptyTransfers(events []*Event) []*Event {
	keys := NewKeyspace()
	stuck := make(map[Role]bool)
	var kept []*Event
	for _, e := range events {
		keys.Apply(e.Line, e.Inner)
		if transfer := e.Transfer; transfer != nil {
			q := &Queue{Names: transfer.Names, db: e.DB, keys: keys}
			_, head := q.head()
			empty := !math.IsInf(head, 1) && isEmptyTransfer(e.Call)
			switch wait := int64(head) - transfer.Now; {
			case empty && wait > 0 && wait <= pushedEarly:
				continue
			case empty && wait <= 0 && stuck[e.Role]:
				continue
			default:
				stuck[e.Role] = empty && wait <= 0
			}
		}
		kept = append(kept, e)
	}
	return kept
}

// isEmptyTransfer reports whether a transfer script looked and moved nothing.
func isEmptyTransfer(c Call) bool {
	return len(c.Inner) == 2 && c.Inner[0].Name() == "zrangebyscore" && c.Inner[1].Name() == "zrange"
}

// commands returns the commands that change keys: those of the script, or else the client's own.
func (e *Event) commands() []monitor.Line {
	if len(e.Inner) > 0 {
		return e.Inner
	}
	return []monitor.Line{e.Line}
}
