// Package trace answers: what did Redis see, do two recordings mean the same, and does a server do it again?
//
// Conn is a connection in MONITOR mode. It uses its own socket: client libraries lose lines, or all of them under RESP3. Line is the
// exact codec of a line, Recording a file of lines.
//
// Compare asks whether two recordings of the same work show the same behaviour. It brings both into a normal form:
//
//   - Connection set-up, pings of idle connections and the last QUIT are dropped: see dropSetUp.
//   - Names of commands keep their case. A script's text or SHA-1 becomes its name in Redisson's catalogue. EVALSHA,
//     SCRIPT LOAD, EVALSHA with equal arguments is one EVALSHA: the server's cache decides.
//   - Commands of a script belong to its call.
//   - A random id becomes id#n in the order of first use; a member becomes member(layout, id#n, value).
//   - A due time becomes due; its distance to the offer, by the client's clock, is compared with a tolerance. The clock
//     of a transfer becomes now. Repeated transfers that move nothing are dropped: see foldEmptyTransfers.
//   - Calls go to roles: publisher, and transfer task, consumer and subscriber for each queue. The role follows from the
//     command: a pool gives any connection to any command.
//
// Within a role all calls must be equal in order, byte for byte. Across roles the order counts where one call depends on
// another. Nothing is matched by similarity.
//
// Replay asks whether a server does what a recording shows. It sends the commands of clients, one connection for each recorded
// peer, in the recorded order and case, and compares what MONITOR shows line by line and byte for byte, then the keys and the
// subscriptions with a small model of Redis. A recording declares in its metadata how it deviates from a server of today;
// Deviations.Expected translates the line.
package trace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/dq-bench/dq-bench/internal/text"
)

// MaxLineBytes is the longest line that is read from a server, in bytes as printed: a byte of a value takes up to four. Redis
// allows values of 512 MB; a longer line is refused with ErrLineTooLong instead of taking all memory.
const MaxLineBytes = 256 << 20

// ErrLineTooLong says that a line is longer than MaxLineBytes.
var ErrLineTooLong = fmt.Errorf("the line is longer than %d MiB, which is not read", MaxLineBytes>>20)

// MaxRecordingBytes is the longest recording that is read as a whole, in bytes. What explains a log reads it line by
// line, and needs no bound.
const MaxRecordingBytes = 32 << 20

// ErrNoText says that a file is none that MONITOR can have printed: it escapes NUL bytes.
var ErrNoText = errors.New("expected the text of a MONITOR log, found a NUL byte")

// Field is one leading "# key: value" line of a recording; Key is empty for a comment that names none.
type Field struct{ Key, Value string }

// Recording is the content of a *.monitor file: what `redis-cli monitor` prints, and metadata in front.
type Recording struct {
	// Path is where it was read from, for messages.
	Path string
	// Fields is the metadata in the order of the file. Common keys are source, client, version, server, case; others
	// declare how the recording deviates from the lines of a server of today.
	Fields []Field
	// Lines are the commands, their Number set when they come from a file.
	Lines []Line
}

