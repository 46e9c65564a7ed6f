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

// Progress says the bytes read, of so many bytes; 0 if unknown.
type Progress struct{ Read, Of int64 }

// Reader takes in logs.
type Reader struct {
	*Analysis
	Report   func(Progress) // now and then; may be nil
	Redact   bool           // shows no values
	read, of int64
	paths    []string
	scanner  *monitor.Scanner // of one log after another: many are a few lines long
}

// Read returns how many bytes were read.
func (r *Reader) Read() int64 { return r.read }

// Log takes in a log until it ends or ctx does.
func (r *Reader) Log(ctx context.Context, in io.Reader) error {
	text := &textOf{ctx: ctx, in: in}
	s := r.scan(text)
	for n := 1; s.Scan(); n++ {
		if l, err := s.Line(); err == nil {
			text.parsed = true
			r.Line(l, s.Offset())
		} else {
			r.Unparsed()
		}
		if n%(1<<14) == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if r.Report != nil {
				r.Report(Progress{r.read + s.Read(), r.of})
			}
		}
	}
	r.read += s.Read()
	return s.Err()
}

func (r *Reader) scan(in io.Reader) *monitor.Scanner {
	if r.scanner == nil {
		r.scanner = monitor.NewScanner(in)
	} else {
		r.scanner.Reset(in)
	}
	return r.scanner
}

// maxNULs is how many NUL bytes may precede the first line of MONITOR: some ways to rotate a log leave a hole at its
// beginning.
const maxNULs = 16 << 20

// textOf reads until ctx ends, also while nothing comes, and refuses binary data.
type textOf struct {
	ctx    context.Context //nolint:containedctx // an io.Reader has no argument for it
	in     io.Reader
	parsed bool
	nuls   int
}

func (t *textOf) Read(p []byte) (int, error) {
	type read struct {
		n   int
		err error
	}
	got := make(chan read, 1)
	go func() {
		n, err := t.in.Read(p)
		got <- read{n, err}
	}()
	select {
	case g := <-got:
		if !t.parsed {
			if t.nuls += bytes.Count(p[:g.n], []byte{0}); t.nuls > maxNULs {
				return 0, monitor.ErrNoText
			}
		}
		return g.n, g.err
	case <-t.ctx.Done():
		return 0, t.ctx.Err()
	}
}

// logFile is a file before it is read.
type logFile struct {
	path   string
	size   int64
	begins int64 // instant of its first line; the largest number if it has no line
}

// Files takes in logs, or for a folder the *.monitor files below it, in the order of their first lines. A file that begins
// after the one before it has ended is its continuation, as of a log that was rotated; one that begins earlier is another log.
func (r *Reader) Files(ctx context.Context, paths []string) error {
	var files []logFile
	for _, path := range paths {
		before := len(files)
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && (file == path || strings.HasSuffix(file, ".monitor")) {
				files = append(files, r.look(file))
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
	slices.SortStableFunc(files, func(a, b logFile) int { return cmp.Compare(a.begins, b.begins) })
	for i, f := range files {
		r.of += f.size
		r.paths = append(r.paths, f.path)
		if f.begins < r.latest {
			r.End()
		}
		r.file = int32(i)
		if err := r.oneFile(ctx, f.path); err != nil {
			return fmt.Errorf("reading %s: %w", f.path, err)
		}
	}
	return nil
}

// look reads the beginning of a file, of which 1 MB has to hold a line. A pipe can be opened and read only once.
func (r *Reader) look(path string) logFile {
	file := logFile{path: path, begins: math.MaxInt64}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return file
	}
	file.size = info.Size()
	f, err := os.Open(path)
	if err != nil {
		return file // oneFile says why
	}
	defer f.Close()
	for s := r.scan(io.LimitReader(f, 1<<20)); s.Scan(); {
		if l, err := s.Line(); err == nil {
			file.begins = l.Time
			break
		}
	}
	return file
}

// oneFile waits for the writer of a named pipe, until ctx ends.
func (r *Reader) oneFile(ctx context.Context, path string) error {
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
		if o.err != nil {
			return o.err
		}
		defer o.file.Close()
		return r.Log(ctx, o.file)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Document returns the document of the logs, with the texts of lines that files still have.
func (r *Reader) Document() *Document {
	d := r.Analysis.Document()
	for _, anomaly := range d.Anomalies {
		for i := range anomaly.Lines {
			r.complete(&anomaly.Lines[i])
		}
	}
	for _, story := range d.Stories {
		if r.Redact {
			story.Value = ""
		}
		for i := range story.Events {
			r.complete(&story.Events[i].Line)
		}
	}
	return d
}

func (r *Reader) complete(line *LineOf) {
	if r.Redact {
		line.Text = ""
	}
	if len(r.paths) == 0 {
		return
	}
	path := r.paths[line.at.file]
	if len(r.paths) > 1 {
		line.File = path
	}
	if info, err := os.Stat(path); line.Text != "" || r.Redact || err != nil || !info.Mode().IsRegular() {
		return // opening a pipe again would wait for another writer, and take what that writes
	}
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		text := make([]byte, 64<<10)
		n, _ := f.ReadAt(text, line.at.offset) // an unreadable line stays empty
		text, _, _ = bytes.Cut(text[:n], []byte("\n"))
		line.Text = cut(strings.TrimRight(string(text), " \t\r"))
	}
}

// Live takes in the commands of a server until ctx ends. It numbers the lines.
func (r *Reader) Live(ctx context.Context, from *monitor.Conn) error {
	latest := time.Now()
	for n := 1; ; n++ {
		l, err := from.Read(ctx)
		if err != nil {
			r.now += time.Since(latest).Microseconds() // a quiet server has a clock too
			r.End()
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the time is over
			}
			return err
		}
		latest = time.Now()
		l.Number = n
		r.Line(l, 0)
		if r.read += int64(len(l.Raw)) + 1; r.Report != nil {
			r.Report(Progress{Read: r.read})
		}
	}
}
