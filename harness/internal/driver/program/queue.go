package program

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// Ops of the protocol that make a queue.
const (
	remoteOpen  = "open"
	remoteOffer = "dq.offer"
	remoteTake  = "q.take"
)

// remoteConnections is the least size of the program's connection pool: every
// take that waits holds one.
const remoteConnections = 256

// Open opens queues in the program by the ops open, dq.offer and q.take, with the
// codec "bytes" if it has that, else "string". Each call is a round trip of the
// protocol, which is part of every figure. Closing the last of the queues ends the
// program.
func (p *Process) Open(ctx context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	for _, op := range []string{remoteOpen, remoteOffer, remoteTake} {
		if !p.Hello.Can(op) {
			return nil, fmt.Errorf("driver program %s lacks the op %s, and %s is not what is asked of it; PROTOCOL.md says what they do", p.name, op, LoadOp)
		}
	}
	codec := "bytes"
	if !p.Hello.HasCodec(codec) {
		codec = "string"
	}
	var users atomic.Int64
	users.Store(int64(len(names)))
	request := map[string]any{
		"redis": target.RedisURL, "codec": codec, "client": "load",
		"options": map[string]int{"connections": remoteConnections + len(names)},
	}
	queues := make([]driver.Queue, 0, len(names))
	for _, name := range names {
		request["queue"] = name
		answer, err := p.Call(ctx, remoteOpen, request)
		if err != nil {
			return nil, err
		}
		var opened struct {
			Handle string `json:"handle"`
		}
		if err := json.Unmarshal(answer, &opened); err != nil || opened.Handle == "" {
			return nil, fmt.Errorf("driver program %s: expected a handle in answer to open, got %.120s", p.name, answer)
		}
		queues = append(queues, &remoteQueue{program: p, codec: codec, handle: opened.Handle, users: &users})
	}
	return queues, nil
}

// Store looks at the keys of Redisson's format, which a program of another kind may
// not use.
func (p *Process) Store(client redis.UniversalClient, name string) driver.Store {
	return driver.Keys{Client: client, Queue: name}
}

// remoteQueue is a queue of an external program, an op for each call.
type remoteQueue struct {
	program       *Process
	codec, handle string
	users         *atomic.Int64 // queues of the program that are not closed
	closing       sync.Once
}

// Close ends the program with its last queue.
func (q *remoteQueue) Close() (err error) {
	q.closing.Do(func() {
		if q.users.Add(-1) == 0 {
			err = q.program.Close()
		}
	})
	return err
}
