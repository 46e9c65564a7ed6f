package server

import (
	"fmt"
	"strings"
	"time"
)

// transaction is what a client has queued since MULTI.
type transaction struct {
	queued [][]string
	dirty  bool
}

// endsTx are the commands that are not queued.
var endsTx = map[string]bool{"EXEC": true, "DISCARD": true, "MULTI": true, "WATCH": true, "QUIT": true}

// ownCommands are answered by this layer, so miniredis cannot judge their arguments.
var ownCommands = map[string]bool{"CLIENT": true, "CONFIG": true, "INFO": true, "MONITOR": true}

// enqueue queues a command if miniredis would queue it: a transaction of its
// own, never executed, finds unknown commands and wrong arguments.
func (e *embedded) enqueue(c *client, args []string) []byte {
	const queued = "+QUEUED\r\n"
	switch name := strings.ToUpper(args[0]); {
	case ownCommands[name]:
	case !e.srv.IsRegisteredCommand(name):
		c.tx.dirty = true
		return []byte(unknownCommand(args))
	default:
		if reply := e.aside(nil, []string{"MULTI"}, args); string(reply) != queued {
			c.tx.dirty = true
			return reply
		}
	}
	c.tx.queued = append(c.tx.queued, args)
	return []byte(queued)
}

// exec runs what is queued. Redis shows EXEC to monitors after the commands it ran.
func (e *embedded) exec(c *client, args []string) {
	start := time.Now()
	tx := c.tx
	defer func() {
		c.tx = nil
		e.feed(start, c, args)
	}()
	if tx.dirty {
		c.send([]byte("-EXECABORT Transaction discarded because of previous errors.\r\n"))
		return
	}
	// An empty transaction of the same connection reports whether a watched key has changed.
	if reply := e.aside(c.peer.Ctx, []string{"MULTI"}, []string{"EXEC"}); string(reply) == "*-1\r\n" {
		c.send([]byte(nullArray(c)))
		return
	}
	c.send(fmt.Appendf(nil, "*%d\r\n", len(tx.queued)))
	for _, a := range tx.queued {
		reply, _ := e.run(c, a)
		c.send(reply)
	}
}
