package dq_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// Close comes at a random moment, with takes, offers and transfers under way.
func TestFaultCloseAtAnyMoment(t *testing.T) {
	s := redistest.Redis(t)
	rdb := connect(t, s.URL())
	require.NoError(t, rdb.Ping(t.Context()).Err())
	noLeak := alone(t)
	var slowest time.Duration
	for range 30 {
		client, err := dq.NewClient(rdb)
		require.NoError(t, err)
		queue := dq.NewTaker(client, "orders", codec.String{})
		d := dq.NewSender(queue)
		var calls sync.WaitGroup
		for i := range 6 {
			calls.Go(func() { untilClosed(t, func() error { _, err := queue.Take(t.Context()); return err }) })
			calls.Go(func() {
				untilClosed(t, func() error {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*500*time.Microsecond)
					defer cancel()
					_, err := queue.Take(ctx)
					return err
				})
			})
			calls.Go(func() {
				untilClosed(t, func() error { return d.Offer(t.Context(), "v", time.Duration(i)*time.Millisecond) })
			})
		}
		calls.Go(func() {
			untilClosed(t, func() error {
				other := dq.NewSender(dq.NewTaker(client, "other", codec.String{}))
				defer other.Close()
				return other.Ready(t.Context())
			})
		})
		_ = pauseFor(t.Context(), time.Duration(rand.Int64N(int64(20*time.Millisecond))))
		began := time.Now()
		closeWithin(t, client, slack)
		slowest = max(slowest, time.Since(began))
		calls.Wait()
	}
	t.Logf("the slowest Close took %s", slowest)
	noLeak()
}

// untilClosed repeats a call until it says that the Client is closed.
func untilClosed(t *testing.T, call func() error) {
	for until := time.Now().Add(testDeadline); ; {
		err := call()
		if errors.Is(err, dq.ErrClosed) {
			return
		}
		if time.Now().After(until) {
			t.Errorf("expected ErrClosed, got %v", err)
			return
		}
	}
}

func TestFaultWrongArgumentsAreErrors(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	for _, none := range []redis.UniversalClient{nil, (*redis.Client)(nil), (*redis.ClusterClient)(nil)} {
		_, err := dq.NewClient(none)
		require.ErrorContains(t, err, "nil")
	}
	for _, zero := range []redis.UniversalClient{&redis.Client{}, &redis.ClusterClient{}} {
		_, err := dq.NewClient(zero)
		require.ErrorContains(t, err, "zero value")
	}
	_, err := dq.NewClient(rdb, nil)
	require.ErrorContains(t, err, "option 1 of 1 is nil")

	client, err := dq.NewClient(rdb)
	require.NoError(t, err)
	defer client.Close()
	requireRefused := func(want string, c *dq.Client, name string, values codec.Codec[string]) {
		t.Helper()
		q, err := dq.NewQueue(c, name, values)
		require.ErrorContains(t, err, want)
		require.Nil(t, q)
	}
	requireRefused("expected a Client, got nil", nil, "q", codec.String{})
	requireRefused("zero value", &dq.Client{}, "q", codec.String{})
	requireRefused("expected a codec, got nil", client, "q", nil)
	requireRefused("expected a name", client, "", codec.String{})
	for _, none := range []codec.Codec[string]{funcCodec(nil), mapCodec(nil), chanCodec(nil), (*codec.String)(nil)} {
		requireRefused(fmt.Sprintf("expected a codec, got a nil %T", none), client, "q", none)
	}
	away := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer away.Close()
	cluster, err := dq.NewClient(away)
	require.NoError(t, err)
	defer cluster.Close()
	for _, name := range []string{"{}", "}{", "a{b"} {
		requireRefused("must share a slot", cluster, name, codec.String{})
	}
	for _, zero := range []codec.Codec[string]{
		java.Jackson[string]{}, &java.Kryo5[string]{}, java.Marshalling[string]{}, java.Serialization[string]{}, wrapped{},
	} {
		requireRefused("zero value: make it with its constructor", client, "q", zero)
	}
}

// Codecs of kinds that may be nil, and one with a codec in it that is a zero value.
type (
	funcCodec func() codec.String
	mapCodec  map[string]codec.String
	chanCodec chan codec.String
	wrapped   struct{ java.Kryo5[string] }
)

func (c funcCodec) Encode(v string) ([]byte, error)    { return c().Encode(v) }
func (c funcCodec) Decode(data []byte) (string, error) { return c().Decode(data) }
func (c mapCodec) Encode(v string) ([]byte, error)     { return c[""].Encode(v) }
func (c mapCodec) Decode(data []byte) (string, error)  { return c[""].Decode(data) }
func (c chanCodec) Encode(v string) ([]byte, error)    { return (<-c).Encode(v) }
func (c chanCodec) Decode(data []byte) (string, error) { return (<-c).Decode(data) }

// logProgram names the variable under which the test below runs itself as a program.
const logProgram = "DQ_TEST_LOG_ADDR"

// A server that is away is no reason to write to stderr, which is what go-redis does with lines of its log.
func TestFaultNothingIsWrittenToStderr(t *testing.T) {
	t.Parallel()
	if addr := os.Getenv(logProgram); addr != "" {
		logWhileAway(t, addr)
		return
	}
	p := redistest.NewProxy(t, redistest.Redis(t).Addr)
	ctx := deadline(t)
	program := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestFaultNothingIsWrittenToStderr$")
	program.Env = append(os.Environ(), logProgram+"="+p.Addr)
	var stderr bytes.Buffer
	program.Stderr = &stderr
	require.NoError(t, program.Start())
	_, err := p.Wait(ctx, waiting("BLPOP"))
	require.NoError(t, err)
	p.Refuse()
	p.Reset()
	<-time.After(500 * time.Millisecond)
	p.Heal()
	p.Set(proxy.Fault{Stall: true}, nil)
	p.Reset()
	<-time.After(500 * time.Millisecond)
	p.Heal()
	p.Reset()
	require.NoError(t, program.Wait())
	require.Empty(t, stderr.String())
}

// logWhileAway is the program: it uses a server that goes away and comes back.
func logWhileAway(t *testing.T, addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	client, err := dq.NewClient(rdb)
	require.NoError(t, err)
	defer client.Close()
	queue := dq.NewTaker(client, "orders", codec.String{})
	d := dq.NewSender(queue)
	ctx := deadline(t)
	require.NoError(t, d.Ready(ctx))
	for range 4 {
		ctx, cancel := context.WithTimeout(ctx, 600*time.Millisecond)
		_, _ = takeLoop(ctx, queue)
		cancel()
		_ = d.Offer(t.Context(), "v", time.Hour)
	}
}
