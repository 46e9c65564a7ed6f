package dq

import (
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// logKey is the key of a context under which go-redis's log lines for a Client are
// caught: its value is a func(string), which may be nil.
type logKey struct{}

// go-redis has one logger for the whole process, which writes to stderr. This one
// does the same with lines that are not a Client's. A program that sets its own with
// redis.SetLogger gets all lines.
func init() {
	redis.SetLogger(&clientLogger{log.New(os.Stderr, "redis: ", log.LstdFlags|log.Lshortfile)})
}

// asking are the Clients that have had sentinels asked for their master of late.
// go-redis does that over connections of its own, whose log lines bear no context.
var asking askers

type askers struct {
	mu    sync.Mutex
	until map[*sentinelTopology]time.Time
}

// lateLines is how long after a question its log lines may come.
const lateLines = 10 * time.Second

func (a *askers) note(t *sentinelTopology) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(a.until, func(_ *sentinelTopology, until time.Time) bool { return until.Before(now) })
	if a.until == nil {
		a.until = make(map[*sentinelTopology]time.Time)
	}
	a.until[t] = now.Add(lateLines)
}

// hook returns what takes the lines of such questions; ok is false if none was asked.
func (a *askers) hook() (hook func(string), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var hooks []func(string)
	for t, until := range a.until {
		if until.Before(time.Now()) {
			continue
		}
		ok = true
		if h, _ := t.ctx.Value(logKey{}).(func(string)); h != nil {
			hooks = append(hooks, h)
		}
	}
	return func(line string) {
		for _, h := range hooks {
			h(line)
		}
	}, ok
}

type clientLogger struct{ others *log.Logger }

// Printf implements go-redis's logging interface.
func (l *clientLogger) Printf(ctx context.Context, format string, v ...any) {
	hook, own := ctx.Value(logKey{}).(func(string))
	if !own && (strings.HasPrefix(format, "redis: connection pool: failed to dial") || strings.HasPrefix(format, "sentinel: ")) {
		hook, own = asking.hook()
	}
	switch {
	case !own:
		_ = l.others.Output(3, fmt.Sprintf(format, v...))
	case hook != nil:
		hook(fmt.Sprintf(format, v...))
	}
}
