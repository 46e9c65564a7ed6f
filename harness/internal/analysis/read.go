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

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Progress says how much was read, of so many bytes; 0 where nobody knows.
type Progress struct{ Read, Of int64 }

// Reader takes in logs.
type Reader struct {
	*Analysis
	// Report is called now and then; it may be nil.
	Report func(Progress)
	// read and of are of all files.
	read, of int64
	paths    []string
	// scanner is of the log that is being read; logs of a few lines, of which there may be many
	// thousands, would take longer to get one each than to be read.
	scanner *monitor.Scanner
}

// Read returns how much was read, in bytes.
func (r *Reader) Read() int64 { return r.read }

// checkEvery is after how many lines a Reader looks whether it was cancelled.
const checkEvery = 1 << 14

// Log takes in a log until it ends or ctx does.
func (r *Reader) Log(ctx context.Context, in io.Reader) error {
	s := r.scan(&readUntil{ctx, in})
	early := earlyLine{of: r.Analysis}
	defer early.release()
	for n := 1; s.Scan(); n++ {
		if l, err := s.Line(); err == nil {
			early.line(l, s.Offset())
		} else {
			r.Unparsed()
		}
		if n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if r.Report != nil {
				r.Report(Progress{r.read + s.Read(), r.of})
			}
		}
	}
	r.read += s.Read()
	return s.Err()
}

// readUntil reads until ctx ends, be it within a line that has no end or while nothing comes.
type readUntil struct {
	ctx context.Context //nolint:containedctx // an io.Reader is passed none
	in  io.Reader
}

func (r *readUntil) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	type read struct {
		n   int
		err error
	}
	got := make(chan read, 1)
	go func() {
		n, err := r.in.Read(p)
		got <- read{n, err}
	}()
	select {
	case g := <-got:
		return g.n, g.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}

// earlyLine holds a line from before September 2001, as long as it may be one whose time stamp is cut:
// where a log begins within that, the digits that are left are still a time.
type earlyLine struct {
	of     *Analysis
	held   bool
	latest monitor.Line
	offset int64
}

// stampsFrom is when time stamps began to have ten digits before the point, in Unix µs.
const stampsFrom = 1e15

// line takes in a line, and the one that was held before it unless that is cut.
func (e *earlyLine) line(l monitor.Line, offset int64) {
	if l.Time >= stampsFrom {
		if e.held {
			e.of.Unparsed()
			e.held = false
		}
		e.of.Line(l, offset)
		return
	}
	e.release()
	l.Args = slices.Clone(l.Args) // of which a Scanner keeps only the strings
	e.held, e.latest, e.offset = true, l, offset
}

func (e *earlyLine) release() {
	if e.held {
		e.of.Line(e.latest, e.offset)
		e.held = false
	}
}

func (r *Reader) scan(in io.Reader) *monitor.Scanner {
	if r.scanner == nil {
		r.scanner = monitor.NewScanner(in)
	} else {
		r.scanner.Reset(in)
	}
	return r.scanner
}

