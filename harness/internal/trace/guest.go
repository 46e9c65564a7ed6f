package trace

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// ErrServerInUse says that another client uses the server, or that the server holds data of another client.
var ErrServerInUse = errors.New("the server is in use")

// Guest keeps a run harmless on a server that the run did not start. The server must hold no keys and no scripts, and have no other client.
// From then on MONITOR shows each sender: once another client sends a command, or stays connected, the run stops and deletes nothing more.
type Guest struct {
	// Conn is the connection of the run that looks around and deletes, always the same.
	Conn redis.Conn
	// Sync returns when MONITOR has shown all commands up to now.
	Sync func(context.Context) error
	// Connections is how many connections the run has while nothing is under way, MONITOR among them.
	Connections int
	// Mine reports, on a server without MONITOR, and perhaps without INFO, whether the run may have made a key: other clients show
	// by their keys and in CLIENT LIST only. It is nil on other servers.
	Mine func(key string) bool

	mu       sync.Mutex
	stranger string
}

// quiet are the commands of health checks and monitoring tools.
var quiet = strings.Fields("ping echo hello auth select client quit reset info command time role dbsize memory replconf psync")

// Note takes a line of MONITOR that the run did not send.
func (g *Guest) Note(l Line) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stranger == "" && !slices.Contains(quiet, l.Name()) {
		g.stranger = strings.ToUpper(l.Name()) + " of " + l.Peer // no arguments: they may be secret
	}
}

// Disturbed returns ErrServerInUse once a stranger has sent a command.
func (g *Guest) Disturbed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stranger == "" {
		return nil
	}
	return inUse("got %s", g.stranger)
}

func inUse(format string, args ...any) error {
	return fmt.Errorf("%w: expected no other client and no keys of others, "+format+
		"; the run stops and deletes nothing more. Name an empty server that only you use, or let dq-bench start one: --redis process",
		append([]any{ErrServerInUse}, args...)...)
}

// Admit makes sure that the server is empty, that the run is alone, and that it may delete its keys.
func (g *Guest) Admit(ctx context.Context) error {
	if err := g.Alone(ctx); err != nil {
		return err
	}
	memory, err := g.info(ctx, "memory")
	if err != nil {
		return err
	}
	if m := scripts.FindStringSubmatch(memory); m != nil {
		return inUse("got %s cached scripts: if no client needs them, send SCRIPT FLUSH", m[1])
	}
	err = g.each(ctx, func(db string, keys []string) error {
		return inUse("got the key %.80q in database %s: if an earlier run left it, redis-cli -n %s FLUSHDB removes all", keys[0], db, db)
	})
	if err == nil {
		err = g.Conn.Do(ctx, "DEL", "dq-bench").Err()
	}
	return err
}

var (
	shown    = regexp.MustCompile(`\b(?:addr|name|age|cmd)=\S+`)
	scripts  = regexp.MustCompile(`number_of_cached_scripts:([1-9]\d*)`)
	database = regexp.MustCompile(`(?m)^db(\d+):`)
)

// grace is how long another client may be connected: a health check is gone by then.
const grace = time.Second

// Alone returns ErrServerInUse if another client has sent a command or stays connected.
func (g *Guest) Alone(ctx context.Context) error {
	if err := g.Sync(ctx); err != nil {
		return err
	}
	for until := time.Now().Add(grace); ; time.Sleep(5 * time.Millisecond) {
		list, err := g.Conn.Do(ctx, "CLIENT", "LIST").Text()
		if errors.As(err, new(redis.Error)) {
			break // only their commands show other clients
		}
		if err != nil {
			return err
		}
		others := -g.Connections
		if g.Mine != nil {
			others++
		}
		for line := range strings.Lines(list) {
			if !strings.Contains(line, " flags=S") && !strings.Contains(line, " flags=M") { // links within a set of servers
				others++
			}
		}
		if others <= 0 {
			break
		}
		if time.Now().After(until) {
			first, _, _ := strings.Cut(list, "\n") // the newest are the run's own
			return inUse("got %d other clients, the first with %s", others, strings.Join(shown.FindAllString(first, -1), " "))
		}
	}
	return g.Disturbed()
}

// info is a section of INFO. A server without INFO has one database.
func (g *Guest) info(ctx context.Context, section string) (string, error) {
	text, err := g.Conn.Do(ctx, "INFO", section).Text()
	if g.Mine != nil && errors.As(err, new(redis.Error)) {
		return "db0:", nil
	}
	return text, err
}

// Remove deletes all keys: the server was empty, and no other client has come. A key that another client changes after the look stays.
func (g *Guest) Remove(ctx context.Context) error {
	if err := g.Alone(ctx); err != nil {
		return err
	}
	return g.each(ctx, func(_ string, keys []string) error {
		args := []any{"WATCH"}
		for _, key := range keys {
			if g.Mine != nil && !g.Mine(key) {
				return inUse("got the key %.80q", key)
			}
			args = append(args, key)
		}
		if err := errors.Join(g.Conn.Do(ctx, args...).Err(), g.Alone(ctx)); err != nil {
			return err
		}
		_, err := g.Conn.Multi(ctx, append([]any{"DEL"}, args[1:]...))
		if errors.Is(err, redis.ErrChanged) {
			return inUse("another client changed a key")
		}
		return err
	})
}

// each visits the keys of each database that has some, the database selected.
func (g *Guest) each(ctx context.Context, visit func(db string, keys []string) error) error {
	keyspace, err := g.info(ctx, "keyspace")
	for _, m := range database.FindAllStringSubmatch(keyspace, -1) {
		if err := g.Conn.Do(ctx, "SELECT", m[1]).Err(); err != nil {
			return err
		}
		var keys []string
		for cursor := ""; cursor != "0"; {
			page, next, err := redis.Page(g.Conn.Do(ctx, "SCAN", max(cursor, "0"), "COUNT", "1000"))
			if err != nil {
				return err
			}
			keys, cursor = append(keys, page...), next
		}
		if len(keys) > 0 {
			err = visit(m[1], keys)
		}
		if err = errors.Join(err, g.Conn.Do(ctx, "SELECT", "0").Err()); err != nil {
			return err
		}
	}
	return err
}
