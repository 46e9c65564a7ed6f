package ops

import (
	"bufio"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The program: its source, or JavaValues.jar after `make java-values`.
//
//go:embed java
var valuesProgram embed.FS

// ErrNoJava says which commands need Java, and how to get it.
var ErrNoJava = errors.New(`codec types, codec decode --classpath and migrate --codec run Java 17 or newer on the classes of an application.
Install a JDK (Debian: apt install openjdk-17-jdk-headless; macOS: brew install openjdk@17), or set DQ_JAVA to a command that
starts the Java of a service, such as DQ_JAVA='kubectl exec -i deploy/orders -- java'.
codec decode without --classpath, migrate --to and all other commands need no Java`)

// receive reads the program from stdin and runs it, here or elsewhere. The program removes its folder at the end.
const receive = `command -v "$2" >/dev/null || { echo "$2: not found" >&2; exit 127; }; d=$(mktemp -d) && f="$d/$1" && dd bs=1 count="$0" of="$f" 2>/dev/null && shift && exec "$@" "$f" "$d"`

// JavaOptions choose a Java and an application.
type JavaOptions struct {
	Java      []string      // a program with options, or a command that starts java, its last word, elsewhere; empty: java of JAVA_HOME or PATH
	ClassPath []string      // jars and folders of the application, in the file system of Java; "lib/*" means all jars of lib
	Old, New  []string      // jars of the Redissons that write today and that will read; empty: the Redisson on ClassPath
	From, To  string        // codecs that requests recode by; empty for none
	Timeout   time.Duration // of the start and of each reply; 0 is two minutes
}

// A JavaRequest is a line for the program. JavaValues.java documents the members.
type JavaRequest map[string]any

// A JavaReply is a line of the program.
type JavaReply struct {
	ID           int
	OK, Same     bool
	Reason       string
	Missing      []string
	Was, Becomes string
	Class        string
	JSON         json.RawMessage
	Value        []byte
	Source       string
	Hello
}

// Hello describes the program: the versions of Java and of the two Redissons, and the codecs that work there.
type Hello struct {
	Java, Old, New string
	OldCodecs      []string `json:"old_codecs"`
	NewCodecs      []string `json:"new_codecs"`
}

// Err returns the reason of a refused request, else nil.
func (r JavaReply) Err() error {
	if r.OK {
		return nil
	}
	if len(r.Missing) > 0 && r.Was == "" && !strings.Contains(r.Reason, r.Missing[0]) {
		r.Reason += "; not on the class path: " + strings.Join(r.Missing, ", ")
	}
	if r.Was != r.Becomes {
		r.Reason += fmt.Sprintf(": %.200s becomes %.200s", r.Was, r.Becomes)
	}
	return errors.New(r.Reason)
}

// A JavaClient is a running program. It serves one goroutine.
type JavaClient struct {
	Hello
	cmd     *exec.Cmd
	stdin   *bufio.Writer
	lines   *bufio.Scanner
	stderr  lastOutput
	timeout time.Duration
	kill    context.CancelFunc
	java    string
	last    int // ID
}

// StartJava starts the program until the end of ctx. It fails with ErrNoJava.
func StartJava(ctx context.Context, o JavaOptions) (*JavaClient, error) {
	name, runs := "JavaValues.jar", []string{"--add-opens=java.base/java.lang=ALL-UNNAMED", "-jar"}
	content, err := valuesProgram.ReadFile("java/" + name)
	if err != nil {
		name, runs = "JavaValues.java", runs[:1]
		content, _ = valuesProgram.ReadFile("java/" + name) // embedded
	}
	java := o.Java
	if home := os.Getenv("JAVA_HOME"); len(java) == 0 && home != "" {
		java = []string{filepath.Join(home, "bin", "java")}
	} else if len(java) == 0 {
		java = []string{"java"}
	}
	command := append(slices.Insert(slices.Clone(java), Elsewhere(java), "sh", "-c", receive, fmt.Sprint(len(content)), name), runs...)
	running, kill := context.WithCancel(ctx)
	cmd := exec.CommandContext(running, command[0], command[1:]...)
	stdin, _ := cmd.StdinPipe() // of a fresh command
	stdout, _ := cmd.StdoutPipe()
	cmd.Cancel, cmd.WaitDelay = stdin.Close, 5*time.Second // it ends, and removes its files; killed after the delay
	c := &JavaClient{cmd: cmd, stdin: bufio.NewWriter(stdin), lines: bufio.NewScanner(stdout), timeout: cmp.Or(o.Timeout, 2*time.Minute), kill: func() { kill(); stdout.Close() }, java: java[0]}
	cmd.Stderr = &c.stderr
	c.lines.Buffer(nil, 1<<30)
	if err := cmd.Start(); err != nil {
		kill()
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("%w\n%w", err, ErrNoJava))
	}
	_, _ = c.stdin.Write(content) // Do meets the error
	lines := func(paths []string) string { return strings.Join(paths, "\n") }
	replies, err := c.Do(ctx, JavaRequest{"verb": "hello", "classpath": lines(o.ClassPath), "old": lines(o.Old), "new": lines(o.New), "from": o.From, "to": o.To})
	if err != nil {
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("%w\n%w", err, ErrNoJava))
	}
	if err := replies[0].Err(); err != nil {
		c.Close()
		return nil, err
	}
	c.Hello = replies[0].Hello
	return c, nil
}

// Elsewhere returns the index of the program java in a command that starts it in another file system, else at most 0.
func Elsewhere(java []string) int {
	at := len(java) - 1
	for at > 0 && (path.Base(java[at]) != "java" || java[at][0] == '-') {
		at--
	}
	return at
}

// Do sends requests and returns their replies in the same order. After an error the program has ended.
func (c *JavaClient) Do(ctx context.Context, requests ...JavaRequest) ([]JavaReply, error) {
	first := c.last + 1
	c.last += len(requests)
	defer context.AfterFunc(ctx, c.kill)()
	late := time.AfterFunc(c.timeout, c.kill)
	defer late.Stop()
	lines := json.NewEncoder(c.stdin) // the program reads while it answers
	for i, r := range requests {
		r["id"] = first + i
		_ = lines.Encode(r) // one that has ended sends no answer
	}
	_ = c.stdin.Flush()
	replies := make([]JavaReply, len(requests))
	for i := range replies {
		switch met, inTime := c.lines.Scan(), late.Reset(c.timeout); {
		case !inTime:
			return nil, c.failed(fmt.Sprintf("did not answer within %v", c.timeout))
		case ctx.Err() != nil:
			return nil, ctx.Err() // it ends by itself, which may take seconds
		case !met:
			return nil, c.failed("ended")
		}
		if err := json.Unmarshal(c.lines.Bytes(), &replies[i]); err != nil || replies[i].ID != first+i {
			return nil, c.failed(fmt.Sprintf("should have sent answer %d, got %.200q", first+i, c.lines.Bytes()))
		}
	}
	return replies, nil
}

// failed ends the program and returns its error.
func (c *JavaClient) failed(what string) error {
	c.kill()
	if err := c.cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		what += fmt.Sprintf(" (%v)", err)
	}
	return errors.New(strings.TrimRight(fmt.Sprintf("%s %s: %s", c.java, what, c.stderr), ": \n"))
}

// Close ends the program.
func (c *JavaClient) Close() { _ = c.failed("is closed") }

// lastOutput is the end of the program's stderr.
type lastOutput []byte

func (t *lastOutput) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = (*t)[max(0, len(*t)-2000):]
	return len(p), nil
}
