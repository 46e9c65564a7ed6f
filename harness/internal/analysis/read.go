package analysis

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// Files takes in logs: see trace.Logs. A file that begins after the one before it has ended is its continuation, as of a log that was rotated;
// one that begins earlier is another log.
func (a *Analysis) Files(ctx context.Context, paths []string) (err error) {
	if a.files, err = trace.Logs(paths); err != nil {
		return err
	}
	for i, f := range a.files {
		if f.Begins < a.latest {
			a.End()
		}
		a.file = int32(i)
		if err := trace.ReadLog(ctx, func() (io.ReadCloser, error) { return os.Open(f.Path) }, a.Line); err != nil {
			return fmt.Errorf("reading %s: %w", f.Path, err)
		}
	}
	return nil
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
		line.File = file.Path
	}
	if line.Text != "" || a.Redact || !file.Regular {
		return // opening a pipe again would wait for another writer, and take what that writes
	}
	if f, err := os.Open(file.Path); err == nil {
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
