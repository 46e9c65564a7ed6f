package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

// unreachable is a service whose Redis is not there, and its client closed.
func unreachable(t *testing.T) *service {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { rdb.Close() })
	client, err := dq.NewClient(rdb)
	require.NoError(t, err)
	queue, err := dq.NewQueue(client, "orders", codec.JSON[entity]{})
	require.NoError(t, err)
	s := &service{queue: queue, log: slog.New(slog.DiscardHandler)}
	require.NoError(t, client.Close())
	return s
}

func TestWrongRequestsAreAnsweredWithTheReason(t *testing.T) {
	handler := unreachable(t).handler()
	for name, test := range map[string]struct {
		method, target, body string
		status               int
		reason               string
	}{
		"no data":             {"POST", "/redissonQueue?expire=1", "", 400, "parameter data is missing"},
		"no expire":           {"POST", "/redissonQueue?data=a", "", 400, "expected the delay in ms"},
		"an empty expire":     {"POST", "/redissonQueue?data=a&expire=", "", 400, "expected the delay in ms"},
		"a text for expire":   {"POST", "/redissonQueue?data=a&expire=soon", "", 400, `such as expire=30000, got "soon"`},
		"a fraction":          {"POST", "/redissonQueue?data=a&expire=1.5", "", 400, "expected the delay in ms"},
		"a negative expire":   {"POST", "/redissonQueue?data=a&expire=-1", "", 400, "expected the delay in ms"},
		"a very negative one": {"POST", "/redissonQueue?data=a&expire=-99999999999999999999", "", 400, "expected the delay in ms"},
		"too large":           {"POST", "/redissonQueue?data=a&expire=9223372036855", "", 400, "0 to 9223372036854"},
		"much too large":      {"POST", "/redissonQueue?data=a&expire=99999999999999999999", "", 400, "expected the delay in ms"},
		"a broken query":      {"POST", "/redissonQueue?data=%zz&expire=1", "", 400, "parameters"},
		"a wrong form":        {"POST", "/redissonQueue", "data=a&expire=x", 400, "expected the delay in ms"},
		"too much":            {"POST", "/redissonQueue?expire=1", "data=" + strings.Repeat("a", maxBody), 400, "too large"},
		"GET":                 {"GET", "/redissonQueue?data=a&expire=1", "", 405, "Method Not Allowed"},
		"PUT":                 {"PUT", "/redissonQueue?data=a&expire=1", "", 405, "Method Not Allowed"},
		"another path":        {"POST", "/", "", 404, "not found"},
		"no Redis":            {"POST", "/redissonQueue?data=a&expire=1", "", 503, "the message was not added"},
		"no Redis, no data":   {"POST", "/redissonQueue", "data=&expire=0", 503, "the message was not added"},
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

func TestAClientIsToldWhenAnOfferIsUncertain(t *testing.T) {
	require.Contains(t, refusal(dq.ErrUncertain), "may have been added")
	require.Contains(t, refusal(context.DeadlineExceeded), "not added")
}

func TestParseConsumer(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"take": 0, "none": -1, "poll-3s": 3 * time.Second, "poll-250ms": 250 * time.Millisecond,
	} {
		got, err := parseConsumer(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "poll", "poll-", "poll-3", "poll--3s", "TAKE"} {
		_, err := parseConsumer(text)
		require.ErrorContains(t, err, consumerForms)
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
