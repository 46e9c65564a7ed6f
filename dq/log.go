package dq

import (
	"context"
	"fmt"
	"log"
	"os"

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

type clientLogger struct{ others *log.Logger }

// Printf implements go-redis's logging interface.
func (l *clientLogger) Printf(ctx context.Context, format string, v ...any) {
	hook, own := ctx.Value(logKey{}).(func(string))
	switch {
	case !own:
		_ = l.others.Output(3, fmt.Sprintf(format, v...))
	case hook != nil:
		hook(fmt.Sprintf(format, v...))
	}
}
