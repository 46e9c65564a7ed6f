package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Start starts a program and waits for its hello, at most until ctx ends; the program itself outlives ctx. name is for
// messages, command the program and its arguments. It has the variables of this process, and environment in addition. log,
// which may be nil, gets a copy of its stderr.
func Start(ctx context.Context, name string, command []string, log io.Writer, environment ...string) (*Link, error) {
	cmd := exec.Command(command[0], command[1:]...)
	stderr := &tail{copyTo: log}
	lines, stdout := io.Pipe()
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay, cmd.Env = stdout, stderr, time.Second, append(os.Environ(), environment...)
	ownGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting driver program %s: %w", name, err)
	}
	l := &Link{name: name, out: stdin, kill: func() { killGroup(cmd) }, quote: stderr.quote}
	return l.open(ctx, lines, func() error {
		err := cmd.Wait()
		stdout.Close()
		return err
	})
}

// Pipe runs a program whose stdin and stdout are a connection, until the connection ends or ctx does.
func Pipe(ctx context.Context, command []string, conn io.ReadWriter, log io.Writer) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = conn, conn, log, patience
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("driver program %s: %w", command[0], err)
	}
	return nil
}

// A word of a command line has parts: in single quotes, in double quotes, escaped, or plain.
var (
	word    = regexp.MustCompile(`(?s)(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+`)
	part    = regexp.MustCompile(`(?s)'[^']*'|"(?:\\.|[^"\\])*"|\\.`)
	escaped = regexp.MustCompile(`(?s)\\(.)`)
)

// SplitCommandLine splits a command line into program and arguments. Words are separated by blanks; single and
// double quotes hold a word together, and outside single quotes a backslash takes the next character as it is.
// Nothing else is special: no shell runs.
func SplitCommandLine(line string) ([]string, error) {
	if rest := word.ReplaceAllLiteralString(line, ""); strings.TrimSpace(rest) != "" {
		return nil, fmt.Errorf("command line %q: expected an end to its last quote or backslash", line)
	}
	words := word.FindAllString(line, -1)
	for i, w := range words {
		words[i] = part.ReplaceAllStringFunc(w, func(p string) string {
			if p[0] == '\'' {
				return p[1 : len(p)-1]
			}
			if p[0] == '"' {
				p = p[1 : len(p)-1]
			}
			return escaped.ReplaceAllString(p, "$1")
		})
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("command line %q: expected a program", line)
	}
	return words, nil
}

// tail keeps the end of the bytes written to it.
type tail struct {
	copyTo io.Writer
	mu     sync.Mutex
	text   []byte
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	t.mu.Unlock()
	if t.copyTo != nil {
		return t.copyTo.Write(b)
	}
	return len(b), nil
}

// quote returns the end of stderr for a message, "" if the program wrote nothing.
func (t *tail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.text)); text != "" {
		return "; its stderr ended with:\n" + text
	}
	return ""
}
