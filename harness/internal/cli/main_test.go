package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve-driver" { // as a run starts its own program
		os.Exit(Execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(redistest.Waiting{M: m}, map[string]func(){"dq-bench": func() { os.Exit(Execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }, "dq-fake-java": fakeJava})
}

// TestScripts runs the program as its users do. Besides testscript's own, the scripts have
//
//	exits CODE PROGRAM ARGS…     runs a program that must end with that exit code
//	json                         the last stdout is one JSON document, as its schema says, and nothing else
//	fields FILE PATH=VALUE…      the JSON file has these values, PATH like counts.lost
//	dq-fake-java                 a program that answers as JavaValues does, for DQ_JAVA
//	[redis]                      a redis-server is on PATH
//	serve [FILE]                 starts a Redis for the script and sets $REDIS to its URL and $REDIS_ADDR; FILE is its Unix socket
//	together KIND                starts a topology, TLS, Sentinel or Cluster, and sets $REDIS to its URL, $NODE to its first address; for TLS $CERTIFICATES to the folder of ca.pem, client.pem, client.key
//	occupy                       connects a client to $REDIS that stays
//	limit RIGHTS…                makes a user of $REDIS with all rights but for these, and sets $LIMITED to its URL
//	offer QUEUE LAYOUT VALUE DELAY  puts a value into a queue of $REDIS; DELAY may be negative
//	subscribe QUEUE              listens on $REDIS as a client with that delayed queue does
//	build FOLDER FILE            builds a Go program of the repository, with the caches that a script has not
//	$RECORDINGS                  the recordings of the repository
//	$GUIDES                      its docs/guides
func TestScripts(t *testing.T) {
	t.Parallel()
	recordings := must(filepath.Abs("../../../recordings"))
	guides := must(filepath.Abs("../../../docs/guides"))
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/script",
		WorkdirRoot: t.TempDir(), // which is removed; that of the library stays
		Setup: func(env *testscript.Env) error {
			env.Setenv("RECORDINGS", recordings)
			env.Setenv("GUIDES", guides)
			env.Setenv("GOGC", "400") // hundreds of short processes
			// Tests share the machine with others, which must not make a load invalid.
			env.Setenv("DQ_SET", "max_schedule_lag=1m")
			env.Setenv("DQ_SLO", "none")
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": taking(2, many, exits), "together": taking(1, 1, together), "json": taking(0, 0, oneDocument), "fields": taking(2, many, fields),
			"serve": taking(0, 1, serve), "offer": taking(4, 4, offer), "redis": redisDo, "subscribe": taking(1, 1, subscribe),
			"leased": taking(3, 3, leased), "next": taking(1, many, next),
			"occupy": taking(0, 0, occupy), "limit": taking(1, many, limit), "build": taking(2, 2, buildProgram),
		},
	})
}

// taking refuses fewer or more arguments than a command of the scripts takes.
func taking(least, most int, run func(*testscript.TestScript, []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < least || most != many && len(args) > most {
			ts.Fatalf("expected %d arguments, got %q", least, args)
		}
		run(ts, args)
	}
}

func condition(name string) (bool, error) {
	if name != "redis" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	_, err := exec.LookPath("redis-server")
	if err != nil && redistest.Required("redis") {
		return false, fmt.Errorf("DQ_REQUIRE lists redis: %w", err)
	}
	return err == nil, nil
}

func buildProgram(ts *testscript.TestScript, args []string) {
	output, err := exec.Command("go", "build", "-o", ts.MkAbs(args[1]), args[0]).CombinedOutput()
	ts.Logf("%s", output)
	ts.Check(err)
}

func exits(ts *testscript.TestScript, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exited *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exited) {
		got = exited.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, expected %d", got, want)
	}
}

func oneDocument(ts *testscript.TestScript, _ []string) {
	checkDocument(fatal{ts}, []byte(ts.ReadFile("stdout")))
}

// fatal ends a script where a requirement does not hold.
type fatal struct{ *testscript.TestScript }

func (f fatal) Errorf(format string, args ...any) { f.Fatalf(format, args...) }
func (fatal) FailNow()                            {}

func serve(ts *testscript.TestScript, args []string) {
	var settings []string
	if len(args) > 0 {
		settings = []string{"--unixsocket", ts.MkAbs(args[0])}
	}
	srv, err := redis.StartProcess(context.Background(), "", settings...)
	ts.Check(err)
	ts.Defer(func() { ts.Check(srv.Close()) })
	ts.Setenv("REDIS", srv.URL())
	ts.Setenv("REDIS_ADDR", srv.Addr)
}

