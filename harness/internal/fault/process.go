package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// process does a fault of the server's process, or of its folder.
func (in *Injector) process(ctx context.Context, f plan.Fault, node *redis.Node) error {
	switch f.Kind {
	case plan.NoSnapshots:
		return in.noSnapshots(ctx, f.For, node)
	case plan.Halt:
		return during(ctx, f.For, func(context.Context) error { return node.Pause() }, func(context.Context) error { return node.Resume() })
	case plan.KillServer:
		return during(ctx, f.For, func(context.Context) error { return node.Kill() }, node.Restart)
	case plan.Loading:
		if err := in.lengthen(ctx, f.For); err != nil {
			return err
		}
		return errors.Join(node.Kill(), bounded(ctx, node.Restart))
	}
	return fmt.Errorf("no way to do %s", f.Kind)
}

// lengthen adds to the server's file what takes it so long to read.
func (in *Injector) lengthen(ctx context.Context, d time.Duration) error {
	var calls [][]any
	for i := range d.Microseconds() / keyLoadDelay {
		calls = append(calls, []any{"SET", "dq-bench:loading", i})
	}
	_, err := in.admin.Pipe(ctx, calls...)
	return err
}

// noSnapshots has a snapshot fail for a folder that is where its file should be: the server
// takes no writes after that.
func (in *Injector) noSnapshots(ctx context.Context, d time.Duration, node *redis.Node) error {
	file := filepath.Join(node.Dir, "dump.rdb")
	return during(ctx, d, func(ctx context.Context) error {
		if err := os.Mkdir(file, 0o700); err != nil {
			return err
		}
		if err := in.config("save", "3600 1")(ctx); err != nil {
			return err
		}
		if err := in.admin.Do(ctx, "BGSAVE").Err(); err != nil {
			return err
		}
		return in.until(ctx, func(ctx context.Context) (bool, error) {
			info, err := in.admin.Do(ctx, "INFO", "persistence").Text()
			return strings.Contains(info, "rdb_last_bgsave_status:err"), err
		})
	}, func(ctx context.Context) error {
		return errors.Join(in.config("save", "")(ctx), os.Remove(file))
	})
}

// until asks again until it holds.
func (in *Injector) until(ctx context.Context, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, mendTimeout)
	defer cancel()
	for {
		ok, err := holds(ctx)
		if ok || err != nil {
			return err
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}
