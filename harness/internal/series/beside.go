package series

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// gatherLead is the time between the instant at which all sides of a block are warm and
// the one at which they begin.
const gatherLead = time.Second

// block has one run of each side begin at one instant. What the machine does meanwhile
// falls on all of them in the same second, so that it is no difference between them.
type block struct {
	id    string
	sides int

	mu    sync.Mutex
	ready int
	at    time.Time
	all   chan struct{} // closed once all are ready, and at is set
}

// gather waits until all sides are ready, and returns the instant to begin at; the zero
// time if ctx ends first. Each side calls it once.
func (b *block) gather(ctx context.Context) (time.Time, error) {
	b.mu.Lock()
	if b.ready++; b.ready == b.sides {
		b.at = time.Now().Add(gatherLead)
		close(b.all)
	}
	b.mu.Unlock()
	select {
	case <-b.all:
		return b.at, nil
	case <-ctx.Done():
		return time.Time{}, nil
	}
}

// document is what the run files say of the block; nil of none.
func (b *block) document() *run.Beside {
	if b == nil {
		return nil
	}
	return &run.Beside{Block: b.id, Sides: b.sides}
}

// CheckBeside refuses cases whose sides cannot run at the same time. Its error is wrong
// usage.
func CheckBeside(cases []Case, server string) error {
	for _, c := range cases {
		if len(c.Sides) < 2 {
			return errors.New("beside: expected two sides or more to run at the same time; give --driver, or --redis, as often")
		}
		external := map[string]bool{}
		for _, side := range c.Sides {
			at := server
			if side.Redis != "" {
				at = side.Redis
			}
			if external[at] {
				return fmt.Errorf("beside: expected a server of its own for each side, got --redis %s, which they would share; "+
					"give auto, process, container or embedded, which starts one for each", redis.Redact(at))
			}
			external[at] = redis.IsExternal(at)
		}
	}
	return nil
}

// rounds are the turns that are to be done one after the other, or, of those of one round,
// at the same time.
func (o Options) rounds(sides, repeat int) [][]Turn {
	var rounds [][]Turn
	for _, turn := range Order(sides, repeat) {
		if n := len(rounds); o.Beside && n > 0 && rounds[n-1][0].N == turn.N {
			rounds[n-1] = append(rounds[n-1], turn)
			continue
		}
		rounds = append(rounds, []Turn{turn})
	}
	return rounds
}

// round does the turns of a round at the same time, and keeps their runs. When one of them
// fails the others are interrupted. Progress is that of its first turn; Live shows each side.
func (r *Result) round(ctx context.Context, o Options, c Case, turns []Turn) error {
	var b *block
	if len(turns) > 1 {
		b = &block{id: fmt.Sprintf("%08x", newRunID()), sides: len(turns), all: make(chan struct{})}
	}
	folders := make([]string, len(turns))
	for i, turn := range turns {
		folders[i] = filepath.Join(r.Sides[turn.Side].Folder, strconv.Itoa(turn.N))
		tidy, err := run.PrepareFolder(folders[i])
		if err != nil {
			return err
		}
		defer tidy()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	documents, errs := make([]*run.Document, len(turns)), make([]error, len(turns))
	lives := o.Live.Split(len(turns))
	for i, turn := range turns {
		side, own := c.Sides[turn.Side], o
		own.name, own.alike = r.Sides[turn.Side].Name, alike(c.Sides, turn.Side)
		if side.Redis != "" {
			own.Redis = side.Redis
		}
		if i > 0 {
			own.Progress = func(load.Progress) {}
		}
		if len(turns) > 1 {
			own.Live = lives[turn.Side]
		}
		running.Go(func() {
			if documents[i], errs[i] = runIn(ctx, own, b, side.Driver, c.Run, folders[i]); errs[i] != nil {
				errs[i] = fmt.Errorf("run %d of %s: %w", turn.N, r.Sides[turn.Side].Name, errs[i])
				cancel()
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, turn := range turns {
		r.Sides[turn.Side].Runs = append(r.Sides[turn.Side].Runs, documents[i])
	}
	return nil
}
