package main

import (
	"context"
	"errors"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// The topologies have dq keep its word wherever Redis runs, as real processes on 127.0.0.1: they account for the
// messages of a load during which a master is killed, a slot moves or all servers restart. make topologies, in some
// minutes, writes a section of docs/results.md, and fails where a message is lost that Redis itself did not lose. The
// first redis-server or valkey-server on PATH runs all; others, named by DQ_REDIS_SERVERS, run alone, under
// Sentinel and as a Cluster.

// Kind is a way in which servers stand together, and in which a client reaches them.
type Kind struct {
	Name string
	// Everywhere says that it is worth while on each version of a server.
	Everywhere bool

	start func(ctx context.Context, path string) (*Topology, error)
}

// Kinds are all there are, in the order of a report. The rules are those that Rules gives.
func Kinds(rules []string) []Kind {
	return []Kind{
		{"one server", true, by(goredis.Options{Protocol: 3})},
		{"RESP2", false, by(goredis.Options{Protocol: 2})},
		{"database 5", false, by(goredis.Options{DB: 5})},
		{"Unix socket", false, socket},
		{"TLS", false, secured},
		{"ACL", true, restricted(rules)},
		{"replicas", false, replicated},
		{"Sentinel", true, watched},
		{"Cluster", true, clustered},
	}
}

// Unfit says why servers of a version, as "7.0.15", cannot be started so, or "".
func (k Kind) Unfit(version string) string {
	if k.Name == "Cluster" && strings.HasPrefix(version, "6.") {
		return "the harness forms a Cluster by settings that Redis has since 7.0"
	}
	return ""
}

// Topology is servers that run.
type Topology struct {
	Version string // of the servers
	// Faults are what may happen to them, one after the other.
	Faults []Fault

	// kept is the name of the queue that is taken from reliably.
	kept string
	// dial gives a client as a service would have it.
	dial    func() goredis.UniversalClient
	closers []func() error
}

// Close stops the servers and removes their files.
func (t *Topology) Close() error {
	var errs []error
	for _, c := range t.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// Fault is something that happens to servers under load.
type Fault struct {
	Name string
	// Loses is what Redis itself may lose by it.
	Loses Loss

	do func(ctx context.Context) error
}

// Loss is what Redis itself may lose.
type Loss int

const (
	// Nothing is lost of what was acknowledged.
	Nothing Loss = iota
	// Popped is what was popped for a consumer whose connection broke: a Take hands it over at
	// most once. What was reserved comes again.
	Popped
	// Unreplicated is that, and what a master acknowledged and its successor never got, for
	// replication does not wait; what it had given out comes again.
	Unreplicated
)
