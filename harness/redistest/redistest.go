// Package redistest gives tests of your own code a Redis with RDelayedQueue's scripts.
//
// Plain miniredis lacks the Lua library struct, which every script of Redisson needs.
package redistest

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	_ "github.com/dq-bench/dq-bench/internal/redis/container" // DQ_REDIS=container
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
	return client(t, redistest.Redis(t).Addr)
}

// Embedded returns a client of a server inside the test's process. It needs nothing installed and starts in
// milliseconds. It knows the commands and Lua functions that delayed queues use, and refuses others by name.
func Embedded(t testing.TB) *redis.Client {
	t.Helper()
	return client(t, redistest.Embedded(t).Addr)
}

func client(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}
