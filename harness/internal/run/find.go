package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find lists the run files that the paths name: files, folders that hold run.json files at any
// depth, and globs of either. Links are followed, whether they are given or lie in a folder,
// but not to a folder that holds the given one; each file is listed once, by the path that has no link where there is one, and the list is
// in the order of the paths. It fails where a path names none, or a folder cannot be read.
func Find(ctx context.Context, paths ...string) ([]string, error) {
	f := &finder{ctx: ctx, seen: map[string]bool{}}
	for _, path := range paths {
		if err := f.find(path); err != nil {
			return nil, err
		}
	}
	slices.Sort(f.files)
	return f.files, nil
}

// ErrNoneFound says that a folder holds no run.
var ErrNoneFound = errors.New("expected at least one " + File + " below it, found none")

// finder looks for run files.
type finder struct {
	ctx   context.Context
	files []string
	// named counts the files and folders that were come across, again included.
	named int
	// seen holds the true paths of folders and files.
	seen map[string]bool
	// roots are the true paths of the folders that were given.
	roots []string
	// links of folders are followed once all that has no link is found.
	links []string
}

func (f *finder) find(path string) error {
	matches := []string{path}
	if _, err := os.Stat(path); err != nil {
		if matches, err = filepath.Glob(path); err != nil || !strings.ContainsAny(path, "*?[") {
			return fmt.Errorf("%s: expected a run file, a folder of run files or a glob; there is no such file", path)
		}
	}
	before := f.named
	for _, match := range matches {
		if err := f.look(match, true); err != nil {
			return err
		}
	}
	for len(f.links) > 0 {
		link := f.links[0]
		f.links = f.links[1:]
		if err := f.look(link, false); err != nil {
			return err
		}
	}
	if f.named == before {
		return fmt.Errorf("%s: %w", path, ErrNoneFound)
	}
	return nil
}

// look takes a file, or what is in a folder. One that is given is taken by any name.
func (f *finder) look(path string, given bool) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !given { // a link to nowhere, or just removed
			if filepath.Base(path) == File {
				f.named++
				f.files = append(f.files, path) // which reading it will tell
			}
			return nil
		}
		return err
	}
	if !given && !info.IsDir() && filepath.Base(path) != File {
		return nil
	}
	whole, err := filepath.Abs(path)
	if err == nil {
		whole, err = filepath.EvalSymlinks(whole)
	}
	switch {
	case err != nil:
		return err
	case f.seen[whole]:
		f.named++
		return nil
	}
	if given {
		f.roots = append(f.roots, whole)
	} else if f.leadsBack(whole) {
		return nil
	}
	f.seen[whole] = true
	if !info.IsDir() {
		f.named++
		f.files = append(f.files, path)
		return nil
	}
	return f.folder(path)
}

// leadsBack reports whether a folder holds one that was given: what is beside that was not.
func (f *finder) leadsBack(folder string) bool {
	return slices.ContainsFunc(f.roots, func(root string) bool {
		return strings.HasPrefix(root, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
	})
}

func (f *finder) folder(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		in := filepath.Join(path, entry.Name())
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			f.links = append(f.links, in)
		case entry.IsDir() || entry.Name() == File:
			if err := f.look(in, false); err != nil {
				return err
			}
		}
	}
	return nil
}
