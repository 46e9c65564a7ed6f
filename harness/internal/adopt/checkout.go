package adopt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
)

// The files of a checkout that name releases, below its root.
const (
	releasesFile   = "dq/wire/releases.txt"
	scriptsFolder  = "dq/wire/scripts"
	variantsFile   = scriptsFolder + "/variants.csv"
	recordedFolder = "recordings/redisson"
	matrixFile     = "recordings/MATRIX.md"
	columnsFile    = "harness/matrix/releases.txt"
)

// Checkout is the working copy of dq-bench that an adoption is written into.
type Checkout struct {
	dir      string
	releases []wire.Release
	rows     *rows
}

// OpenCheckout reads the catalogue of a checkout.
func OpenCheckout(dir string) (*Checkout, error) {
	c := &Checkout{dir: dir}
	text, err := c.read(releasesFile)
	if err != nil {
		return nil, err
	}
	if c.releases, err = parseReleases(text); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, releasesFile), err)
	}
	if text, err = c.read(variantsFile); err != nil {
		return nil, err
	}
	if c.rows, err = parseRows([]byte(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, variantsFile), err)
	}
	return c, nil
}

func (c *Checkout) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(name)))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s: expected a checkout of dq-bench, found no %s in it", c.dir, name)
	}
	return string(text), err
}

// Matches returns an error where the checkout's catalogue is not the one that this program was
// built with: what is new to the program would not be new to the checkout.
func (c *Checkout) Matches() error {
	same := slices.Equal(c.releases, wire.Releases()) &&
		slices.EqualFunc(c.rows.all[1:], wire.Scripts(), func(row []string, s wire.Script) bool { return c.rows.get(row, "sha1") == s.SHA1 })
	if !same {
		return fmt.Errorf("%s has another catalogue than this dq-bench: run the one of the checkout, go run ./cmd/dq-bench adopt", c.dir)
	}
	return nil
}

// Write writes an adoption into the checkout: catalogue, recordings, and its place among the
// columns of the matrix. It returns the files, below the checkout, and what is left for people
// to decide. All files are made in a folder of their own and then moved, so that none is ever
// half written.
func (c *Checkout) Write(a *Adoption) (files, left []string, err error) {
	made, left, err := c.make(a)
	if err != nil {
		return nil, nil, err
	}
	work, err := os.MkdirTemp(c.dir, ".adopt-")
	if err != nil {
		return nil, nil, fmt.Errorf("the checkout cannot be written: %w", err)
	}
	defer os.RemoveAll(work)
	for name, text := range made {
		if err := writeFile(filepath.Join(work, filepath.FromSlash(name)), text); err != nil {
			return nil, nil, err
		}
		files = append(files, name)
	}
	folder := recordedFolder + "/" + a.Release.String()
	written, err := conformance.WriteRecordings(filepath.Join(work, filepath.FromSlash(folder)), a.Report)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range written {
		files = append(files, folder+"/"+filepath.Base(file))
	}
	slices.Sort(files)
	return files, left, c.move(work, files)
}

// make returns the content of every file but the recordings, by its name.
func (c *Checkout) make(a *Adoption) (files map[string]string, left []string, err error) {
	files = map[string]string{releasesFile: addRelease(c.releases, a.Release)}
	columns, err := c.read(columnsFile)
	if err != nil {
		return nil, nil, err
	}
	list, err := parseReleases(columns)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(c.dir, columnsFile), err)
	}
	files[columnsFile] = addRelease(list, a.Release)
	left = c.rows.adopt(a.Release, c.releases, a.Scripts)
	if files[variantsFile], err = c.rows.text(); err != nil {
		return nil, nil, err
	}
	for _, s := range a.Scripts {
		if s.New != nil {
			files[scriptsFolder+"/"+s.New.file()] = s.New.Text
		}
	}
	return files, left, nil
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("the checkout cannot be written: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("the checkout cannot be written: %w", err)
	}
	return nil
}

// move puts the finished files into their places.
func (c *Checkout) move(work string, files []string) error {
	for _, name := range files {
		name = filepath.FromSlash(name)
		if err := os.MkdirAll(filepath.Join(c.dir, filepath.Dir(name)), 0o755); err != nil {
			return fmt.Errorf("the checkout cannot be written: %w", err)
		}
		if err := os.Rename(filepath.Join(work, name), filepath.Join(c.dir, name)); err != nil {
			return fmt.Errorf("the checkout cannot be written: %w", err)
		}
	}
	return nil
}

// Recorded reports whether the checkout holds recordings of the release.
func (c *Checkout) Recorded(release wire.Release) bool {
	_, err := os.Stat(filepath.Join(c.dir, filepath.FromSlash(recordedFolder), release.String()))
	return err == nil
}

// Summary names files for people: each by itself, the recordings by their folder.
func Summary(files []string) []string {
	var names []string
	for _, f := range files {
		if strings.HasPrefix(f, recordedFolder) {
			f = filepath.ToSlash(filepath.Dir(f)) + "/"
		}
		names = append(names, f)
	}
	return slices.Compact(names)
}
