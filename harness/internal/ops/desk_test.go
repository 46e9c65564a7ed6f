package ops_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

// desk serves the page of a server, which has been looked at.
func (b *bench) desk(o ops.DeskOptions) (page string) {
	b.t.Helper()
	o.Conn, o.Token, o.Folder = b.conn, "secret", b.t.TempDir()
	desk, doctor := ops.NewDesk(o), ops.NewDoctor(b.conn, ops.LookOptions{Wait: time.Millisecond})
	s := must(web.Serve(b.t.Context(), "127.0.0.1:0", desk, nil, nil))
	b.t.Cleanup(func() { require.NoError(b.t, s.Close()) })
	desk.Set(doctor.Look(b.ctx))
	return s.URL()
}

// asks returns a client of the page, with a token as a person who opened the address; a form is posted.
func asks(t *testing.T, page, token string) func(path string, form url.Values) (int, string) {
	t.Helper()
	client := &http.Client{Jar: must(cookiejar.New(nil))}
	ask := func(path string, form url.Values) (int, string) {
		answer, err := client.Get(page + path)
		if form != nil {
			answer, err = client.PostForm(page+path, form)
		}
		require.NoError(t, err)
		defer answer.Body.Close()
		return answer.StatusCode, string(must(io.ReadAll(answer.Body)))
	}
	if token != "" {
		ask("?token="+token, nil)
	}
	return ask
}

// Without the token nothing changes, and off loopback nothing is read; without --allow-changes the token changes nothing.
func TestDeskGuards(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(bc0Lc0, time.Hour, "a")
	cancel := url.Values{"all": {"1"}, "verb": {"cancel"}}
	for _, c := range []struct {
		options  ops.DeskOptions
		token    string
		get, set int
	}{
		{ops.DeskOptions{Open: true, Changes: true}, "", 200, 401},
		{ops.DeskOptions{Open: true, Changes: true}, "wrong", 200, 401},
		{ops.DeskOptions{Changes: true}, "", 401, 401},
		{ops.DeskOptions{Changes: true}, "secret", 200, 200},
		{ops.DeskOptions{Open: true}, "secret", 200, 403},
	} {
		ask := asks(t, b.desk(c.options), c.token)
		status, _ := ask("", nil)
		require.Equal(t, c.get, status, "%+v", c)
		status, _ = ask("export?name=orders", nil)
		require.Equal(t, c.get, status, "%+v", c)
		status, _ = ask("plan?name=orders", cancel)
		require.Equal(t, c.set, status, "%+v", c)
	}
	page := b.desk(ops.DeskOptions{Open: true, Changes: true})
	require.EqualValues(t, 1, b.count("ZCARD", b.names.TimeoutSet))
	_, text := asks(t, page, "secret")("plan?name=orders", url.Values{"verb": {"import"}, "lines": {strings.Repeat("a", 9<<20)}})
	require.Contains(t, text, "a form of at most 8 MiB")
}

var planID = regexp.MustCompile(`name="plan" value="([^"]+)"`)

