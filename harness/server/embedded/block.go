package embedded

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"
)

var blockingPops = map[string]bool{"BLPOP": true, "BRPOP": true, "BRPOPLPUSH": true, "BLMOVE": true}

// waiter is a client blocked in a pop. Redis serves the longest waiting client
// first; miniredis would wake all and let chance decide, and could not be told
// to unblock one.
type waiter struct {
	client  *client
	args    []string
	timeout time.Duration // 0 is for ever
	reply   chan []byte   // gets one reply, after the waiter has left the list
}

// pop tries a blocking pop and gives a waiter where there is nothing to pop.
func (e *Server) pop(c *client, args []string) *waiter {
	timeout, err := popTimeout(args)
	if err != "" {
		c.peer.WriteError(err)
		return nil
	}
	if reply := e.tryPop(c, args); reply != nil {
		c.peer.WriteRaw(string(reply))
		return nil
	}
	if c.tx != nil { // inside EXEC nothing blocks
		c.peer.WriteRaw(nullArray(c))
		return nil
	}
	w := &waiter{client: c, args: args, timeout: timeout, reply: make(chan []byte, 1)}
	e.waiters = append(e.waiters, w)
	return w
}

// popTimeout reads the last argument; err is the text Redis refuses it with.
func popTimeout(args []string) (d time.Duration, err string) {
	if want := map[string]int{"BRPOPLPUSH": 4, "BLMOVE": 6}[strings.ToUpper(args[0])]; len(args) < 3 || want > 0 && len(args) != want {
		return 0, fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(args[0]))
	}
	seconds, e := strconv.ParseFloat(args[len(args)-1], 64)
	switch {
	case e != nil || math.IsNaN(seconds) || seconds > math.MaxInt64/1e9:
		return 0, "ERR timeout is not a float or out of range"
	case seconds < 0:
		return 0, "ERR timeout is negative"
	}
	return time.Duration(seconds * float64(time.Second)), ""
}

// tryPop is the pop without blocking; nil where every list is empty.
func (e *Server) tryPop(c *client, args []string) []byte {
	switch name := strings.ToUpper(args[0]); name {
	case "BRPOPLPUSH", "BLMOVE":
		return e.tryOne(c, append([]string{map[string]string{"BRPOPLPUSH": "RPOPLPUSH", "BLMOVE": "LMOVE"}[name]}, args[1:len(args)-1]...))
	default:
		for _, key := range args[1 : len(args)-1] {
			reply := e.tryOne(c, []string{name[1:], key})
			switch {
			case reply == nil:
			case reply[0] == '-':
				return reply
			default:
				return append(fmt.Appendf(nil, "*2\r\n$%d\r\n%s\r\n", len(key), key), reply...)
			}
		}
		return nil
	}
}

// tryOne gives the reply of a non-blocking pop, nil for the null reply.
func (e *Server) tryOne(c *client, args []string) []byte {
	reply := e.aside(c.peer.Ctx, args)
	if bytes.Equal(reply, []byte("$-1\r\n")) {
		return nil
	}
	return reply
}

// aside runs a command with a connection's state and gives its reply instead of sending it.
func (e *Server) aside(state any, args ...[]string) []byte {
	var buf bytes.Buffer
	p := mini.NewPeer(bufio.NewWriterSize(&buf, 512)) // most replies are short, and there is one for every look at a key
	p.Ctx = state
	for _, a := range args {
		buf.Reset()
		e.dispatch(p, a...)
	}
	return buf.Bytes()
}

// serveWaiters gives blocked clients what the last command left for them.
func (e *Server) serveWaiters() {
	e.waiters = slices.DeleteFunc(e.waiters, func(w *waiter) bool {
		reply := e.tryPop(w.client, w.args)
		if reply == nil {
			return false
		}
		if e.hooks.Ran != nil {
			e.hooks.Ran(w.client.addr, w.args, reply)
		}
		w.reply <- reply
		return true
	})
}

// await sends w's reply once there is one: an element, an unblocking, the
// timeout. A client that leaves stops waiting and takes nothing.
func (e *Server) await(c *client, w *waiter) {
	var expired <-chan time.Time
	if w.timeout > 0 {
		timer := time.NewTimer(w.timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case reply := <-w.reply:
		c.send(reply)
		return
	case <-expired:
	case <-c.gone:
	}
	e.mu.Lock()
	e.release(w, []byte(nullArray(c)))
	e.mu.Unlock()
	c.send(<-w.reply)
}

// release ends a wait with reply, unless it was served meanwhile.
func (e *Server) release(w *waiter, reply []byte) {
	if i := slices.Index(e.waiters, w); i >= 0 {
		e.waiters = slices.Delete(e.waiters, i, i+1)
		w.reply <- reply
	}
}

func nullArray(c *client) string {
	if c.peer.Resp3 {
		return "_\r\n"
	}
	return "*-1\r\n"
}
