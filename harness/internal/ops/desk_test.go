package ops_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

// desk serves the page of a server, which has been looked at; look looks again.
func (b *bench) desk(o ops.DeskOptions) (page string, look func()) {
	b.t.Helper()
	o.Conn, o.Token, o.Folder = b.conn, "secret", b.t.TempDir()
	desk, doctor := ops.NewDesk(o), ops.NewDoctor(b.conn, ops.LookOptions{Wait: time.Millisecond})
	s, err := web.Serve(b.t.Context(), "127.0.0.1:0", desk, nil, nil)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { require.NoError(b.t, s.Close()) })
	look = func() { desk.Set(doctor.Look(b.ctx)) }
	look()
	return s.URL(), look
}

// asks returns a client of the page, and what it answers: with a token as a person who opened the address.
func asks(t *testing.T, page, token string) func(method, path string, form url.Values) (int, string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	ask := func(method, path string, form url.Values) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, page+path, bytes.NewBufferString(form.Encode()))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := client.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	if token != "" {
		ask("GET", "?token="+token, nil)
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
		page, _ := b.desk(c.options)
		ask := asks(t, page, c.token)
		status, _ := ask("GET", "", nil)
		require.Equal(t, c.get, status, "%+v", c)
		status, _ = ask("GET", "export?name=orders", nil)
		require.Equal(t, c.get, status, "%+v", c)
		status, _ = ask("POST", "plan?name=orders", cancel)
		require.Equal(t, c.set, status, "%+v", c)
	}
	page, _ := b.desk(ops.DeskOptions{Open: true, Changes: true})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page+"plan?name=orders", nil)
	require.NoError(t, err)
	request.Header.Set("Origin", "http://elsewhere.example")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, http.StatusForbidden, answer.StatusCode, "a page of another site")
	require.EqualValues(t, 1, b.count("ZCARD", b.names.TimeoutSet))
}

var planID = regexp.MustCompile(`name="plan" value="([^"]+)"`)

// Every verb of the page does what its plan says, once; each is undone by its file.
func TestDeskVerbs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(bc0Lc0, time.Hour, `{"orderId":7}`)
	b.do("RPUSH", b.names.Pending, b.member(bc0Lc0, "ghost"))
	page, _ := b.desk(ops.DeskOptions{Open: true, Changes: true})
	ask := asks(t, page, "secret")
	do := func(form url.Values) {
		t.Helper()
		status, body := ask("POST", "plan?name=orders", form)
		require.Equal(t, 200, status, body)
		plan := planID.FindStringSubmatch(body)
		require.NotNil(t, plan, body)
		status, body = ask("POST", "do", url.Values{"plan": {plan[1]}})
		require.Equal(t, 200, status)
		require.Regexp(t, `[1-9] of [1-9] changed`, body)
		status, _ = ask("POST", "do", url.Values{"plan": {plan[1]}})
		require.Equal(t, http.StatusConflict, status, "a plan is carried out once")
	}
	counts := func() [3]int64 {
		return [3]int64{b.count("ZCARD", b.names.TimeoutSet), b.count("LLEN", b.names.Pending), b.count("LLEN", "orders")}
	}
	do(url.Values{"verb": {"repair"}})
	require.Equal(t, [3]int64{1, 1, 0}, counts())
	_, exported := ask("GET", "export?name=orders", nil)
	do(url.Values{"verb": {"reschedule"}, "where": {".orderId == 7"}, "to": {"2h"}})
	require.Greater(t, b.count("ZCOUNT", b.names.TimeoutSet, time.Now().Add(90*time.Minute).UnixMilli(), "+inf"), int64(0))
	do(url.Values{"verb": {"cancel"}, "all": {"1"}})
	require.Equal(t, [3]int64{0, 0, 0}, counts())
	do(url.Values{"verb": {"import"}, "lines": {exported}})
	require.Equal(t, [3]int64{1, 1, 0}, counts())
	do(url.Values{"verb": {"deliver"}, "all": {"1"}})
	require.Equal(t, [3]int64{0, 0, 1}, counts())
	_, body := ask("GET", "", nil)
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
		status, body := ask("POST", "plan?name=orders", form)
		require.Equal(t, 400, status, name)
		require.Contains(t, body, name)
	}
	status, _ := ask("GET", "queue?name=nowhere", nil)
	require.Equal(t, 404, status)
}

// --redact shows neither values nor an export, also in a plan.
func TestDeskRedacts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(bc0Lc0, time.Hour, `{"secretValue":7}`)
	page, _ := b.desk(ops.DeskOptions{Open: true, Changes: true, Redact: true})
	ask := asks(t, page, "secret")
	for _, path := range []string{"", "queue?name=orders", "export?name=orders"} {
		_, body := ask("GET", path, nil)
		require.NotContains(t, body, "secretValue")
	}
	_, body := ask("POST", "plan?name=orders", url.Values{"verb": {"cancel"}, "all": {"1"}})
	require.NotContains(t, body, "secretValue")
}
