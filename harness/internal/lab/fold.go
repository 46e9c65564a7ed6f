package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
)

// fold packs the recordings of one more Redisson release into root. A case that means the same as at an earlier release
// gets a cell of index.tsv; only a new form is stored. 'make adopt' records and folds.
func fold(root, release string, folder fs.FS) error {
	added, err := wire.ParseRelease(release)
	if err != nil {
		return err
	}
	all := map[wire.Release]fs.FS{}
	known, err := fs.ReadDir(recordings.Redisson(), ".")
	if err != nil {
		return err
	}
	for _, dir := range known {
		r, err1 := wire.ParseRelease(dir.Name())
		files, err2 := fs.Sub(recordings.Redisson(), dir.Name())
		if all[r] = files; errors.Join(err1, err2) != nil {
			return errors.Join(err1, err2)
		}
	}
	all[added] = folder
	p := packer{index: map[string]map[wire.Release]string{}, forms: map[string][]form{}, order: slices.SortedFunc(maps.Keys(all), wire.Release.Compare)}
	for _, r := range p.order {
		if err := p.add(r, all[r]); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	return p.write(root)
}

// form is one meaning of a case, stored at its first release.
type form struct {
	release string
	text    []byte
	trace   *trace.Trace
}

type packer struct {
	order []wire.Release
	index map[string]map[wire.Release]string // cells by case and release
	forms map[string][]form                  // by case
}

// add takes the recordings of a release, one file for each section.
func (p *packer) add(release wire.Release, folder fs.FS) error {
	names, err := fs.Glob(folder, "*.monitor")
	if err == nil && len(names) == 0 {
		err = errors.New("expected recordings, one NAME.monitor for each section")
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		absent, order, cases := recordings.Split(text)
		if len(absent)+len(order) == 0 {
			return fmt.Errorf("%s: expected cases, got none", name)
		}
		for id, why := range absent {
			p.set(id, release, recordings.Absent+why)
		}
		for _, id := range order {
			if err := p.addCase(id, release, cases[id]); err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
		}
	}
	return nil
}

func (p *packer) addCase(id string, release wire.Release, text []byte) error {
	rec, err := trace.Read(text, release.String())
	if err != nil {
		return err
	}
	seen := rec.Cases()
	if len(seen) != 1 {
		return fmt.Errorf("expected one case, got %d", len(seen))
	}
	meaning, err := trace.Normalise(rec, release.String(), seen[0].Lines)
	if err != nil {
		return err
	}
	const tolerance = time.Second
	i := slices.IndexFunc(p.forms[id], func(f form) bool { return trace.Compare(f.trace, meaning, tolerance) == nil })
	if i < 0 {
		i = len(p.forms[id])
		p.forms[id] = append(p.forms[id], form{release.String(), text, meaning})
	}
	p.set(id, release, p.forms[id][i].release)
	return nil
}

func (p *packer) set(id string, release wire.Release, cell string) {
	if p.index[id] == nil {
		p.index[id] = map[wire.Release]string{}
	}
	p.index[id][release] = cell
}

// write replaces the files at root.
func (p *packer) write(root string) error {
	files := map[string][]byte{}
	index := "case"
	for _, r := range p.order {
		index += "\t" + r.String()
	}
	for _, id := range slices.Sorted(maps.Keys(p.index)) {
		index += "\n" + id
		for _, r := range p.order {
			index += "\t" + p.index[id][r]
		}
		section, _, _ := strings.Cut(id, "/")
		for _, f := range p.forms[id] {
			name := path.Join(f.release, section+".monitor")
			if files[name] == nil {
				files[name] = recordings.Head(section, f.release)
			}
			files[name] = append(files[name], f.text...)
		}
	}
	files["index.tsv"] = []byte(index + "\n")
	next := root + ".new"
	for name, text := range files {
		file := filepath.Join(next, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644)); err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(root), os.Rename(next, root))
}
