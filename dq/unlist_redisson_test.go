package dq_test

import (
	"encoding/json"
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

			all := expect(filled + offered)
			var taker sync.WaitGroup
			taker.Go(func() {
				_ = consume(t.Context(), b.queue, 1, func(v string) { all.add(v) })
			})
			for i := range offered {
				besideAPass(t, java, all, i)
			}
			select {
			case <-all.all:
			case <-deadline(t).Done():
			}
			require.NoError(t, b.client.Close())
			taker.Wait()
			all.requireOnce(t, ended())
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
func besideAPass(t *testing.T, java *redistest.RedissonQueue, all *counted, i int) {
	t.Helper()
	java.Call("dq.offer", map[string]any{"value": javaText{"string", strconv.Itoa(6000 + i)}, "delay": rand.IntN(3000)})
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
