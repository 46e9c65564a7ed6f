package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/dq-bench/dq-bench/recordings"
)

// replayDocument is what `replay --json` prints.
type replayDocument struct {
	Schema string                `json:"schema"`
	Server replayServer          `json:"server"`
	Files  []*trace.ReplayResult `json:"files"`
}

// replayServer is the server that recordings were sent to.
type replayServer struct {
	Product string `json:"product"`
	Version string `json:"version"`
	How     string `json:"how"` // where it runs, as people read it
}

func newReplay() *call {
	c := newCall("replay", needs(1, many))
	c.str(&c.redis, "redis", "auto")
	c.more("redis", startedServers+", embedded")
	c.prints(false)
	c.check = func([]string) error { return checkByTCP(c.redis) }
	return c.unpacks(func(files []string) error {
		plans, err := replayPlans(c.Context(), files)
		if err != nil {
			return err
		}
		srv, results, err := replayAll(c.Context(), c.redis, func(s string) { c.notice("%s", s) }, plans)
		if err != nil {
			return err
		}
		different, text := 0, ""
		for _, r := range results {
			if text += r.Text(); !r.Identical {
				different++
			}
		}
		err = c.says(replayDocument{"dq-bench/replay/v1", replayServer{srv.Product, srv.Version, srv.How}, results}, text)
		if err == nil && different > 0 {
			err = failure(fmt.Errorf("%d of %d recordings differ from what the server does", different, len(results)))
		}
		return err
	})
}

// replayPlans reads every file before a server is started, and names each file that cannot be used. Each case of a recording begins on
// an empty server.
func replayPlans(ctx context.Context, files []string) ([]*trace.ReplayPlan, error) {
	var plans []*trace.ReplayPlan
	var errs []error
	for _, file := range files {
		tree, err := trace.ReadTree(ctx, file)
		errs = append(errs, err)
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			for _, recording := range tree[name].Apart() {
				if recording == nil {
					continue
				}
				plan, err := trace.NewReplayPlan(recording)
				plans, errs = append(plans, plan), append(errs, err)
			}
		}
	}
	return plans, errors.Join(errs...)
}

func replayAll(ctx context.Context, address string, notice func(string), plans []*trace.ReplayPlan) (srv *redis.Server, results []*trace.ReplayResult, err error) {
	srv, err = redis.Start(ctx, address, notice)
	if err != nil {
		return nil, nil, err
	}
	defer func(started *redis.Server) { err = errors.Join(err, started.Close()) }(srv)
	target := trace.ReplayTarget{URL: srv.URL(), Own: srv.How != "external"}
	for _, plan := range plans {
		result, err := trace.Replay(ctx, target, plan)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", plan.Recording.Path, err)
		}
		results = append(results, result)
	}
	return srv, results, nil
}

// recordedPrefix begins an argument that stands for a recording of this program:
// recorded:RELEASE for all sections of a Redisson release, recorded:RELEASE/SECTION or
// recorded:RELEASE/CASE for one of them.
const recordedPrefix = "recorded:"

// unpacks is does with files: the recordings that arguments name are written into a temporary folder.
func (c *call) unpacks(run func(paths []string) error) *call {
	return c.does(func(args []string) error {
		folder, err := os.MkdirTemp("", "dq-bench-")
		defer os.RemoveAll(folder)
		for i, path := range args {
			if name, ok := strings.CutPrefix(path, recordedPrefix); ok && err == nil {
				args[i], err = unpackOne(filepath.Join(folder, fmt.Sprint(i)), name)
			}
		}
		if err != nil {
			return err
		}
		return run(args)
	})
}

func unpackOne(folder, name string) (string, error) {
	release, id, _ := strings.Cut(name, "/")
	if _, err := fs.Stat(recordings.Redisson(), release); err != nil {
		known, _ := fs.Glob(recordings.Redisson(), "*") // a right pattern
		return "", usageError(fmt.Errorf("%s%s: no recordings of this release%s", recordedPrefix, name, text.DidYouMean(release, known)))
	}
	files, _ := fs.Sub(recordings.Redisson(), release) // which is there
	folder = filepath.Join(folder, recordedPrefix+release)
	section, _, ofCase := strings.Cut(id, "/")
	whole, err := fs.ReadFile(files, section+".monitor")
	switch {
	case id == "":
		return folder, os.CopyFS(folder, files)
	case err == nil && !ofCase:
		return filepath.Join(folder, section+".monitor"), os.CopyFS(folder, files)
	}
	_, order, cases := recordings.Split(whole)
	if err != nil || cases[id] == nil {
		return "", usageError(fmt.Errorf("%s%s: Redisson %s was not recorded with this case%s", recordedPrefix, name, release, text.DidYouMean(id, order)))
	}
	file := filepath.Join(folder, filepath.FromSlash(id)+".monitor")
	return file, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, append(recordings.Head(section, release), cases[id]...), 0o644))
}