func together(ts *testscript.TestScript, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	closes := func(s interface {
		URL() string
		Close() error
	}, err error) {
		ts.Check(err)
		ts.Defer(func() { ts.Check(s.Close()) })
		ts.Setenv("REDIS", s.URL())
		ts.Setenv("NODE", strings.FieldsFunc(s.URL(), func(r rune) bool { return r == '/' || r == ',' })[1])
	}
	switch args[0] {
	case "Sentinel":
		closes(redistest.StartSentinel(ctx, "", 2, 3))
	case "Cluster":
		closes(redistest.StartCluster(ctx, "", 3, 1))
	case "TLS":
		folder := ts.MkAbs("certificates")
		ts.Check(os.Mkdir(folder, 0o755))
		s, address, err := redistest.StartTLS(ctx, "", folder)
		closes(s, err)
		u, err := url.Parse(address)
		ts.Check(err)
		ts.Setenv("REDIS", address)
		ts.Setenv("REDIS_ADDR", u.Host)
		ts.Setenv("CERTIFICATES", folder)
	}
}

func fields(ts *testscript.TestScript, args []string) {
	var document any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &document))
	for _, arg := range args[1:] {
		path, want, _ := strings.Cut(arg, "=")
		if got := fmt.Sprint(at(document, path)); got != want {
			ts.Fatalf("%s: %s is %s, expected %s", args[0], path, got, want)
		}
	}
}

func TestSignalsOfOneInterrupt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal)
		var cancelled, ended atomic.Bool
		go func() {
			awaitInterrupts(signals, func() { cancelled.Store(true) })
			ended.Store(true)
		}()
		synctest.Wait()
		require.False(t, cancelled.Load())
		for _, after := range []time.Duration{0, time.Millisecond, 400 * time.Millisecond} {
			time.Sleep(after)
			signals <- syscall.SIGTERM
			synctest.Wait()
			require.True(t, cancelled.Load())
			require.False(t, ended.Load(), "all are one interrupt")
		}
		time.Sleep(100 * time.Millisecond)
		signals <- syscall.SIGINT
		synctest.Wait()
		require.True(t, ended.Load())
	})
}

func occupy(ts *testscript.TestScript, _ []string) {
	client := goredis.NewClient(&goredis.Options{Addr: ts.Getenv("REDIS_ADDR"), ClientName: "till-7"})
	ts.Check(client.Ping(context.Background()).Err())
	ts.Defer(func() { client.Close() })
}

func limit(ts *testscript.TestScript, args []string) {
	user := []any{"ACL", "SETUSER", "limited", "reset", "on", ">pw", "~*", "&*", "+@all"}
	for _, right := range args {
		user = append(user, right)
	}
	client := goredis.NewClient(&goredis.Options{Addr: ts.Getenv("REDIS_ADDR")})
	ts.Check(client.Do(context.Background(), user...).Err())
	ts.Check(client.Close())
	ts.Setenv("LIMITED", "redis://limited:pw@"+ts.Getenv("REDIS_ADDR"))
}

// fakeJava answers as JavaValues does, of texts between StringCodec and JsonJacksonCodec; it refuses the text refuse.
func fakeJava() {
	answers := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request struct {
			ID              int
			Verb, Codec, To string
			Value           []byte
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			panic(err)
		}
		answer := map[string]any{"id": request.ID, "ok": true}
		text := string(request.Value)
		switch plain, err := strconv.Unquote(text); {
		case request.Verb == "hello":
			answer["java"], answer["old"], answer["new"] = "17", "3.16.6", "4.7.0"
			answer["old_codecs"], answer["new_codecs"] = []string{"string", "json", "marshalling"}, []string{"string", "json", "kryo5"}
		case request.Verb == "decode":
			answer["json"] = json.RawMessage(`{"orderId":` + text[len(text)-1:] + `}`)
		case text == "refuse":
			answer["ok"], answer["reason"], answer["was"], answer["becomes"] = false, "it would be read as another value", text, "refused"
		case request.Codec == "json" && err == nil:
			answer["value"] = []byte(plain)
		case request.To == "json":
			answer["value"] = []byte(strconv.Quote(text))
		default:
			answer["ok"], answer["reason"] = false, "no such value"
		}
		if answers.Encode(answer) != nil {
			return
		}
	}
}
