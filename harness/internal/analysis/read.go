package analysis

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// Log takes in a log until it ends or ctx does. A goroutine opens it, which waits while a pipe has no writer, and reads and parses it.
func (a *Analysis) Log(ctx context.Context, open func() (io.ReadCloser, error)) error {
	batches, failed := make(chan []trace.Line), error(nil)
	go func() {
		defer close(batches)
		from, err := open()
		if failed = err; err != nil {
			return
		}
		defer from.Close()
		var batch, before []trace.Line
		send := readerFunc(func(p []byte) (int, error) {
			select {
			case batches <- batch: // who takes it has done with the one before
				batch, before = before[:0], batch
				return from.Read(p)
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		s := trace.NewLineScanner(send)
		for s.Scan() {
			l, _ := s.Line() // a wrong one has no arguments
			batch = append(batch, l)
		}
		_, _ = send(nil)
		failed = s.Err()
	}()
	for {
		select {
		case batch, more := <-batches:
			if !more {
				return failed
			}
			for _, l := range batch {
				a.Line(l)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readerFunc is an io.Reader.
type readerFunc func(p []byte) (int, error)

func (r readerFunc) Read(p []byte) (int, error) { return r(p) }

// logFile is a file before it is read.
type logFile struct {
	path    string
	regular bool
	begins  int64 // the instant of its first line; the largest number without a line
}

// Files takes in logs, or for a folder the *.monitor files below it, in the order of their first lines. A file that begins
// after the one before it has ended is its continuation, as of a log that was rotated; one that begins earlier is another log.
func (a *Analysis) Files(ctx context.Context, paths []string) error {
	var files []logFile
	for _, path := range paths {
		before := len(files)
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err == nil && (file == path && !entry.IsDir() || entry.Type().IsRegular() && strings.HasSuffix(file, ".monitor")) {
				files = append(files, a.look(file))
			}
			return err
		})
		if err == nil && len(files) == before {
			err = errors.New(path + ": expected logs, found no *.monitor file below it")
		}
		if err != nil {
			return fmt.Errorf("the log cannot be read: %w", err)
		}
	}
	slices.SortStableFunc(files, func(x, y logFile) int { return cmp.Compare(x.begins, y.begins) })
	for i, f := range files {
		a.files = append(a.files, f)
		if f.begins < a.latest {
			a.End()
		}
		a.file = int32(i)
		if err := a.Log(ctx, func() (io.ReadCloser, error) { return os.Open(f.path) }); err != nil {
			return fmt.Errorf("reading %s: %w", f.path, err)
		}
	}
	return nil
}

// look reads the beginning of a file, of which 1 MB has to hold a line. A pipe can be opened and read only once.
func (a *Analysis) look(path string) logFile {
	file := logFile{path: path, begins: math.MaxInt64}
	info, err := os.Stat(path)
	if file.regular = err == nil && info.Mode().IsRegular(); !file.regular {
		return file
	}
	f, err := os.Open(path) // the reader of the whole file says why it fails
	for s := trace.NewLineScanner(io.LimitReader(f, 1<<20)); err == nil && file.begins == math.MaxInt64 && s.Scan(); {
		if l, wrong := s.Line(); wrong == nil {
			file.begins = l.Time
		}
	}
	_ = f.Close() // of nil, too
	return file
}

// complete reads the text of a line that a file still has.
func (a *Analysis) complete(line *LineOf) {
	if a.Redact {
		line.Text = ""
	}
	if len(a.files) == 0 {
		return
	}
	file := a.files[line.at.file]
	if len(a.files) > 1 {
		line.File = file.path
	}
	if line.Text != "" || a.Redact || !file.regular {
		return // opening a pipe again would wait for another writer, and take what that writes
	}
	if f, err := os.Open(file.path); err == nil {
		defer f.Close()
		text := make([]byte, 64<<10)
		n, _ := f.ReadAt(text, line.at.offset) // an unreadable line stays empty
		text, _, _ = bytes.Cut(text[:n], []byte("\n"))
		line.Text = cut(strings.TrimRight(string(text), " \t\r"), longestText)
	}
}

// Live takes in the commands of a server until ctx ends. It numbers the lines.
func (a *Analysis) Live(ctx context.Context, from *trace.Conn) error {
	latest := time.Now()
	for n := 1; ; n++ {
		l, err := from.Read(ctx)
		if err != nil {
			a.now += time.Since(latest).Microseconds() // a quiet server has a clock too
			a.End()
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the time is over
			}
			return err
		}
		latest, l.Number = time.Now(), n
		a.Line(l)
	}
}
