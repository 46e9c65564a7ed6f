package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// LoadOp is the capability, and the op, of a program that runs a whole plan by
// itself.
const LoadOp = "load"

// Remote is an external program as a driver: redisson:<version> or
// exec:<command line>. The load engine has it run the whole plan if it can.
type Remote struct{ Spec ProgramSpec }

// Identity returns what the --driver value tells. The program says more once it
// has started.
func (r Remote) Identity() Identity {
	if release, ok := r.Spec.Release(); ok {
		return Identity{Name: "redisson", Version: release.String()}
	}
	return Identity{Name: r.Spec.String()}
}

// Prepare makes Start quick. See ProgramSpec.Prepare.
func (r Remote) Prepare(ctx context.Context, progress func(string)) error {
	return r.Spec.Prepare(ctx, progress)
}

// Start starts the program. See ProgramSpec.Start.
func (r Remote) Start(ctx context.Context, progress func(string), log io.Writer) (*External, error) {
	p, err := r.Spec.Start(ctx, progress, log)
	if err != nil {
		return nil, err
	}
	external, ok := p.(*External)
	if !ok {
		return nil, errors.Join(fmt.Errorf("driver %s: expected a program of its own, got %T", r.Spec, p), p.Close())
	}
	return external, nil
}

// Open starts the program and opens a queue in it. Closing the queue ends the
// program.
func (r Remote) Open(ctx context.Context, target Target) (Queue, error) {
	queues, err := r.OpenMany(ctx, target, []string{target.Queue})
	if err != nil {
		return nil, err
	}
	return queues[0], nil
}

// OpenMany starts one program, and opens the queues on one client in it.
func (r Remote) OpenMany(ctx context.Context, target Target, names []string) ([]Queue, error) {
	p, err := r.Start(ctx, func(string) {}, nil)
	if err != nil {
		return nil, err
	}
	queues, err := p.OpenQueues(ctx, target, names)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return queues, nil
}

// Ops of the protocol that make a queue.
const (
	remoteOpen  = "open"
	remoteOffer = "dq.offer"
	remoteTake  = "q.take"
)

// remoteConnections is the least size of the program's connection pool: every
// take that waits holds one.
const remoteConnections = 256

// OpenQueues opens queues in the program by the ops open, dq.offer and q.take,
// with the codec "bytes" if it has that, else "string". Each call is a round trip
// of the protocol, which is part of every figure. Closing the last of the queues
// ends the program.
func (p *External) OpenQueues(ctx context.Context, target Target, names []string) ([]Queue, error) {
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
	queues := make([]Queue, 0, len(names))
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

// remoteQueue is a queue of an external program, an op for each call.
type remoteQueue struct {
	program       *External
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
