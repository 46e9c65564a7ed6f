package dq_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// javaText is a String as the driver protocol has it.
type javaText struct {
	T string `json:"t"`
	V string `json:"v"`
}

// arrivals counts by value how often it has come, or was removed.
type arrivals struct {
	mu   sync.Mutex
	came map[string]int
}

func (c *arrivals) add(value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.came[value]++
}

func (c *arrivals) has(value string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.came[value] > 0
}

func (c *arrivals) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.came)
}

// Beside passes, a real Redisson offers, polls, removes, reads all and transfers: it never
// sees what has come, and each value comes once or is removed once.
func TestUnlistingBesideRealRedissons(t *testing.T) {
	redistest.Redisson(t, "3.16.6", "4.7.0")
	for _, version := range []string{"3.16.6", "4.7.0"} {
		t.Run(version, func(t *testing.T) {
			const filled, offered = 6000, 100
			var p passes
			b := setup(t, dq.WithRelease(version), p.observer())
			java := redistest.OpenRedisson(t, b.server, version, "orders", "string")
			release, err := wire.LookupRelease(version)
			require.NoError(t, err)
			start := time.Now().Add(3 * time.Second).UnixMilli()
			b.fill(t, release.Layout(), filled, func(i int) int64 { return start + int64(i) })
			b.delayed(t)

			all := &arrivals{came: map[string]int{}}
			var taker sync.WaitGroup
			taker.Go(func() {
				for all.len() < filled+offered {
					v, err := b.queue.Take(deadline(t))
					if err != nil {
						return
					}
					all.add(v)
				}
			})
			for i := range offered {
				besideAPass(t, java, all, i)
			}
			require.Eventually(t, func() bool { return all.len() == filled+offered }, testDeadline, 10*time.Millisecond, "all come")
			require.NoError(t, b.client.Close())
			taker.Wait()
			for value, n := range all.came {
				require.Equal(t, 1, n, "%s comes once", value)
			}
			unlisted := 0
			for _, pass := range p.made() {
				t.Logf("%d of %d entries: %v", pass.Members, pass.Entries, pass.Err)
				unlisted += pass.Members
			}
			require.Positive(t, unlisted)
			require.Zero(t, b.redis.Exists(t.Context(), b.names.Pending, b.names.TimeoutSet).Val())
		})
	}
}

// besideAPass has the real one offer, and do one thing more.
func besideAPass(t *testing.T, java *redistest.RedissonQueue, all *arrivals, i int) {
	t.Helper()
	java.Call("dq.offer", map[string]any{"value": javaText{"string", fmt.Sprintf("java %d", i)}, "delay": rand.IntN(3000)})
	switch i % 10 {
	case 3:
		var polled *javaText
		require.NoError(t, json.Unmarshal(java.Call("dq.poll", nil), &polled))
		if polled != nil {
			all.add(polled.V)
		}
	case 6:
		value := strconv.Itoa(rand.IntN(6000))
		if string(java.Call("dq.remove", map[string]any{"value": javaText{"string", value}})) == "true" {
			all.add(value)
		}
	case 8:
		var before []string
		for v := range 6000 {
			if all.has(strconv.Itoa(v)) {
				before = append(before, strconv.Itoa(v))
			}
		}
		var values []javaText
		require.NoError(t, json.Unmarshal(java.Call("dq.readAll", nil), &values))
		seen := map[string]bool{}
		for _, v := range values {
			require.False(t, seen[v.V], "%s is there once", v.V)
			seen[v.V] = true
		}
		for _, v := range before {
			require.False(t, seen[v], "%s had come before readAll", v)
		}
	}
}
