package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// demo is the program under test, on a Redis.
type demo struct {
	t      *testing.T
	client goredis.UniversalClient
	url    string
	lines  chan string
	stop   context.CancelFunc
	ended  chan int
}

// startDemo runs the program until the test ends, and waits until it listens.
func startDemo(t *testing.T, srv *redis.Server, args ...string) *demo {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	d := &demo{t: t, client: redistest.Client(srv), lines: make(chan string, 10_000), stop: stop, ended: make(chan int, 1)}
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
		d.ended <- execute(ctx, args, write)
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
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.url+"?"+query, http.NoBody)
	require.NoError(d.t, err)
	response, err := http.DefaultClient.Do(request)
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
	case code := <-d.ended:
		require.Equal(d.t, 0, code)
	case <-time.After(30 * time.Second):
		d.t.Fatal("the program did not end")
	}
	for line := range d.lines {
		lines = append(lines, line)
	}
	return lines
}

func TestWhatIsPostedComesBackAfterItsDelay(t *testing.T) {
	for _, consumer := range []string{"take", "poll-5ms"} {
		t.Run(consumer, func(t *testing.T) {
			d := startDemo(t, redistest.Redis(t), "--consumer", consumer)
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
	d := startDemo(t, redistest.Redis(t), "--consumer", "none", "--queue", "orders", "--release", "3.16.6")
	d.post("data=%E4%BD%A0&expire=3600000")
	members, err := d.client.ZRange(t.Context(), wire.NamesOf("orders").TimeoutSet, 0, -1).Result()
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.Regexp(t, `\{"data":"你","expire":3600000,"time":\d+\}$`, members[0])
	d.end()
}

// Whatever was posted is in the log or in Redis after the end: nothing that was
// popped is lost.
func TestShutdownLosesNothing(t *testing.T) {
	for _, consumer := range []string{"take", "poll-1ms"} {
		t.Run(consumer, func(t *testing.T) {
			d := startDemo(t, redistest.Redis(t), "--consumer", consumer, "--queue", "orders")
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

func TestExitCodes(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		text string
	}{
		"help":             {[]string{"-h"}, 0, "--consumer"},
		"an unknown flag":  {[]string{"--speed", "9"}, 2, "speed"},
		"an argument":      {[]string{"now"}, 2, "flags only"},
		"no queue":         {[]string{"--queue", ""}, 2, "--queue"},
		"a consumer":       {[]string{"--consumer", "poll-0s"}, 2, "poll-<duration>"},
		"a release":        {[]string{"--release", "3.16.99"}, 2, "3.16.8"},
		"a server":         {[]string{"--redis", "memcached"}, 2, "memcached"},
		"no such server":   {[]string{"--redis", "redis://127.0.0.1:1"}, 1, "127.0.0.1:1"},
		"an address twice": {[]string{"--redis", "embedded", "--listen", "127.0.0.1:x"}, 1, "--listen"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr strings.Builder
			require.Equal(t, test.code, execute(t.Context(), test.args, &stderr), stderr.String())
			require.Contains(t, strings.ReplaceAll(stderr.String(), "\n  -", "\n  --"), test.text)
		})
	}
}
