// Package guest keeps a run harmless on a server that it did not start.
//
// The server must hold no keys and no scripts, and have no other client. From then on MONITOR shows who sends what:
// once somebody else sends a command, or stays connected, the run stops and deletes nothing more. WATCH guards each
// deletion up to its last moment.
package guest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// ErrInUse says that another client uses the server, or that it holds something that another client may need.
var ErrInUse = errors.New("the server is in use")

// Do sends a command on one connection, always the same, and returns its reply. An error that the server replied with
// is a redis.Error.
type Do func(ctx context.Context, args ...string) (any, error)

// On sends on a Conn of one connection.
func On(conn redis.Conn) Do {
	return func(ctx context.Context, args ...string) (any, error) {
		anys := make([]any, len(args))
		for i, a := range args {
			anys[i] = a
		}
		reply, err := conn.Do(ctx, anys...).Result()
		if errors.Is(err, redis.Nil) {
			return nil, nil
		}
		return reply, err
	}
}

// refused tells an error reply from a connection that failed.
func refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// Guest is a run on such a server.
type Guest struct {
	// Do is the connection of the run that looks around and deletes.
	Do Do
	// Sync returns when MONITOR has shown all commands up to now.
	Sync func(context.Context) error
	// Connections is how many connections the run has while nothing is under way.
	Connections int

	mu      sync.Mutex
	strange string
}

// quiet are the commands of health checks and monitoring tools.
var quiet = []string{"ping", "echo", "hello", "auth", "select", "client", "quit", "reset", "info", "command", "time", "role", "dbsize", "memory", "replconf", "psync"}

// Note takes note of a line of MONITOR that the run did not send.
func (g *Guest) Note(l monitor.Line) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.strange == "" && !slices.Contains(quiet, l.Name()) {
		g.strange = strings.ToUpper(l.Name()) + " of " + l.Peer // no arguments: they may be secret
	}
}

// Disturbed returns ErrInUse once a stranger has sent a command.
func (g *Guest) Disturbed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.strange == "" {
		return nil
	}
	return inUse("got %s", g.strange)
}

func inUse(format string, args ...any) error {
	return fmt.Errorf("%w: %s; the run stops and deletes nothing more. Name an empty server that only you use, or let dq-bench start one: --redis process",
		ErrInUse, "expected no other client and no keys of others, "+fmt.Sprintf(format, args...))
}

// Admit makes sure that the server is empty and that the run is alone.
func (g *Guest) Admit(ctx context.Context) error {
	if err := g.Alone(ctx); err != nil {
		return err
	}
	for _, command := range [][]string{{"WATCH", "dq-bench"}, {"MULTI"}, {"DEL", "dq-bench"}, {"DISCARD"}} { // may it remove its keys?
		if _, err := g.Do(ctx, command...); err != nil {
			return fmt.Errorf("%s: %w", command[0], err)
		}
	}
	memory, err := g.Do(ctx, "INFO", "memory")
	if err != nil {
		return err
	}
	if m := scripts.FindStringSubmatch(fmt.Sprint(memory)); m != nil {
		return inUse("got %s cached scripts: if no client needs them, send SCRIPT FLUSH", m[1])
	}
	return g.each(ctx, func(db int, keys []string) error {
		return inUse("got the key %.80q in database %d: if an earlier run left it, redis-cli -n %d FLUSHDB removes all", keys[0], db, db)
	})
}

var (
	told     = regexp.MustCompile(`\b(?:addr|name|age|cmd)=\S+`)
	scripts  = regexp.MustCompile(`number_of_cached_scripts:([1-9]\d*)`)
	database = regexp.MustCompile(`(?m)^db(\d+):`)
)

// grace is how long another client may be connected: a health check is gone by then.
const grace = time.Second

// Alone returns ErrInUse where another client has sent a command or stays connected.
func (g *Guest) Alone(ctx context.Context) error {
	if err := g.Sync(ctx); err != nil {
		return err
	}
	until := time.Now().Add(grace)
	for {
		reply, err := g.Do(ctx, "CLIENT", "LIST")
		if refused(err) {
			break // other clients show by their commands alone
		}
		if err != nil {
			return err
		}
		list, _ := reply.(string)
		others := -g.Connections
		for line := range strings.Lines(list) {
			if !strings.Contains(line, " flags=S") && !strings.Contains(line, " flags=M") { // links within a set of servers
				others++
			}
		}
		if others <= 0 {
			break
		}
		if time.Now().After(until) {
			// The newest are the run's own.
			first, _, _ := strings.Cut(list, "\n")
			return inUse("got %d other clients, the first with %s", others, strings.Join(told.FindAllString(first, -1), " "))
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.Disturbed()
}

// Remove deletes all keys: the server was empty, and nobody else has come.
func (g *Guest) Remove(ctx context.Context) error {
	if err := g.Alone(ctx); err != nil {
		return err
	}
	return g.each(ctx, func(_ int, keys []string) error {
		if _, err := g.Do(ctx, append([]string{"WATCH"}, keys...)...); err != nil {
			return fmt.Errorf("WATCH: %w", err)
		}
		if err := errors.Join(g.Sync(ctx), g.Disturbed()); err != nil {
			return err
		}
		for _, command := range [][]string{{"MULTI"}, append([]string{"DEL"}, keys...)} {
			if _, err := g.Do(ctx, command...); err != nil {
				return fmt.Errorf("%s: %w", command[0], err)
			}
		}
		reply, err := g.Do(ctx, "EXEC")
		if err == nil && reply == nil {
			err = inUse("got a key that changed at this moment")
		}
		return err
	})
}

// each hands over the keys of each database that has some, the database selected.
func (g *Guest) each(ctx context.Context, visit func(db int, keys []string) error) error {
	keyspace, err := g.Do(ctx, "INFO", "keyspace")
	if err != nil {
		return err
	}
	for _, m := range database.FindAllStringSubmatch(fmt.Sprint(keyspace), -1) {
		db, _ := strconv.Atoi(m[1]) // digits, by the expression
		if _, err := g.Do(ctx, "SELECT", m[1]); err != nil {
			return err
		}
		var keys []string
		for cursor := ""; cursor != "0"; {
			reply, err := g.Do(ctx, "SCAN", max(cursor, "0"), "COUNT", "1000")
			page, ok := reply.([]any)
			if err != nil || !ok || len(page) != 2 {
				return fmt.Errorf("SCAN: got %.80v: %w", reply, err)
			}
			cursor, _ = page[0].(string)
			names, _ := page[1].([]any)
			for _, name := range names {
				keys = append(keys, fmt.Sprint(name))
			}
		}
		if len(keys) > 0 {
			err = visit(db, keys)
		}
		if _, selected := g.Do(ctx, "SELECT", "0"); err != nil || selected != nil {
			return errors.Join(err, selected)
		}
	}
	return nil
}
