package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance/guest"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// surroundings are what a server that was started for the run has around it: a database of
// its own, replicas and sentinels, a Cluster.
type surroundings struct {
	// database is the one in which the cases run. Lines show it as the one that they were
	// recorded in, 0, and that one as it.
	database int
	// peers are the connections that were there before any of the run but its own: of replicas,
	// and of sentinels, which send commands.
	peers []string
	// cluster says that the server is a node of one.
	cluster bool
}

func surroundingsOf(ctx context.Context, conn redis.Conn, database int) (surroundings, error) {
	s := surroundings{database: database}
	var err error
	if s.cluster, err = inCluster(ctx, conn); err != nil {
		return s, err
	}
	own, err := infoOf(ctx, guest.On(conn))
	if err != nil {
		return s, err
	}
	list, err := conn.Do(ctx, "CLIENT", "LIST").Text()
	if err != nil {
		return s, err
	}
	for _, c := range guest.ParseClients(list) {
		if c.ID != own.ID {
			s.peers = append(s.peers, c.Addr)
		}
	}
	return s, nil
}

func inCluster(ctx context.Context, conn redis.Conn) (bool, error) {
	info, err := conn.Do(ctx, "INFO", "cluster").Text()
	if err != nil {
		return false, fmt.Errorf("asking whether the server is a node of a Cluster: %w", err)
	}
	return strings.Contains(info, "cluster_enabled:1"), nil
}

// later is how many of the connections in an answer to CLIENT LIST came after them. One that waits
// for replicas, until what it was for has ended, says nothing more.
func (s surroundings) later(list string) (n int) {
	for _, c := range guest.ParseClients(list) {
		if !slices.Contains(s.peers, c.Addr) && (len(s.peers) == 0 || c.Command != "wait") {
			n++
		}
	}
	return n
}

// killAmong ends connections of a type, but those of the surroundings: a sentinel would come back as
// somebody else.
func (r *Runner) killAmong(ctx context.Context, typed []string) error {
	r.hidden.mine("CLIENT", "LIST")
	list, err := r.control.Do(ctx, "CLIENT", "LIST", typed[0], typed[1]).Text()
	if err != nil {
		return &faultError{err}
	}
	for _, c := range guest.ParseClients(list) {
		if slices.Contains(r.around.peers, c.Addr) {
			continue
		}
		r.hidden.mine("CLIENT", "KILL")
		if err := r.control.Do(ctx, "CLIENT", "KILL", "ID", c.ID).Err(); err != nil {
			return &faultError{err}
		}
	}
	return nil
}

// linking are the hidden commands that servers of a set send each other.
var linking = []string{"replconf", "psync", "sync"}

// hide takes out of what is watched what the servers send each other.
func (s surroundings) hide(h *hidden) {
	if len(s.peers) == 0 && !s.cluster {
		return
	}
	for _, name := range linking {
		delete(h.names, name)
	}
}

// keep returns what keeps every line of a case, and no others: not those of the connection that
// the harness polls and marks with, except the marks, nor those that have to do with the
// surroundings.
func (s surroundings) keep(own string) func(monitor.Line) bool {
	of := allBut(own)
	return func(l monitor.Line) bool {
		if !of(l) || slices.Contains(s.peers, l.Peer) {
			return false
		}
		return l.Inner() || !s.follows(l)
	}
}

// follows reports whether a client sends a line to learn of a change of its set: it asks for
// the slots of a Cluster, or blocks until the connection to a master breaks.
func (s surroundings) follows(l monitor.Line) bool {
	switch l.Name() {
	case "cluster":
		return s.cluster && len(l.Args) == 2 && slices.Contains([]string{"slots", "shards", "nodes"}, strings.ToLower(l.Args[1]))
	case "wait":
		return len(s.peers) > 0
	}
	return false
}

// shown is a line as it would have been seen in database 0.
func (s surroundings) shown(l monitor.Line) monitor.Line {
	switch l.DB {
	case 0:
		l.DB = s.database
	case s.database:
		l.DB = 0
	}
	return l
}

// apart says why a Cluster refuses a case, or "": names that it uses are in different slots.
func (s surroundings) apart(c *Case) string {
	if !s.cluster {
		return ""
	}
	first := wire.Slot(c.Destination())
	for _, queue := range c.Queues() {
		n := wire.NamesOf(queue)
		for _, key := range []string{n.Destination, n.Pending, n.TimeoutSet} {
			if slot := wire.Slot(key); slot != first {
				return fmt.Sprintf("a Cluster has %q in slot %d and %q in slot %d, and a call has to keep to one", c.Destination(), first, key, slot)
			}
		}
	}
	return ""
}

// Queues are the destination queues that a case names, in order, its own among them.
func (c *Case) Queues() []string {
	queues := []string{c.Destination()}
	for _, s := range c.Steps {
		if s.Open != nil && s.Open.Queue != "" {
			queues = append(queues, s.Open.Queue)
		}
		for _, argument := range []string{"queue", "name", "queues"} {
			switch v := s.With[argument].(type) {
			case string:
				queues = append(queues, v)
			case []any:
				for _, name := range v {
					queues = append(queues, fmt.Sprint(name))
				}
			}
		}
	}
	for key := range c.Expect.Others {
		queues = append(queues, key)
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}
