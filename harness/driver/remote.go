package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
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
	p, err := r.Start(ctx, func(string) {}, nil)
	if err != nil {
		return nil, err
	}
	q, err := p.OpenQueue(ctx, target)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return q, nil
}

// OpenQueue opens a queue in the program by the ops open, dq.offer and q.take,
// with the codec "bytes" if it has one, else "string". Each offer and take is a
// round trip of the protocol, which is part of every figure. Closing the queue
// ends the program.
func (p *External) OpenQueue(ctx context.Context, target Target) (Queue, error) {
	for _, op := range []string{"open", "dq.offer", "q.take"} {
		if !p.Hello.Can(op) {
			return nil, fmt.Errorf("driver program %s has neither the op %s nor %s; PROTOCOL.md says what they do", p.name, LoadOp, op)
		}
	}
	q := &remoteQueue{program: p, codec: "bytes"}
	if !slices.Contains(p.Hello.Codecs, q.codec) {
		q.codec = "string"
	}
	answer, err := p.Call(ctx, "open", map[string]string{"redis": target.RedisURL, "queue": target.Queue, "codec": q.codec})
	if err != nil {
		return nil, err
	}
	var opened struct {
		Handle string `json:"handle"`
	}
	if err := json.Unmarshal(answer, &opened); err != nil || opened.Handle == "" {
		return nil, fmt.Errorf("driver program %s: expected a handle in answer to open, got %.120s", p.name, answer)
	}
	q.handle = opened.Handle
	return q, nil
}

// remoteQueue is a queue of an external program, an op for each call.
type remoteQueue struct {
	program       *External
	codec, handle string
}

// remoteValue is an element, of type bytes or string.
type remoteValue struct {
	Type  string          `json:"t"`
	Value json.RawMessage `json:"v"`
}

func (q *remoteQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	var content any = value // in base64
	if q.codec == "string" {
		content = string(value)
	}
	encoded, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("offer: %w", err)
	}
	_, err = q.program.Call(ctx, "dq.offer", map[string]any{
		"handle": q.handle, "value": remoteValue{q.codec, encoded}, "delay": delay.Milliseconds(),
	})
	return err
}

func (q *remoteQueue) Take(ctx context.Context) ([]byte, error) {
	answer, err := q.program.Call(ctx, "q.take", map[string]string{"handle": q.handle})
	if err != nil {
		return nil, err
	}
	var element remoteValue
	if err := json.Unmarshal(answer, &element); err != nil {
		return nil, fmt.Errorf("q.take: expected a value, got %.120s: %w", answer, err)
	}
	if element.Type == "string" {
		var text string
		err = json.Unmarshal(element.Value, &text)
		return []byte(text), err
	}
	var value []byte
	if err := json.Unmarshal(element.Value, &value); err != nil {
		return nil, fmt.Errorf("q.take: expected bytes in base64, got %.120s: %w", answer, err)
	}
	return value, nil
}

func (q *remoteQueue) Close() error { return q.program.Close() }
