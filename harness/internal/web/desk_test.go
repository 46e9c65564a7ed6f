package web_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A person finds a red queue, looks at a message, delivers it after a confirmation, and undoes that.
func TestBrowserRepairsAQueue(t *testing.T) {
	t.Parallel()
	conn, names := redistest.Redis(t).Conn(), wire.NamesOf("orders")
	t.Cleanup(func() { _ = conn.Close() })
	for due, value := range map[time.Duration]string{-time.Minute: `{"orderId":7}`, time.Hour: `{"orderId":8}`} {
		member := string(wire.LayoutBc0Lc0.Pack([8]byte{value[len(value)-2], 0, 0, 0, 0, 0, 0, 16}, []byte(value)))
		_, err := conn.Multi(t.Context(), []any{"ZADD", names.TimeoutSet, time.Now().Add(due).UnixMilli(), member}, []any{"RPUSH", names.Pending, member})
		require.NoError(t, err)
	}
	count := func(args ...any) int64 {
		n, err := conn.Do(t.Context(), args...).Int64()
		require.NoError(t, err)
		return n
	}
	desk := ops.NewDesk(ops.DeskOptions{Open: true, Changes: true, Conn: conn, Token: "secret", Site: ops.Site{Folder: t.TempDir()}})
	doctor := ops.NewDoctor(conn, ops.LookOptions{Wait: time.Millisecond})
	desk.Set(doctor.Look(t.Context()))
	s, err := web.Serve(t.Context(), "127.0.0.1:0", desk, nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })

	b := open(t, s.URL())
	b.fits()
	require.Equal(t, "red", eval[string](b, "document.querySelector('header').className"))
	require.Contains(t, eval[string](b, "document.body.innerText"), "dq-bench guard orders")
	b.do(chromedp.Navigate(s.URL()+"?token=secret"), chromedp.Click("#queues a"), chromedp.WaitVisible("#messages"))
	require.NotContains(t, eval[string](b, "location.href"), "secret")
	require.Equal(t, "waiting", eval[string](b, "document.querySelector('select[name=of]').value"))
	b.do(chromedp.Click("details summary"))
	require.Contains(t, eval[string](b, "document.querySelector('details pre').innerText"), `{\"orderId\":7}`)
	b.fits()

	b.do(chromedp.Click("input[name=id]"), chromedp.Click("button[value=deliver]"), chromedp.WaitVisible("#confirm"))
	require.Zero(t, count("LLEN", "orders"), "a plan changes nothing")
	until := func(expression string) {
		t.Helper()
		require.Eventually(t, func() bool { // an error: the page is being left
			met, err := chromedp.Run(b.Context, chromedp.Evaluate[bool](expression))
			return err == nil && met
		}, 20*time.Second, 5*time.Millisecond, expression)
	}
	b.do(chromedp.Click("#confirm"))
	until("document.querySelector('h1').innerText == 'deliver: done'")
	require.EqualValues(t, 1, count("LLEN", "orders"))
	require.Contains(t, eval[string](b, "document.body.innerText"), "1 of 1 changed")
	b.do(chromedp.Click("#undo button"), chromedp.WaitVisible("#confirm"), chromedp.Click("#confirm"))
	until("document.querySelector('h1').innerText == 'undo: done'")
	require.Zero(t, count("LLEN", "orders"))
	require.EqualValues(t, 2, count("ZCARD", names.TimeoutSet))

	// What is open follows the looks.
	b.do(chromedp.Navigate(s.URL()), chromedp.WaitVisible("#queues a"))
	count("DEL", names.TimeoutSet, names.Pending)
	desk.Set(doctor.Look(t.Context()))
	until("!document.querySelector('#queues a') && document.querySelector('h1').innerText.endsWith('0 queues')")
}
