package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/baseline"
)

// callsOnly is a driver program (PROTOCOL.md) for one queue in memory, which makes
// single calls and lacks the capability load.
func callsOnly() {
	queues, err := baseline.NewMemory().Open(context.Background(), driver.Target{}, "orders")
	if err != nil {
		panic(err)
	}
	p := callsProgram{queue: queues[0], out: json.NewEncoder(os.Stdout), cancels: map[uint64]context.CancelFunc{}}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var r callRequest
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		p.start(r)
	}
}

type callRequest struct {
	ID     uint64    `json:"id"`
	Op     string    `json:"op"`
	Value  callValue `json:"value"`
	Delay  int64     `json:"delay"` // ms
	Target uint64    `json:"target"`
}

type callValue struct {
	Type  string `json:"t"`
	Value []byte `json:"v"` // in base64
}

type callsProgram struct {
	queue driver.Queue

	mu      sync.Mutex
	out     *json.Encoder
	cancels map[uint64]context.CancelFunc
}

// start carries a request out beside the others. It can be cancelled at once.
func (p *callsProgram) start(r callRequest) {
	ctx, cancel := context.WithCancel(context.Background())
	p.mu.Lock()
	p.cancels[r.ID] = cancel
	p.mu.Unlock()
	go func() {
		result, err := p.do(ctx, r)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.cancels, r.ID)
		line := map[string]any{"id": r.ID, "ok": err == nil, "result": result}
		if err != nil {
			line["error"] = map[string]string{"class": "cancelled", "message": err.Error()}
		}
		_ = p.out.Encode(line) // a caller that is gone has closed stdin too
	}()
}

func (p *callsProgram) do(ctx context.Context, r callRequest) (any, error) {
	switch r.Op {
	case "hello":
		ops := []string{"hello", "open", "close", "cancel", "dq.offer", "q.take"}
		return map[string]any{"name": "calls-only", "version": "1", "protocol": 2, "capabilities": ops, "codecs": []string{"bytes"}}, nil
	case "open":
		return map[string]string{"handle": "handle-1", "client": "client-1"}, nil
	case "dq.offer":
		return nil, p.queue.Offer(ctx, r.Value.Value, time.Duration(r.Delay)*time.Millisecond)
	case "q.take":
		value, err := p.queue.Take(ctx)
		return callValue{"bytes", value}, err
	case "cancel":
		p.mu.Lock()
		defer p.mu.Unlock()
		cancel := p.cancels[r.Target]
		if cancel != nil {
			cancel()
		}
		return cancel != nil, nil
	}
	return nil, errors.New("no such op: " + r.Op)
}
