package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// demo is the program under test, on a Redis.
type demo struct {
	t      *testing.T
	client goredis.UniversalClient
	url    string
	lines  chan string
	stop   context.CancelFunc
	ended  chan error
}

// startDemo runs the program until the test ends, and waits until it listens.
func startDemo(t *testing.T, srv *redis.Server, args ...string) *demo {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	d := &demo{t: t, client: redistest.Client(srv), lines: make(chan string, 10_000), stop: stop, ended: make(chan error, 1)}
	t.Cleanup(func() { d.client.Close() })
	read, write := io.Pipe()
	go func() {
		defer close(d.lines)
		for scanner := bufio.NewScanner(read); scanner.Scan(); {
			d.lines <- scanner.Text()
		}
	}()
	args = append([]string{"--redis", srv.URL(), "--listen", "127.0.0.1:0"}, args...)
	go func() {
		d.ended <- run(ctx, args, write)
		write.Close()
	}()
	t.Cleanup(func() { stop() })
	d.url = regexp.MustCompile(`url=(\S+)`).FindStringSubmatch(d.logged("msg=listening"))[1]
	return d
}

// logged waits for a line that holds text.
func (d *demo) logged(text string) string {
	d.t.Helper()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for {
		select {
		case line, ok := <-d.lines:
			require.True(d.t, ok, "the log ended before a line with %s", text)
			if strings.Contains(line, text) {
				return line
			}
		case <-limit.C:
			d.t.Fatalf("no line with %s in the log", text)
		}
	}
}

func (d *demo) post(query string) {
	d.t.Helper()
	response, err := http.Post(d.url+"?"+query, "", http.NoBody)
	require.NoError(d.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(d.t, err)
	require.Equal(d.t, "200 ok", strconv.Itoa(response.StatusCode)+" "+string(body))
}

// end stops the program and returns the lines it has logged since.
func (d *demo) end() (lines []string) {
	d.t.Helper()
	d.stop()
	select {
	case err := <-d.ended:
		require.NoError(d.t, err)
	case <-time.After(30 * time.Second):
		d.t.Fatal("the program did not end")
	}
	for line := range d.lines {
		lines = append(lines, line)
	}
	return lines
}

func TestWhatIsPostedComesBackAfterItsDelay(t *testing.T) {
	for _, pause := range []string{"0", "5ms"} {
		t.Run(pause, func(t *testing.T) {
			d := startDemo(t, redistest.Redis(t), "--poll", pause)
			d.post("data=a&expire=50")
			require.Contains(t, d.logged(`msg="data added"`), "data=a expire=50 time=")
			line := d.logged(`msg="data obtained"`)
			took := regexp.MustCompile(`data=a expire=50 time=\d+ took_ms=(\d+)$`).FindStringSubmatch(line)
			require.NotNil(t, took, line)
			ms, err := strconv.Atoi(took[1])
			require.NoError(t, err)
			// Both ends are cut to whole ms.
			require.GreaterOrEqual(t, ms, 49)
			d.end()
		})
	}
}

func TestTheValueIsPlainJSON(t *testing.T) {
	d := startDemo(t, redistest.Redis(t), "--poll", "1h", "--queue", "orders", "--release", "3.16.6")
	d.post("data=%E4%BD%A0&expire=3600000")
	members, err := d.client.ZRange(t.Context(), wire.NamesOf("orders").TimeoutSet, 0, -1).Result()
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.Regexp(t, `\{"data":"你","expire":3600000,"time":\d+\}$`, members[0])
	d.end()
}

// Whatever was posted is in the log or in Redis after the end: nothing that was popped is lost.
func TestShutdownLosesNothing(t *testing.T) {
	for _, pause := range []string{"0", "1ms"} {
		t.Run(pause, func(t *testing.T) {
			d := startDemo(t, redistest.Redis(t), "--poll", pause, "--queue", "orders")
			const posted = 100
			for i := range posted {
				d.post("expire=0&data=" + strconv.Itoa(i))
			}
			seen := map[string]bool{}
			data := regexp.MustCompile(`msg="data obtained" data=(\d+) `)
			note := func(line string) {
				if found := data.FindStringSubmatch(line); found != nil {
					require.False(t, seen[found[1]], "twice: %s", line)
					seen[found[1]] = true
				}
			}
			note(d.logged(`msg="data obtained"`))
			for _, line := range d.end() {
				note(line)
			}
			names := wire.NamesOf("orders")
			values, err := d.client.LRange(t.Context(), names.Destination, 0, -1).Result()
			require.NoError(t, err)
			waiting, err := d.client.ZRange(t.Context(), names.TimeoutSet, 0, -1).Result()
			require.NoError(t, err)
			require.Equal(t, posted, len(seen)+len(values)+len(waiting))
		})
	}
}

func TestAForeignValueIsKeptInTheLog(t *testing.T) {
	d := startDemo(t, redistest.Redis(t), "--queue", "orders")
	require.NoError(t, d.client.RPush(t.Context(), "orders", "no JSON").Err())
	require.Contains(t, d.logged("a value that is no entity"), "no JSON")
	require.NoError(t, d.client.RPush(t.Context(), "orders", `{"data":{"id":7}}`).Err())
	require.Contains(t, d.logged("data obtained"), "id:7")
	d.end()
}

func TestWhatCannotBeServedIsAnErrorThatNamesIt(t *testing.T) {
	for text, args := range map[string][]string{
		"-speed": {"--speed", "9"}, "expected a name": {"--redis", "embedded", "--queue", ""},
		"3.16.8": {"--redis", "embedded", "--release", "3.16.99"}, "memcached": {"--redis", "memcached"}, "127.0.0.1:1": {"--redis", "redis://127.0.0.1:1"},
		"--listen": {"--redis", "embedded", "--listen", "127.0.0.1:x"},
	} {
		require.ErrorContains(t, run(t.Context(), args, io.Discard), text)
	}
}

// documentRelease is what the document's pom.xml asks for.
const documentRelease = "3.16.6"

// openRedisson opens the document's queue in a real Redisson until the test ends. It returns a function for the ops of docs/protocol.md.
func openRedisson(t *testing.T, srv *redis.Server) (ask func(op string, args ...any) (result struct{ T, V, Handle string })) {
	redistest.Redisson(t, documentRelease)
	release, err := wire.LookupRelease(documentRelease)
	require.NoError(t, err)
	command, err := redisson.Build(t.Context(), release, func(line string) { t.Log(line) })
	if err != nil {
		redistest.Missing(t, "redisson", err)
	}
	program := exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...)
	stdin, _ := program.StdinPipe() // of a new command
	stdout, _ := program.StdoutPipe()
	require.NoError(t, program.Start())
	t.Cleanup(func() { stdin.Close(); _ = program.Wait() })
	answers, handle := bufio.NewScanner(stdout), ""
	ask = func(op string, args ...any) (result struct{ T, V, Handle string }) {
		_, err := fmt.Fprintf(stdin, `{"id":1,"handle":%q,`+op+"}\n", append([]any{handle}, args...)...)
		require.NoError(t, err)
		require.True(t, answers.Scan())
		answer := struct{ Result any }{&result}
		require.NoError(t, json.Unmarshal(answers.Bytes(), &answer))
		require.NotContains(t, answers.Text(), `"error"`)
		return result
	}
	handle = ask(`"op":"open","redis":%q,"queue":"redisson:queue","codec":"string"`, srv.URL()).Handle
	return ask
}