// Every verb of the page does what its plan says, once; each is undone by its file.
func TestDeskVerbs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(bc0Lc0, time.Hour, `{"orderId":7}`)
	b.do("RPUSH", b.names.Pending, b.member(bc0Lc0, "ghost"))
	ask := asks(t, b.desk(ops.DeskOptions{Open: true, Changes: true}), "secret")
	do := func(form url.Values) {
		t.Helper()
		status, body := ask("plan?name=orders", form)
		require.Equal(t, 200, status, body)
		plan := planID.FindStringSubmatch(body)
		require.NotNil(t, plan, body)
		status, body = ask("do", url.Values{"plan": {plan[1]}})
		require.Equal(t, 200, status)
		require.Regexp(t, `[1-9] of [1-9] changed`, body)
		status, _ = ask("do", url.Values{"plan": {plan[1]}})
		require.Equal(t, http.StatusConflict, status, "a plan is carried out once")
	}
	counts := func() [3]int64 {
		return [3]int64{b.count("ZCARD", b.names.TimeoutSet), b.count("LLEN", b.names.Pending), b.count("LLEN", "orders")}
	}
	do(url.Values{"verb": {"repair"}})
	require.Equal(t, [3]int64{1, 1, 0}, counts())
	_, exported := ask("export?name=orders", nil)
	do(url.Values{"verb": {"reschedule"}, "where": {".orderId == 7"}, "to": {"2h"}})
	require.Greater(t, b.count("ZCOUNT", b.names.TimeoutSet, time.Now().Add(90*time.Minute).UnixMilli(), "+inf"), int64(0))
	do(url.Values{"verb": {"cancel"}, "all": {"1"}})
	require.Equal(t, [3]int64{0, 0, 0}, counts())
	do(url.Values{"verb": {"import"}, "lines": {exported}})
	require.Equal(t, [3]int64{1, 1, 0}, counts())
	do(url.Values{"verb": {"deliver"}, "all": {"1"}})
	require.Equal(t, [3]int64{0, 0, 1}, counts())
	_, body := ask("", nil)
	files := regexp.MustCompile(`name="file" value="([^"]+)"`).FindAllStringSubmatch(body, -1)
	require.Len(t, files, 5)
	do(url.Values{"verb": {"undo"}, "file": {files[4][1]}})
	require.Equal(t, [3]int64{1, 1, 0}, counts())

	other := filepath.Join(t.TempDir(), "other.jsonl")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	for name, form := range map[string]url.Values{
		"undo file":  {"verb": {"undo"}, "file": {other}},
		"no message": {"verb": {"cancel"}},
		"no verb of": {"verb": {"flush"}, "all": {"1"}},
		"--of ready": {"verb": {"deliver"}, "all": {"1"}, "of": {"ready"}},
		"--to soon":  {"verb": {"reschedule"}, "all": {"1"}, "to": {"soon"}},
		"--of x":     {"verb": {"cancel"}, "all": {"1"}, "of": {"x"}},
	} {
		status, body := ask("plan?name=orders", form)
		require.Equal(t, 400, status, name)
		require.Contains(t, body, name)
	}
	status, _ := ask("queue?name=nowhere", nil)
	require.Equal(t, 404, status)
}

// --redact shows neither values nor an export, also in a plan.
func TestDeskRedacts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(bc0Lc0, time.Hour, `{"secretValue":7}`)
	page := b.desk(ops.DeskOptions{Open: true, Changes: true, Redact: true})
	for path, form := range map[string]url.Values{"": nil, "queue?name=orders": nil, "export?name=orders": nil, "plan?name=orders": {"verb": {"cancel"}, "all": {"1"}}} {
		_, body := asks(t, page, "secret")(path, form)
		require.NotContains(t, body, "secretValue")
		if form != nil {
			require.Regexp(t, "cancel waiting [0-9a-f]{16}", body)
		}
	}
}

type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// guard runs a Guard until end is called.
func (b *bench) guard(o ops.GuardOptions) (g *ops.Guard, lines *log, end func()) {
	b.t.Helper()
	lines = &log{}
	o.Interval = cmp.Or(o.Interval, 50*time.Millisecond)
	o.Ahead = cmp.Or(o.Ahead, 500*time.Millisecond)
	o.Stalled = cmp.Or(o.Stalled, 5*time.Second)
	o.Log = lines
	g = ops.NewGuard(b.conn, o)
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		require.NoError(b.t, <-ended)
	})
	b.t.Cleanup(end)
	return g, lines, end
}

// After a transfer that failed at a foreign member, its deliveries are not repeated. Orphans of another origin are delivered.
func TestGuardDeliversOnce(t *testing.T) {
	t.Parallel()
	for release, own := range map[string]wire.Layout{"4.7.0": bc0Lc0, "3.21.0": dLc0, "": bc0Lc0} {
		b := setup(t)
		b.offer(own, -10*time.Second, "a")
		b.offer(own, -9*time.Second, "b")
		b.offer(own.Other(), -8*time.Second, "c")
		if release == "" {
			b.do("DEL", b.names.Pending) // evicted
		} else {
			require.Error(t, b.transfer(release))
			require.Equal(t, []string{"a", "b"}, b.list("orders"))
		}
		_, lines, end := b.guard(ops.GuardOptions{Queues: []string{"orders"}})
		b.eventually(func() bool { return b.count("ZCARD", b.names.TimeoutSet) == 0 }, "all are delivered")
		end()
		require.Equal(t, []string{"a", "b", "c"}, b.list("orders"))
		require.Equal(t, release != "", strings.Contains(lines.String(), `"did":"did not deliver again"`))
		require.Zero(t, b.count("EXISTS", b.names.Pending, ops.AheadKey("orders")))
	}
}