// Field returns the first value of a metadata key, or "".
func (r *Recording) Field(key string) string {
	for _, f := range r.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// Case is the part of a recording between two ECHO case:<id> marks.
type Case struct {
	// ID is empty for the lines before the first mark.
	ID string
	// Lines are the lines of the case, without the mark.
	Lines []Line
}

// CaseMark returns the case id that a line marks the beginning of.
func CaseMark(l Line) (id string, ok bool) {
	if len(l.Args) != 2 || l.Inner() || l.Name() != "echo" {
		return "", false
	}
	return strings.CutPrefix(l.Args[1], "case:")
}

// Cases splits the recording at its marks, in order. Lines before the first mark are a case without id.
func (r *Recording) Cases() []Case {
	cases := []Case{{}}
	for _, l := range r.Lines {
		if id, ok := CaseMark(l); ok {
			cases = append(cases, Case{ID: id})
			continue
		}
		last := &cases[len(cases)-1]
		last.Lines = append(last.Lines, l)
	}
	if len(cases[0].Lines) == 0 {
		cases = cases[1:]
	}
	return cases
}

// Apart is the recording, or one of each case if it has several.
func (r *Recording) Apart() (all []*Recording) {
	if r == nil || len(r.Cases()) < 2 {
		return []*Recording{r}
	}
	for _, c := range r.Cases() {
		all = append(all, &Recording{Path: r.Path + " " + c.ID, Fields: r.Fields, Lines: c.Lines})
	}
	return all
}

// FileError is a fault of a recording, or of a file of cases or scenarios, with its place.
type FileError struct {
	File string
	Line int // 0 for an error without a line
	Err  error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// ReadFile reads a recording file. A line that is no MONITOR line gives a *FileError. A pipe must end within 3 s.
func ReadFile(ctx context.Context, path string) (*Recording, error) {
	content, err := text.ReadFile(ctx, path, MaxRecordingBytes)
	switch {
	case errors.Is(err, text.ErrTooLong):
		return nil, fmt.Errorf("%w; cut it, or have dq-bench analyze explain it, which reads logs of any size", err)
	case err != nil:
		return nil, fmt.Errorf("the recording cannot be read: %w", err)
	}
	return Read(content, path)
}

var fieldPattern = regexp.MustCompile(`^([a-z][a-z0-9-]*):(?:\s+(.*))?$`)

// Read reads a recording; path is only for messages. It accepts what the ways of saving a MONITOR log leave behind: the
// OK of redis-cli in front, CR LF, blank lines and blanks at the end of a line. Nothing else is skipped.
func Read(content []byte, path string) (*Recording, error) {
	rec := &Recording{Path: path}
	sawOK, number := false, 0
	for text := range strings.SplitSeq(string(content), "\n") {
		number++
		if strings.Contains(text, "\x00") {
			return nil, &FileError{path, number, ErrNoText}
		}
		line := strings.TrimRight(text, " \t\r")
		switch {
		case line == "":
		case line == "OK" && !sawOK && len(rec.Lines) == 0:
			sawOK = true
		case line[0] == '#' && len(rec.Lines) == 0:
			field := Field{Value: strings.TrimSpace(line[1:])}
			if m := fieldPattern.FindStringSubmatch(field.Value); m != nil {
				field = Field{Key: m[1], Value: m[2]}
			}
			rec.Fields = append(rec.Fields, field)
		default:
			l, err := ParseLine(line)
			if err != nil {
				return nil, &FileError{path, number, err}
			}
			l.Number = number
			rec.Lines = append(rec.Lines, l)
		}
	}
	return rec, nil
}

// Write writes the recording so that Read gives it back: metadata, then one line each, its raw text if it has one.
func (r *Recording) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, f := range r.Fields {
		value := strings.Join(strings.Fields(f.Value), " ")
		if f.Key != "" {
			value = f.Key + ": " + value
		}
		fmt.Fprintf(out, "# %s\n", value)
	}
	for _, l := range r.Lines {
		out.WriteString(l.Text())
		out.WriteByte('\n')
	}
	return out.Flush()
}

// ReadTree reads the recording at path or, if path is a folder, every *.monitor file below it. The keys are
// slash-separated paths relative to the folder; a single file has the key ".". A folder without recordings is an error.
func ReadTree(ctx context.Context, path string) (map[string]*Recording, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("the recording cannot be read: %w", err)
	}
	recordings := make(map[string]*Recording)
	if !info.IsDir() {
		recordings["."], err = ReadFile(ctx, path)
		return recordings, err
	}
	err = fs.WalkDir(os.DirFS(path), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, ".monitor") {
			recordings[name], err = ReadFile(ctx, filepath.Join(path, name))
		}
		return err
	})
	if err == nil && len(recordings) == 0 {
		err = fmt.Errorf("%s: expected recordings, found no *.monitor file below it", path)
	}
	return recordings, err
}
