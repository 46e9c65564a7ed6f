package replay

import "github.com/dq-bench/dq-bench/internal/monitor"

// dbKey is a key in a database.
type dbKey struct {
	db   int
	name string
}

// blocks reports whether a command may wait before it answers.
func blocks(l monitor.Line) bool {
	switch l.Name() {
	case "blpop", "brpop", "brpoplpush", "blmove", "blmovem", "blmpop", "bzpopmin", "bzpopmax", "bzmpop",
		"xread", "xreadgroup", "wait", "waitaof":
		return true
	}
	return false
}

// subscribes reports whether a command makes its connection a subscriber.
func subscribes(l monitor.Line) bool {
	switch l.Name() {
	case "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe":
		return true
	}
	return false
}