// Where nobody transfers, messages come once they are overdue; what nobody can read is set aside, and all queues are found.
func TestNobodyTransfers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 250 {
		b.offer(bc0Lc0, -time.Minute, strconv.Itoa(i))
	}
	b.offer(bc0Lc0, time.Hour, "later")
	b.do("ZADD", b.names.TimeoutSet, 5, "no member")
	b.do("RPUSH", b.names.Pending, "no member")
	g, _, end := b.guard(ops.GuardOptions{})
	b.eventually(func() bool { return b.count("LLEN", "orders") == 250 }, "all are delivered")
	end()
	c := g.Counts()
	require.Len(t, c, 1)
	require.Equal(t, "when-stalled", c[0].Mode)
	require.EqualValues(t, []int64{250, 1, 0}, []int64{c[0].Delivered, c[0].Aside, c[0].Ahead})
	require.EqualValues(t, 1, b.count("ZCARD", b.names.TimeoutSet), "what is not due stays")
	require.EqualValues(t, 1, b.count("ZCARD", scripts.Quarantine("orders")))
}

// A Redisson that listens is woken first. Where it delivers, the guard does not; where it does not within a second, the guard does.
func TestGuardWakesWhoListens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	subscription := b.listen()
	b.offer(bc0Lc0, -time.Minute, "a")
	_, lines, end := b.guard(ops.GuardOptions{Queues: []string{"orders"}})
	_, err := subscription.ReceiveMessage(b.ctx)
	require.NoError(t, err)
	require.NoError(t, b.transfer("4.7.0"))
	b.eventually(func() bool { return len(b.list("orders")) == 1 }, "it is delivered")
	end()
	require.Contains(t, lines.String(), `"did":"woke a listener"`)
	require.NotContains(t, lines.String(), `"did":"delivered"`)
	b.offer(bc0Lc0, -time.Minute, "b")
	b.guard(ops.GuardOptions{Queues: []string{"orders"}})
	b.eventually(func() bool { return len(b.list("orders")) == 2 }, "it is delivered, though nobody transfers")
}

func TestGuardWithoutAServerAtTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	lines, ended := &log{}, make(chan error, 1)
	g := ops.NewGuard(b.conn, ops.GuardOptions{Queues: []string{"orders"}, Interval: 10 * time.Millisecond, Log: lines})
	go func() { ended <- g.Run(ctx) }()
	b.eventually(func() bool { return len(g.Counts()) == 1 }, "it has looked")
	_ = b.srv.Close()
	b.eventually(func() bool { return strings.Contains(lines.String(), `"error":"TIME: `) }, "it says so")
	cancel()
	require.Error(t, <-ended)
}

// "orders" and "{orders}" have the same keys. Only the lists distinguish the queues.
func TestQueuesWithTheSameKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	look := func(names ...string) (all []string) {
		for _, q := range b.look(ops.LookOptions{Queues: names, Wait: time.Millisecond}).Queues {
			shares := slices.ContainsFunc(q.Findings, func(f ops.Finding) bool { return f.Kind == "shared-keys" })
			all = append(all, fmt.Sprintf("%s %v", q.Name, shares))
		}
		return all
	}
	b.offer(bc0Lc0, time.Hour, "a")
	b.offer(dLc0, time.Hour, "b")
	require.Equal(t, []string{"orders false"}, look())
	g, lines, end := b.guard(ops.GuardOptions{})
	b.eventually(func() bool { return strings.Contains(lines.String(), `"takes members out ahead"`) }, "it leads")
	b.do("RPUSH", "{orders}", "before")
	require.Equal(t, []string{"{orders} false"}, look())
	require.Equal(t, []string{"orders true"}, look("orders"))
	b.eventually(func() bool { return g.Counts()[0].Queue == "{orders}" }, "the list has the name")
	b.do("DEL", "{orders}") // consumers keep it empty
	b.offer(bc0Lc0, time.Second, "c")
	b.eventually(func() bool { return len(b.list("{orders}")) == 1 }, "the guard remembers the list")
	b.do("RPUSH", "orders", "of the other")
	require.Equal(t, []string{"orders true", "{orders} true"}, look())
	b.eventually(func() bool { return g.Counts()[0].Error != "" }, "two lists are there")
	end()
	require.Len(t, g.Counts(), 1)
	require.Len(t, b.list("orders"), 1)
	require.NotContains(t, lines.String(), `"error":"queue \"{orders}\" has the same keys`)
}
