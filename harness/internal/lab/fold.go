package main

import (
	"bytes"
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
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/recordings"
)

// tolerance is how far the delays of two recordings of one behaviour may differ.
const tolerance = time.Second

// foldMain takes the recordings of one Redisson release into recordings/redisson. A
// case that means the same as at an earlier release is noted in index.tsv; only a new form
// is stored.
//
//	dq-bench record --driver redisson:4.8.0 --out out/4.8.0
//	go run ./harness/internal/lab fold 4.8.0 out/4.8.0
func foldMain() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: fold RELEASE FOLDER, in the root of a checkout")
		os.Exit(2)
	}
	if err := fold("recordings/redisson", os.Args[1], os.DirFS(os.Args[2])); err != nil {
		fmt.Fprintln(os.Stderr, "fold:", err)
		os.Exit(1)
	}
}

// fold packs what the program has recorded, and the recordings of one more release, into root.
func fold(root, release string, folder fs.FS) error {
	p := packer{index: map[string]map[string]string{}, forms: map[string][]form{}}
	all := map[wire.Release]fs.FS{}
	known, err := fs.ReadDir(recordings.Redisson(), ".")
	if err != nil {
		return err
	}
	for _, dir := range known {
		r, err := wire.ParseRelease(dir.Name())
		if err != nil {
			return err
		}
		if all[r], err = fs.Sub(recordings.Redisson(), dir.Name()); err != nil {
			return err
		}
	}
	r, err := wire.ParseRelease(release)
	if err != nil {
		return err
	}
	all[r] = folder
	order := slices.SortedFunc(maps.Keys(all), wire.Release.Compare)
	for _, r := range order {
		if err := p.add(r.String(), all[r]); err != nil {
			return err
		}
	}
	return p.write(root, order)
}

// form is one meaning of a case at some releases, stored at the first of these.
type form struct {
	release string
	text    []byte
	trace   *trace.Trace
}

type packer struct {
	cases []string
	index map[string]map[string]string // case, release, cell
	forms map[string][]form            // by case
}

// add takes the recordings of a release, one file for each section.
func (p *packer) add(release string, folder fs.FS) error {
	names, err := fs.Glob(folder, "*.monitor")
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: expected recordings, one NAME.monitor for each section", release)
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
		for id, why := range absent {
			p.set(id, release, recordings.Absent+why)
		}
		for _, id := range order {
			if err := p.addCase(id, release, cases[id]); err != nil {
				return fmt.Errorf("%s at %s: %w", id, release, err)
			}
		}
	}
	return nil
}

func (p *packer) addCase(id, release string, text []byte) error {
	rec, err := monitor.Read(bytes.NewReader(text), release)
	if err != nil {
		return err
	}
	seen := rec.Cases()
	if len(seen) != 1 {
		return fmt.Errorf("expected one case, got %d", len(seen))
	}
	meaning, err := trace.Normalise(rec, release, seen[0].Lines)
	if err != nil {
		return err
	}
	for _, f := range p.forms[id] {
		if trace.Compare(f.trace, meaning, tolerance) == nil {
			p.set(id, release, f.release)
			return nil
		}
	}
	p.forms[id] = append(p.forms[id], form{release, text, meaning})
	p.set(id, release, release)
	return nil
}

func (p *packer) set(id, release, cell string) {
	if p.index[id] == nil {
		p.index[id] = map[string]string{}
		p.cases = append(p.cases, id)
	}
	p.index[id][release] = cell
}

// write replaces the files at root.
func (p *packer) write(root string, releases []wire.Release) error {
	files := map[string][]byte{}
	slices.Sort(p.cases)
	var index strings.Builder
	index.WriteString("case")
	for _, r := range releases {
		index.WriteString("\t" + r.String())
	}
	for _, id := range p.cases {
		index.WriteString("\n" + id)
		for _, r := range releases {
			index.WriteString("\t" + p.index[id][r.String()])
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
	files["index.tsv"] = []byte(index.String() + "\n")
	next := root + ".new"
	for name, text := range files {
		file := filepath.Join(next, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(root), os.Rename(next, root))
}
