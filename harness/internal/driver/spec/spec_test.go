package spec

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestParse(t *testing.T) {
	for spec, identity := range map[string]driver.Identity{
		"memory": {Name: "memory"}, "redis-list": {Name: "redis-list"}, "redis-zset": {Name: "redis-zset"}, "exec:./port --fast": {Name: "exec:./port --fast"},
		"dq": {Name: "dq", Version: wire.Newest().String()}, "dq:3.16.6": {Name: "dq", Version: "3.16.6"},
		"dq:3.16.6,faithful": {Name: "dq", Version: "3.16.6,faithful"}, "redisson:3.16.6": {Name: "redisson", Version: "3.16.6"},
	} {
		d, err := Parse(spec)
		require.NoError(t, err, spec)
		require.Equal(t, identity, d.Identity(), spec)
		again, err := Parse(d.Identity().String())
		require.NoError(t, err, "an identity names its driver")
		require.Equal(t, identity, again.Identity())
	}
}

func TestParseProgram(t *testing.T) {
	for text, want := range map[string]struct{ release, notice string }{
		"dq":                 {wire.Newest().String(), ""},
		"dq:3.21.0,faithful": {"3.21.0", ""},
		"redisson:3.99.0":    {"3.99.0", "Redisson 3.99.0 is not in the catalogue: 3.52.0, the nearest that is, stands for it"},
	} {
		p, err := ParseProgram(text)
		require.NoError(t, err, text)
		require.Equal(t, []any{want.release, text, want.notice, text != "dq"}, []any{p.Release.String(), p.String(), p.Notice(), p.NamesRelease()})
	}
	for text, want := range map[string]string{
		"": "expected dq", "memory:1": "expected dq", "redis-list:1": "expected dq", "redisson:3.99": "is not a Redisson release", "dq:3.99.0": "the nearest is",
		"dq:3.16.6,fast": "3.16.6,fast", "dq,partitions=6": "expected dq", "exec:": "expected a command line behind", "redisson:3.16.6,faithful": "expected",
	} {
		_, err := ParseProgram(text)
		require.ErrorContains(t, err, want, text)
		_, err = Parse(text)
		require.ErrorContains(t, err, fmt.Sprintf("--driver %q: ", text))
	}
	_, err := ParseProgram("memory")
	require.ErrorContains(t, err, "expected dq")
}

// dq answers the ops of the protocol, and refuses what its release does not have. Package serve tests what all ports answer alike.
func TestAnswersAsTheProtocolSays(t *testing.T) {
	srv := redistest.Redis(t)
	p, err := program.Local(t.Context(), "dq", Program{Release: wire.Newest(), kind: library}.Serve)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	for _, op := range []string{"load", "load(poll)", "load(cancel)", "dq.poll(limit)", "deque.takeLast", "open(faithful)", program.BothLayouts} {
		require.True(t, p.Introduction().Can(op), op)
	}
	_, err = p.Call(t.Context(), "open", map[string]any{"redis": srv.URL(), "queue": "q", "codec": "json"})
	require.NoError(t, err)
	const value = `"value":{"t":"long","v":"1099511627776"}`
	for _, row := range [][3]string{
		{"q.offer", value, "true <nil>"},
		{"q.poll", `"timeout":2,"unit":"s"`, `{"t":"long","v":"1099511627776"} <nil>`},
		{"q.offer", value, "true <nil>"},
		{"q.take", `"timeout":null`, `{"t":"long","v":"1099511627776"} <nil>`},
		{"q.poll", `"timeout":null`, "null <nil>"},
		{"dq.offer", value + `,"delay":3600000`, "null <nil>"},
		{"dq.offer", value + `,"delay":9223372036854775807`, "null <nil>"},
		{"dq.readAll", `"limit":null`, `[{"t":"long","v":"1099511627776"},{"t":"long","v":"1099511627776"}] <nil>`},
		{"dq.contains", value, "true <nil>"},
		{"dq.remove", value, "true <nil>"},
		{"dq.offer", `"delay":1`, `"value" is missing`},
		{"dq.offer", value + `,"delay":-1`, "negative"},
		{"q.poll", `"timeout":1,"unit":"year"`, `unit "year"`},
	} {
		result, err := p.Call(t.Context(), row[0], json.RawMessage(`{"handle":"handle-1",`+row[1]+`}`))
		require.Contains(t, fmt.Sprintf("%s %v", result, err), row[2], row)
	}
}

