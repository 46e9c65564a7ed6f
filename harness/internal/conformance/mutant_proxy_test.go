package conformance

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// mutation changes one command of a client into the commands for the server. The reply
// to the last one is the client's; without commands the reply is nil. A mutation may keep
// state: calls for one run do not overlap.
type mutation func(command []string) [][]string

// mutantProxy stands between an implementation and its server and breaks the commands of
// the implementation:
//
//	implementation ──▶ proxy ──▶ pipe ── serve ──▶ server
type mutantProxy struct {
	url string
	to  atomic.Value // the server's host:port

	mu     sync.Mutex // one mutation at a time
	mutate mutation
}

func newMutantProxy(t *testing.T) *mutantProxy {
	t.Helper()
	m := &mutantProxy{}
	p, err := proxy.New(func(ctx context.Context) (net.Conn, error) {
		conn, err := proxy.To(m.to.Load().(string))(ctx)
		if err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			defer conn.Close()
			m.serve(far, conn)
		}()
		return near, nil
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	m.url = "redis://" + p.Addr
	return m
}

// use sets the mutation for all connections.
func (m *mutantProxy) use(mutate mutation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mutate = mutate
}

func (m *mutantProxy) apply(command []string) [][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mutate == nil {
		return [][]string{command}
	}
	return m.mutate(command)
}

// serve takes commands one by one and waits for their replies, until the connection
// subscribes: then the server sends at any time.
func (m *mutantProxy) serve(client, server net.Conn) {
	var raw bytes.Buffer // of one reply: the server sends the next one only when asked
	commands, replies := resp.NewReader(client, 0), resp.NewReader(io.TeeReader(server, &raw), 0)
	subscribed := false
	for {
		command, err := commands.ReadCommand()
		if err != nil || len(command) == 0 {
			return
		}
		out := m.apply(command)
		if !subscribed && strings.EqualFold(command[0], "SUBSCRIBE") {
			subscribed = true
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				io.Copy(client, server)
				client.Close()
			}()
			defer func() { server.Close(); <-ended }()
		}
		if len(out) == 0 {
			io.WriteString(client, "$-1\r\n")
			continue
		}
		for i, command := range out {
			if _, err := server.Write(resp.AppendCommand(nil, command...)); err != nil {
				return
			}
			if subscribed {
				continue
			}
			raw.Reset()
			if _, err := replies.Read(); err != nil {
				return
			}
			if i == len(out)-1 {
				client.Write(raw.Bytes())
			}
		}
	}
}