// A Java service takes what was posted here, and what it offers arrives here.
func TestTheQueueIsSharedWithARealRedisson(t *testing.T) {
	srv := redistest.Redis(t)
	ask := openRedisson(t, srv)
	d := startDemo(t, srv, "--poll", "1h", "--release", documentRelease)
	posted := time.Now()
	d.post("data=a&expire=300")
	value := ask(`"op":"q.take"`)
	require.GreaterOrEqual(t, time.Since(posted), 299*time.Millisecond)
	require.Equal(t, "string", value.T)
	require.Regexp(t, `^\{"data":"a","expire":300,"time":\d+\}$`, value.V)
	d.end()

	d = startDemo(t, srv, "--release", documentRelease)
	ask(`"op":"dq.offer","value":{"t":"string","v":%q},"delay":300`, `{"data":"from Java","expire":300,"time":1642141312135}`)
	require.Contains(t, d.logged(`msg="data obtained"`), `data="from Java" expire=300 time=1642141312135 took_ms=`)
	d.end()
}

// The Redis is not there, and its client closed.
func TestWrongRequestsAreAnsweredWithTheReason(t *testing.T) {
	rdb := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer rdb.Close()
	client, err := dq.NewClient(rdb)
	require.NoError(t, err)
	queue, err := dq.NewQueue(client, "orders", codec.JSON[entity]{})
	require.NoError(t, err)
	handler := (&service{queue: queue, log: slog.New(slog.DiscardHandler)}).handler()
	require.NoError(t, client.Close())
	for name, test := range map[string]struct {
		method, target, body string
		status               int
		reason               string
	}{
		"no data":           {"POST", "/redissonQueue?expire=1", "", 400, "parameter data is missing"},
		"no expire":         {"POST", "/redissonQueue?data=a", "", 400, "expected the delay in ms"},
		"a text for expire": {"POST", "/redissonQueue?data=a&expire=soon", "", 400, `such as expire=30000, got "soon"`},
		"a negative expire": {"POST", "/redissonQueue?data=a&expire=-1", "", 400, "expected the delay in ms"},
		"too large":         {"POST", "/redissonQueue?data=a&expire=9223372036855", "", 400, "0 to 9223372036854"},
		"a broken query":    {"POST", "/redissonQueue?data=%zz&expire=1", "", 400, "invalid URL escape"},
		"a wrong form":      {"POST", "/redissonQueue", "data=a&expire=x", 400, "expected the delay in ms"},
		"too much":          {"POST", "/redissonQueue?expire=1", "data=" + strings.Repeat("a", maxBody), 400, "too large"},
		"GET":               {"GET", "/redissonQueue?data=a&expire=1", "", 405, "Method Not Allowed"},
		"another path":      {"POST", "/", "", 404, "not found"},
		"no Redis":          {"POST", "/redissonQueue?data=a&expire=1", "", 503, "closed"},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequestWithContext(t.Context(), test.method, test.target, strings.NewReader(test.body))
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			require.Equal(t, test.status, answer.Code, answer.Body)
			require.Contains(t, answer.Body.String(), test.reason)
			if test.status == http.StatusMethodNotAllowed {
				require.Equal(t, "POST", answer.Header().Get("Allow"))
			}
		})
	}
}

func FuzzParameters(f *testing.F) {
	f.Add("data=a&expire=30000")
	f.Add("data=&expire=-9223372036854775809")
	f.Add("expire=+1&data=x")
	f.Fuzz(func(t *testing.T, query string) {
		form, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		_, expire, err := parameters(form)
		if err == nil {
			require.GreaterOrEqual(t, time.Duration(expire)*time.Millisecond, time.Duration(0))
		}
	})
}
