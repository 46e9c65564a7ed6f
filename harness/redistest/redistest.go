// Package redistest gives tests of your own code a Redis with RDelayedQueue's scripts.
//
// Plain miniredis lacks the Lua library struct, which every script of Redisson needs.
package redistest

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

// Start returns a client of an empty server that ends with the test: the server of Embedded, or the kind that DQ_REDIS
// names, such as "process" or "container:redis:8.0". An address in DQ_REDIS counts as "process": the server behind the
// address may hold other people's data.
func Start(t testing.TB) *redis.Client {
	t.Helper()
	if kind := os.Getenv("DQ_REDIS"); kind == "" || kind == "auto" || kind == "embedded" {
		return Embedded(t)
	}
	return connect(t, redistest.Redis(t).URL())
}

// Embedded returns a client of a server inside the test's process. It needs nothing installed and starts in
// milliseconds. It knows the commands and Lua functions that delayed queues use, and refuses others by name.
func Embedded(t testing.TB) *redis.Client {
	t.Helper()
	return connect(t, redistest.Embedded(t).URL())
}

func connect(t testing.TB, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
