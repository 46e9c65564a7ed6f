package analysis

import (
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// block is a BLPOP, BRPOP, BRPOPLPUSH or BLMOVE: it takes what there is, or waits.
func (a *Analysis) block(c *conn, cmd command, l monitor.Line) {
	keys, to, wait := l.Args[1:len(l.Args)-1], "", l.Args[len(l.Args)-1]
	if cmd == blockingMove {
		if len(l.Args) < 4 {
			return
		}
		keys, to = l.Args[1:2], l.Args[2]
	}
	seconds, err := strconv.ParseFloat(wait, 64)
	if err != nil {
		return
	}
	if seconds < 0 {
		c.sent(negativeWaits)
		return // the server refuses it
	}
	w := &waiter{conn: c, back: takesBack(l)}
	if seconds > 0 {
		w.deadline = l.Time + int64(min(seconds, 1e9)*1e6)
	}
	if to != "" {
		w.to = &dbKey{l.DB, strings.Clone(to)}
	}
	for _, key := range keys {
		if ref, ok := a.keys[dbKey{l.DB, key}]; ok && ref.role == destination {
			a.close(ref.queue)
			if a.take(ref.queue, w.back, w.to, l.Time) {
				return
			}
		}
	}
	a.wait(w, l.DB, keys)
}

// takesBack tells from which end a command takes.
func takesBack(l monitor.Line) bool {
	switch name := l.Name(); name {
	case "brpop", "rpop", "brpoplpush", "rpoplpush":
		return true
	case "lmove", "blmove":
		return len(l.Args) > 3 && (l.Args[3] == "RIGHT" || l.Args[3] == "right")
	}
	return false
}

// serve gives elements to the clients that wait for them, the first one first.
func (a *Analysis) serve(q *queue, at int64) {
	waiting := a.waiting[dbKey{q.db, q.name}]
	if waiting == nil {
		return
	}
	for q.ready.len() > 0 && waiting.Len() > 0 {
		w := waiting.Front().Value.(*waiter)
		a.wake(w.conn)
		if w.deadline == 0 || w.deadline >= at {
			a.take(q, w.back, w.to, at)
		}
	}
}

// take takes an element, which goes to the list to where that is a destination too.
func (a *Analysis) take(q *queue, back bool, to *dbKey, at int64) bool {
	e, ok := q.ready.pop(back)
	if !ok {
		return false
	}
	a.gone(q, e, at)
	if to != nil {
		if ref, ok := a.keys[*to]; ok && ref.role == destination {
			ref.queue.ready.push(element{value: e.value, front: true})
		}
	}
	return true
}

// gone counts an element that was taken.
func (a *Analysis) gone(q *queue, e element, at int64) {
	if e.delayed {
		q.counts.taken++
		q.lives.taken(e.life, at)
	}
}

// onDestination is a command on the list that consumers read.
func (a *Analysis) onDestination(q *queue, cmd command, l monitor.Line) {
	switch cmd {
	case push:
		front := l.Name()[0] == 'l'
		for _, value := range l.Args[2:] {
			q.call.pushed = append(q.call.pushed, element{value: valueOf(value), front: front})
		}
	case pop:
		for range countOf(l, 2) {
			if !a.take(q, takesBack(l), nil, l.Time) {
				break
			}
		}
	case move:
		if len(l.Args) >= 3 {
			a.take(q, takesBack(l), &dbKey{l.DB, l.Args[2]}, l.Time)
		}
	case lrem:
		if n, err := strconv.ParseInt(l.Args[2], 10, 64); err == nil && len(l.Args) == 4 {
			q.ready.remove(valueOf(l.Args[3]), n, func(e element) { a.gone(q, e, l.Time) })
		}
	case ltrim:
		if len(l.Args) == 4 {
			start, err1 := strconv.ParseInt(l.Args[2], 10, 64)
			stop, err2 := strconv.ParseInt(l.Args[3], 10, 64)
			if err1 == nil && err2 == nil {
				q.ready.trim(start, stop, func(e element) { a.gone(q, e, l.Time) })
			}
		}
	case del:
		q.ready.trim(1, 0, func(e element) { a.gone(q, e, l.Time) })
	}
}

// countOf is the number that an argument names; 1 where there is none.
func countOf(l monitor.Line, i int) int {
	if len(l.Args) <= i {
		return 1
	}
	n, err := strconv.Atoi(l.Args[i])
	if err != nil {
		return 0
	}
	return n
}