func TestDQOffersTakesAndCancels(t *testing.T) {
	srv := redistest.Redis(t)
	for _, d := range []Program{{Release: wire.Newest(), kind: library}, {Release: wire.Newest(), kind: library, faithful: true}} {
		c, err := connect(d, serve.Args{Redis: srv.URL()})
		require.NoError(t, err)
		q, err := c.open(serve.Args{Queue: d.Identity().String(), Delayed: true})
		require.NoError(t, err)
		require.NoError(t, q.Offer(t.Context(), []byte("cancelled"), time.Hour))
		removed, err := q.Remove(t.Context(), []byte("cancelled"))
		require.NoError(t, err)
		require.True(t, removed)
		none, err := q.Poll(t.Context())
		require.NoError(t, err)
		require.Nil(t, none)
		require.NoError(t, q.Offer(t.Context(), []byte{}, time.Millisecond))
		got, err := q.Take(t.Context())
		require.NoError(t, err)
		require.Equal(t, []byte{}, got)
		require.ErrorIs(t, q.Offer(t.Context(), nil, -time.Second), driver.ErrRefused)
		require.NoError(t, c.Close())
	}
}

func openMemory(t *testing.T) *memoryQueue {
	t.Helper()
	opened, err := (Memory{Clock: clock.Runtime()}).Open(t.Context(), "", "q")
	require.NoError(t, err)
	q := opened.(*memoryQueue) //nolint:forcetypeassert // Open returns no other
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	return q
}

func TestMemoryDeliversByDueTimeThenByArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, start := openMemory(t), time.Now()
		for _, offer := range []struct {
			value string
			delay time.Duration
		}{{"third", 3 * time.Second}, {"first", time.Second}, {"second", 2 * time.Second}, {"also third", 3 * time.Second}, {"at once", 0}} {
			value := []byte(offer.value)
			require.NoError(t, q.Offer(t.Context(), value, offer.delay))
			clear(value) // the queue keeps a copy
		}
		newHead := func() { _ = q.Offer(t.Context(), []byte("new head"), 100*time.Millisecond) }
		time.AfterFunc(1500*time.Millisecond, newHead) // a taker waits for the second
		for _, want := range []string{"at once 0s", "first 1s", "new head 1.6s", "second 2s", "third 3s", "also third 3s"} {
			value, err := q.Take(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, fmt.Sprintf("%s %s", value, time.Since(start)))
		}
	})
}

// queueOf opens a queue of a driver on a Redis of its own.
func queueOf(t *testing.T, d Redis) (q driver.Queue, keys Keys, url string) {
	t.Helper()
	srv := redistest.Redis(t)
	conn := srv.Conn()
	t.Cleanup(func() { conn.Close() })
	q, err := d.Open(t.Context(), srv.URL(), "orders")
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })
	keys, _ = KeysOf(d, conn, "orders")
	return q, keys, srv.URL()
}

// exchange offers values with their delays, and takes as many.
func exchange(t *testing.T, q driver.Queue, values string, delays ...time.Duration) (taken string) {
	t.Helper()
	for i, value := range strings.Fields(values) {
		require.NoError(t, q.Offer(t.Context(), []byte(value), delays[i]))
	}
	for range delays {
		value, err := q.Take(t.Context())
		require.NoError(t, err)
		taken = strings.TrimSpace(taken + " " + string(value))
	}
	return taken
}

func held(t *testing.T, keys Keys) int64 {
	t.Helper()
	n, err := keys.Held(t.Context(), nil)
	require.NoError(t, err)
	return n
}

func TestZSetMoveIsTheScriptOfTheDocument(t *testing.T) {
	const evaluated = "local elements = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1]) if #elements > 0 then " +
		"for i, element in ipairs(elements) do redis.call('LPUSH', KEYS[2], element) redis.call('ZREM', KEYS[1], element) end end return elements"
	require.Equal(t, evaluated, strings.Join(strings.Fields(zsetMove), " "))
}

