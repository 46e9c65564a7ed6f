package trace

import (
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
)

// Log is a log before it is read.
type Log struct {
	Path    string
	Regular bool
	Begins  int64 // the instant of its first line; the largest number without a line
}

// Logs finds logs, and in a folder the *.monitor files below it. It returns them in the order of their first lines.
func Logs(paths []string) (logs []Log, err error) {
	for _, path := range paths {
		before := len(logs)
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err == nil && (file == path && !entry.IsDir() || entry.Type().IsRegular() && strings.HasSuffix(file, ".monitor")) {
				logs = append(logs, look(file))
			}
			return err
		})
		if err == nil && len(logs) == before {
			err = errors.New(path + ": expected logs, found no *.monitor file below it")
		}
		if err != nil {
			return nil, fmt.Errorf("the log cannot be read: %w", err)
		}
	}
	slices.SortStableFunc(logs, func(x, y Log) int { return cmp.Compare(x.Begins, y.Begins) })
	return logs, nil
}

// look reads the beginning of a file, of which 1 MB has to hold a line. A pipe can be opened and read only once.
func look(path string) Log {
	log := Log{Path: path, Begins: math.MaxInt64}
	info, err := os.Stat(path)
	if log.Regular = err == nil && info.Mode().IsRegular(); !log.Regular {
		return log
	}
	f, err := os.Open(path) // the reader of the whole file says why it fails
	for s := NewLineScanner(io.LimitReader(f, 1<<20)); err == nil && log.Begins == math.MaxInt64 && s.Scan(); {
		if l, wrong := s.Line(); wrong == nil {
			log.Begins = l.Time
		}
	}
	_ = f.Close() // of nil, too
	return log
}

// ReadLog visits the lines of a log until it ends or ctx does; a wrong line has no arguments. A goroutine opens it, which waits while a pipe has
// no writer, and reads and parses it.
func ReadLog(ctx context.Context, open func() (io.ReadCloser, error), visit func(Line)) error {
	batches, failed := make(chan []Line), error(nil)
	go func() {
		defer close(batches)
		from, err := open()
		if failed = err; err != nil {
			return
		}
		defer from.Close()
		var batch, before []Line
		send := readerFunc(func(p []byte) (int, error) {
			select {
			case batches <- batch: // who takes it has done with the one before
				batch, before = before[:0], batch
				return from.Read(p)
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		s := NewLineScanner(send)
		for s.Scan() {
			l, _ := s.Line()
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
				visit(l)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readerFunc is an io.Reader.
type readerFunc func(p []byte) (int, error)

func (r readerFunc) Read(p []byte) (int, error) { return r(p) }
