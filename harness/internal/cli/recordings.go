package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/dq-bench/dq-bench/recordings"
)

// replayDocument is what `replay --json` prints.
type replayDocument struct {
	Schema string `json:"schema"`
	Server struct {
		Product string `json:"product"`
		Version string `json:"version"`
		How     string `json:"how"` // where it runs, as people read it
	} `json:"server"`
	Files []*trace.ReplayResult `json:"files"`
}

func newReplay() *call {
	c := newCall("replay", needs(1, many))
	c.str(&c.redis, "redis", "auto")
	c.more("redis", startedServers+", embedded")
	c.prints(false)
	c.check = func([]string) error { return checkByTCP(c.redis) }
	return c.unpacks(func(files []string) (err error) {
		plans, err := replayPlans(c.Context(), files)
		if err != nil {
			return err
		}
		srv, err := redis.Start(c.Context(), c.redis, func(s string) { c.notice("%s", s) })
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, srv.Close()) }()
		d := replayDocument{Schema: "dq-bench/replay/v1"}
		d.Server.Product, d.Server.Version, d.Server.How = srv.Product, srv.Version, srv.How
		different, text := 0, ""
		for _, plan := range plans {
			r, err := trace.Replay(c.Context(), srv.URL(), srv.How != "external", plan)
			if err != nil {
				return fmt.Errorf("%s: %w", plan.Recording.Path, err)
			}
			if text += r.Text(); !r.Identical {
				different++
			}
			d.Files = append(d.Files, r)
		}
		return cmp.Or(c.says(d, text), failed(different > 0, "%d of %d recordings differ from what the server does", different, len(d.Files)))
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

func unpackOne(folder, name string) (_ string, err error) {
	release, id, _ := strings.Cut(name, "/")
	files := recordings.Redisson(release)
	if files == nil {
		return "", usageError(fmt.Errorf("%s%s: no recordings of this release%s", recordedPrefix, name, text.DidYouMean(release, recordings.Releases())))
	}
	folder = filepath.Join(folder, recordedPrefix+release)
	section, _, ofCase := strings.Cut(id, "/")
	_, order, cases := recordings.Split(files[section])
	switch {
	case id == "", files[section] != nil && !ofCase:
	case cases[id] == nil:
		return "", usageError(fmt.Errorf("%s%s: Redisson %s was not recorded with this case%s", recordedPrefix, name, release, text.DidYouMean(id, order)))
	default:
		files = map[string][]byte{id: append(recordings.Head(section, release), cases[id]...)}
	}
	for name, content := range files {
		file := filepath.Join(folder, filepath.FromSlash(name)+".monitor")
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o644))
	}
	if id != "" {
		folder = filepath.Join(folder, filepath.FromSlash(id)+".monitor")
	}
	return folder, err
}

// diffDocument is what `diff --json` prints.
type diffDocument struct {
	Schema    string       `json:"schema"`
	Identical bool         `json:"identical"`    // every case that could be compared means the same
	Tolerance float64      `json:"tolerance_ms"` // between the delays of an offer
	Files     []diffedFile `json:"files"`
}

// diffedFile has the cases of one file, or pair of files.
type diffedFile struct {
	File  string          `json:"file"`
	Cases []trace.Outcome `json:"cases"`
}

func newDiff() *call {
	c := newCall("diff", needs(2, 2))
	c.prints(false)
	return c.unpacks(func(paths []string) (err error) {
		d := diffDocument{Schema: "dq-bench/diff/v1", Tolerance: float64(trace.DefaultTolerance) / float64(time.Millisecond)}
		if d.Files, err = diffTrees(c.Context(), paths[0], paths[1]); err != nil {
			return err
		}
		cases, different, declared := 0, 0, 0
		for _, f := range d.Files {
			for _, c := range f.Cases {
				if cases++; c.Declared != "" {
					declared++
				}
				if c.Finding != nil {
					different++
				}
			}
		}
		d.Identical = different == 0
		text := form("diff.tmpl", map[string]any{"Files": d.Files, "Compared": cases - declared, "Declared": declared, "Within": trace.DefaultTolerance})
		return cmp.Or(c.says(d, text), failed(different > 0, "%d of %d cases differ", different, cases))
	})
}

func diffTrees(ctx context.Context, leftPath, rightPath string) (files []diffedFile, err error) {
	left, err1 := trace.ReadTree(ctx, leftPath)
	right, err2 := trace.ReadTree(ctx, rightPath)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	names := maps.Clone(left)
	maps.Copy(names, right)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := left[name], right[name]
		file := diffedFile{File: name}
		if a == nil || b == nil {
			side := map[bool]string{true: "right", false: "left"}[a == nil]
			file.Cases = []trace.Outcome{{Finding: &trace.Finding{Meaning: "the recording " + name + " is only on the " + side}}}
		} else {
			if name == "." {
				file.File = a.Path + " and " + b.Path
			}
			if file.Cases, err = trace.Diff(a, b, trace.DefaultTolerance); err != nil {
				return nil, err
			}
		}
		files = append(files, file)
	}
	return files, nil
}