// A LIST delivers in the order of offers, and a ZSET in the order of due times, and has a value once. No value is early, or left.
func TestOrderAndEqualValues(t *testing.T) {
	const soon, late = 50 * time.Millisecond, 300 * time.Millisecond
	for d, want := range map[Redis]string{{}: "same same long:1 short", {zset: true}: "short long:1 same"} {
		t.Run(d.Identity().String(), func(t *testing.T) {
			t.Parallel()
			q, keys, _ := queueOf(t, d)
			values, delays, sent := "same same long:1 short", []time.Duration{soon, late, soon, 0}, time.Now()
			if d.zset {
				require.NoError(t, q.Offer(t.Context(), []byte("same"), time.Hour))
				values, delays = "same long:1 short", delays[1:]
			}
			require.Equal(t, want, exchange(t, q, values, delays...))
			require.GreaterOrEqual(t, time.Since(sent), late-time.Millisecond) // due times are cut to whole milliseconds
			require.Zero(t, held(t, keys))
		})
	}
}

// The queue in memory looks for a message, and all queues close.
func TestPollsAndCloses(t *testing.T) {
	list, _, _ := queueOf(t, Redis{})
	zset, _, _ := queueOf(t, Redis{zset: true})
	memory := openMemory(t)
	require.NoError(t, memory.Offer(t.Context(), []byte("value"), 0))
	for _, want := range [][]byte{[]byte("value"), nil} {
		value, err := memory.Poll(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, value)
	}
	for _, q := range []driver.Queue{list, zset, memory} {
		ended, end := context.WithCancel(t.Context())
		end()
		_, err := q.Take(ended)
		require.ErrorIs(t, err, context.Canceled)
		took := make(chan error, 1)
		go func() {
			_, err := q.Take(t.Context())
			took <- err
		}()
		require.NoError(t, q.Close())
		require.NoError(t, q.Close())
		require.ErrorIs(t, <-took, driver.ErrClosed)
		require.ErrorIs(t, q.Offer(t.Context(), []byte("v"), 0), driver.ErrClosed)
	}
	_, err := memory.Poll(t.Context())
	require.ErrorIs(t, err, driver.ErrClosed)
}

// Messages that a process moved, but did not deliver, are held, and the next process that opens the queue delivers them.
func TestTheNextProcessTakesOverTheTempList(t *testing.T) {
	for _, d := range []Redis{{}, {zset: true}} {
		q, keys, url := queueOf(t, d)
		require.NoError(t, q.Offer(t.Context(), []byte("left"), 0))
		require.Eventually(t, func() bool {
			n, err := keys.Conn.Do(t.Context(), "LLEN", keys.Lists[len(keys.Lists)-1]).Int64()
			return err == nil && n == 1
		}, 10*time.Second, time.Millisecond)
		require.NoError(t, q.Close())
		require.EqualValues(t, 1, held(t, keys))
		next, err := d.Open(t.Context(), url, "orders")
		require.NoError(t, err)
		require.Equal(t, "left", exchange(t, next, "", 0))
		require.Zero(t, held(t, keys))
		require.NoError(t, next.Close())
	}
}

// All that is held is read, of more than a page, and cleared: of Redisson's keys too.
func TestKeysReadAndClear(t *testing.T) {
	const waiting, due = 700, 1300
	conn := redistest.Redis(t).Conn()
	defer conn.Close()
	for _, d := range []Driver{Redis{}, Redis{zset: true}, Program{Release: wire.Newest(), kind: library}} {
		keys, _ := KeysOf(d, conn, "q {1} ü")
		for i := range waiting + due {
			if keys.Set != "" && i < waiting {
				require.NoError(t, conn.Do(t.Context(), "ZADD", keys.Set, i, i).Err())
			} else {
				require.NoError(t, conn.Do(t.Context(), "RPUSH", keys.Lists[i%len(keys.Lists)], i).Err())
			}
		}
		seen := map[string]bool{}
		n, err := keys.Held(t.Context(), func(value []byte) { seen[string(value)] = true })
		require.NoError(t, err)
		require.EqualValues(t, waiting+due, n)
		require.Len(t, seen, waiting+due)
		require.NoError(t, keys.Clear(t.Context()))
		left, err := conn.Do(t.Context(), "KEYS", "*").StringSlice()
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("1728625236000:order:7")
	f.Add(":")
	f.Add("-1:")
	f.Fuzz(func(t *testing.T, element string) {
		due, value := Redis{}.read(element)
		if string(value) == element {
			return
		}
		again, same := Redis{}.read(fmt.Sprintf("%d:%s", due.UnixMilli(), value))
		require.Equal(t, due.UnixMilli(), again.UnixMilli())
		require.Equal(t, value, same)
	})
}
