package conformance

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// mutation changes one command of a client into what reaches the server instead.
// The reply to the last command is the client's; nil answers with nil without
// asking the server. A mutation may keep state: calls for one run do not overlap.
type mutation func(command []string) [][]string

// mutantProxy stands between an implementation and its server and breaks what the
// implementation sends.
type mutantProxy struct {
	listener net.Listener
	server   string

	mu     sync.Mutex // one mutation at a time
	mutate mutation
}

func newMutantProxy(t *testing.T, server string) *mutantProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &mutantProxy{listener: l, server: server}
	go p.accept()
	t.Cleanup(func() { l.Close() })
	return p
}

func (p *mutantProxy) url() string { return "redis://" + p.listener.Addr().String() }

// use sets the mutation for the connections to come and those there are.
func (p *mutantProxy) use(m mutation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mutate = m
}

func (p *mutantProxy) apply(command []string) [][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mutate == nil {
		return [][]string{command}
	}
	return p.mutate(command)
}

func (p *mutantProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		go func() {
			defer client.Close()
			defer server.Close()
			p.serve(client, server)
		}()
	}
}

// serve takes commands one by one and waits for their replies, until the
// connection subscribes: then the server speaks whenever it likes.
func (p *mutantProxy) serve(client, server net.Conn) {
	commands, replies := resp.NewReader(client, 0), bufio.NewReader(server)
	ended := make(chan struct{})
	subscribed := false
	for {
		command, err := commands.ReadCommand()
		if err != nil || len(command) == 0 {
			break
		}
		out := p.apply(command)
		if !subscribed && strings.EqualFold(command[0], "SUBSCRIBE") {
			subscribed = true
			go func() {
				defer close(ended)
				io.Copy(client, replies)
				client.Close()
			}()
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
			reply, err := readReply(replies)
			if err != nil {
				return
			}
			if i == len(out)-1 {
				client.Write(reply)
			}
		}
	}
	if subscribed {
		server.Close()
		<-ended
	}
}

// readReply returns one reply of RESP2 or RESP3, as it came.
func readReply(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	switch line[0] {
	case '$', '=', '!':
		if n < 0 {
			return line, nil
		}
		body := make([]byte, n+2)
		_, err := io.ReadFull(r, body)
		return append(line, body...), err
	case '%', '|':
		n *= 2
	case '*', '~', '>':
	default:
		return line, nil
	}
	for range n {
		element, err := readReply(r)
		if err != nil {
			return nil, err
		}
		line = append(line, element...)
	}
	return line, nil
}
