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
	Old, New     string   // of hello: the versions of the two Redissons
	OldCodecs    []string `json:"old_codecs"` // that work there
	NewCodecs    []string `json:"new_codecs"`
}

// Err returns the reason of a refused request, else nil.
func (r JavaReply) Err() error {
	switch {
	case r.OK:
		return nil
	case r.Was != r.Becomes:
		r.Reason += fmt.Sprintf(": %.200s becomes %.200s", r.Was, r.Becomes)
	case len(r.Missing) > 0 && r.Was == "" && !strings.Contains(r.Reason, r.Missing[0]):
		r.Reason += "; not on the class path: " + strings.Join(r.Missing, ", ")
	}
	return errors.New(r.Reason)
}

// A JavaClient is a running program. It serves one goroutine.
type JavaClient struct {
	Hello    JavaReply // about the Redissons
	cmd      *exec.Cmd
	requests *json.Encoder
	lines    *bufio.Scanner
	stderr   lastOutput
	timeout  time.Duration
	kill     context.CancelFunc
	java     string
	last     int // ID
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
	c := &JavaClient{cmd: cmd, requests: json.NewEncoder(stdin), lines: bufio.NewScanner(stdout), timeout: cmp.Or(o.Timeout, 2*time.Minute), kill: func() { kill(); stdout.Close() }, java: java[0]}
	cmd.Stderr = &c.stderr
	c.lines.Buffer(nil, 1<<30)
	lines := func(paths []string) string { return strings.Join(paths, "\n") }
	var replies []JavaReply
	if err = cmd.Start(); err == nil {
		_, _ = stdin.Write(content) // Do meets the error
		replies, err = c.Do(ctx, JavaRequest{"verb": "hello", "classpath": lines(o.ClassPath), "old": lines(o.Old), "new": lines(o.New), "from": o.From, "to": o.To})
	}
	if err != nil {
		kill()
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("%w\n%w", err, ErrNoJava))
	}
	if c.Hello = replies[0]; c.Hello.Err() != nil {
		c.Close()
		return nil, c.Hello.Err()
	}
	return c, nil
}

// Elsewhere returns the index of the program java in a command that starts it in another file system, else at most 0.
func Elsewhere(java []string) (at int) {
	for at = len(java) - 1; at > 0 && (filepath.Base(java[at]) != "java" || java[at][0] == '-'); at-- {
	}
	return at
}

// Do sends requests and returns their replies in the same order. After an error the program has ended.
func (c *JavaClient) Do(ctx context.Context, requests ...JavaRequest) ([]JavaReply, error) {
	defer context.AfterFunc(ctx, c.kill)()
	late := time.AfterFunc(c.timeout, c.kill)
	defer late.Stop()
	for i, r := range requests {
		r["id"] = c.last + 1 + i
		_ = c.requests.Encode(r) // the program reads while it answers; one that has ended sends no answer
	}
	replies := make([]JavaReply, len(requests))
	for i := range replies {
		c.last++
		switch met, inTime := c.lines.Scan(), late.Reset(c.timeout); {
		case !inTime:
			return nil, c.failed(fmt.Sprintf("did not answer within %v", c.timeout))
		case ctx.Err() != nil:
			return nil, ctx.Err() // it ends by itself, which may take seconds
		case !met:
			return nil, c.failed("ended")
		case json.Unmarshal(c.lines.Bytes(), &replies[i]) != nil || replies[i].ID != c.last:
			return nil, c.failed(fmt.Sprintf("should have sent answer %d, got %.200q", c.last, c.lines.Bytes()))
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
