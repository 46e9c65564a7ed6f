package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"
)

// disturbance is somebody who sets keys on $REDIS while dq-bench uses it.
type disturbance struct {
	stop context.CancelFunc
	done chan struct{}
	keys []string // by turns of database 0 and 3
	err  error
}

// occupy connects a client that stays.
func occupy(ts *testscript.TestScript, _ []string) {
	client := redis.NewClient(&redis.Options{Addr: ts.Getenv("REDIS_ADDR"), ClientName: "till-7"})
	ts.Check(client.Ping(context.Background()).Err())
	ts.Defer(func() { client.Close() })
}

// limit makes a user and is gone again.
func limit(ts *testscript.TestScript, args []string) {
	user := []any{"ACL", "SETUSER", "limited", "reset", "on", ">pw", "~*", "&*", "+@all"}
	for _, right := range args {
		user = append(user, right)
	}
	client := redis.NewClient(&redis.Options{Addr: ts.Getenv("REDIS_ADDR")})
	ts.Check(client.Do(context.Background(), user...).Err())
	ts.Check(client.Close())
	ts.Setenv("LIMITED", "redis://limited:pw@"+ts.Getenv("REDIS_ADDR"))
}

// disturb begins once there are keys, with a connection for each SET, and goes on until undisturb, which looks
// whether every key is still there.
func disturb(ts *testscript.TestScript, _ []string) {
	ctx, stop := context.WithCancel(context.Background())
	d := &disturbance{stop: stop, done: make(chan struct{})}
	addr := ts.Getenv("REDIS_ADDR")
	go func() {
		defer close(d.done)
		d.err = d.run(ctx, addr)
	}()
	ts.Defer(func() { stop(); <-d.done })
	disturbances[ts.Getenv("REDIS_ADDR")] = d
}

// disturbances are by server; scripts that run at once have servers of their own,
// and only one of them disturbs.
var disturbances = map[string]*disturbance{}

func (d *disturbance) run(ctx context.Context, addr string) error {
	for begun := false; !begun; time.Sleep(50 * time.Millisecond) { // who is always connected is a client beside the run
		probe := redis.NewClient(&redis.Options{Addr: addr})
		keyspace, err := probe.Info(ctx, "keyspace").Result()
		probe.Close()
		if err != nil {
			return err
		}
		begun = strings.Contains(keyspace, "keys=")
	}
	for ctx.Err() == nil {
		key := fmt.Sprintf("foreign:%d", len(d.keys))
		client := redis.NewClient(&redis.Options{Addr: addr, DB: len(d.keys) % 2 * 3})
		err := client.Set(context.WithoutCancel(ctx), key, "theirs", 0).Err()
		client.Close()
		if err != nil {
			return err
		}
		d.keys = append(d.keys, key)
		select {
		case <-time.After(rand.N(10 * time.Millisecond)):
		case <-ctx.Done():
		}
	}
	return nil
}

func undisturb(ts *testscript.TestScript, _ []string) {
	d := disturbances[ts.Getenv("REDIS_ADDR")]
	d.stop()
	<-d.done
	ts.Check(d.err)
	for i, key := range d.keys {
		client := redis.NewClient(&redis.Options{Addr: ts.Getenv("REDIS_ADDR"), DB: i % 2 * 3})
		value, err := client.Get(context.Background(), key).Result()
		client.Close()
		if err != nil || value != "theirs" {
			ts.Fatalf("%s of %d keys is gone: %v", key, len(d.keys), err)
		}
	}
	if len(d.keys) == 0 {
		ts.Fatalf("nothing was set")
	}
}