// Files takes in logs, or for a folder the *.monitor files below it, in the order of
// their first lines. A file that begins after the one before it has ended is its
// continuation, as of a log that was rotated; one that begins earlier is another log.
func (r *Reader) Files(ctx context.Context, paths []string) error {
	files, err := r.logsOf(paths)
	if err != nil {
		return err
	}
	for _, f := range files {
		r.of += f.size
	}
	for i, f := range files {
		if f.begins < r.latest {
			r.End()
		}
		r.file = int32(i)
		r.paths = append(r.paths, f.path)
		if err := r.oneFile(ctx, f.path); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) oneFile(ctx context.Context, path string) error {
	f, err := open(ctx, path)
	if err != nil {
		return fmt.Errorf("the log cannot be read: %w", err)
	}
	defer f.Close()
	if err := r.Log(ctx, f); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// open opens a file, or waits until ctx ends for who writes into a named pipe.
func open(ctx context.Context, path string) (*os.File, error) {
	type opened struct {
		file *os.File
		err  error
	}
	got := make(chan opened, 1)
	go func() {
		file, err := os.Open(path)
		got <- opened{file, err}
	}()
	select {
	case o := <-got:
		return o.file, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Document returns what the logs say, with the texts of lines that files still have.
func (r *Reader) Document() *Document {
	d := r.Analysis.Document()
	for _, anomaly := range d.Anomalies {
		for i := range anomaly.Lines {
			r.complete(&anomaly.Lines[i])
		}
	}
	return d
}

func (r *Reader) complete(line *LineOf) {
	if len(r.paths) == 0 {
		return
	}
	path := r.paths[line.at.file]
	if len(r.paths) > 1 {
		line.File = path
	}
	if info, err := os.Stat(path); line.Text != "" || err != nil || !info.Mode().IsRegular() {
		return // opening a pipe again would wait for another writer, and take what that writes
	}
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		text := make([]byte, readAgain)
		n, _ := f.ReadAt(text, line.at.offset) // what cannot be read again stays empty
		text, _, _ = bytes.Cut(text[:n], []byte("\n"))
		line.Text = cut(strings.TrimRight(string(text), " \t\r"))
	}
}

// readAgain is how much of a line is read once more, in bytes.
const readAgain = 64 << 10

// logFile is a file before it is read.
type logFile struct {
	path   string
	size   int64
	begins int64 // instant of its first line; the largest of all where it has none
}

func (r *Reader) logsOf(paths []string) ([]logFile, error) {
	var files []logFile
	for _, path := range paths {
		below, err := below(path)
		if err != nil {
			return nil, fmt.Errorf("the log cannot be read: %w", err)
		}
		for _, file := range below {
			f, err := r.look(file)
			if err != nil {
				return nil, fmt.Errorf("the log cannot be read: %w", err)
			}
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b logFile) int { return cmp.Compare(a.begins, b.begins) })
	return files, nil
}

// below is path itself or, of a folder, the recordings in it.
func below(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(file, ".monitor") {
			files = append(files, file)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = errors.New(path + ": expected logs, found no *.monitor file below it")
	}
	return files, err
}

// look reads the beginning of a file, of which 1 MB has to hold a line.
func (r *Reader) look(path string) (logFile, error) {
	file := logFile{path: path, begins: math.MaxInt64}
	info, err := os.Stat(path)
	if err != nil {
		return logFile{}, err
	}
	if !info.Mode().IsRegular() {
		return file, nil // a pipe can be opened and read only once
	}
	file.size = info.Size()
	f, err := os.Open(path)
	if err != nil {
		return logFile{}, err
	}
	defer f.Close()
	for s := r.scan(io.LimitReader(f, 1<<20)); s.Scan(); {
		l, err := s.Line()
		if err != nil {
			continue
		}
		cut := file.begins < stampsFrom && l.Time >= stampsFrom // as an earlyLine tells
		if file.begins == math.MaxInt64 || cut {
			file.begins = l.Time
		}
		if l.Time >= stampsFrom {
			break
		}
	}
	return file, nil
}

// Live takes in what a server runs, until ctx ends. The lines are numbered as they come.
func (r *Reader) Live(ctx context.Context, from *monitor.Conn) error {
	var latest time.Time
	defer func() {
		if !latest.IsZero() { // a quiet server has a clock too
			r.end(r.now+time.Since(latest).Microseconds(), true)
		}
	}()
	for n := 1; ; n++ {
		l, err := from.Read(ctx)
		switch {
		case err == nil:
			latest = time.Now()
			l.Number = n
			r.Line(l, 0)
			if r.read += int64(len(l.Raw)) + 1; r.Report != nil {
				r.Report(Progress{Read: r.read})
			}
		case ctx.Err() != nil:
			return nil
		default:
			return err
		}
	}
}
