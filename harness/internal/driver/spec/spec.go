// Package spec reads --driver values.
//
// It starts programs of the driver protocol, and has the drivers of this program: dq is the library, as a port of the protocol;
// Memory needs no server and shows the price of one; Redis is the two designs of document 001 that Redisson's queue is compared
// with. Keys are the messages of a driver on a server.
package spec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Forms lists the --driver values, for help texts and errors; programForms has the values of verify.
const (
	Forms        = "dq[:release][,faithful] | redisson:<version> | memory | redis-list | redis-zset | exec:<command line>"
	programForms = "dq[:release][,faithful] | redisson:<version> | exec:<command line>"
)

// Driver is named by a --driver value.
type Driver interface {
	Identity() driver.Identity
	// Serve answers requests of the driver protocol until in ends. A program that runs elsewhere fails.
	Serve(in io.Reader, out io.Writer) error
}

// Parse reads a --driver value. Nothing is started; the error is wrong usage.
func Parse(spec string) (Driver, error) {
	for _, d := range []Driver{Memory{}, Redis{}, Redis{zset: true}} {
		if spec == d.Identity().Name {
			return d, nil
		}
	}
	return parse(spec, Forms)
}

// ParseProgram reads a --driver value that verify can judge. Nothing is started, and the error is wrong usage.
func ParseProgram(spec string) (Program, error) { return parse(spec, programForms) }

func parse(spec, forms string) (p Program, err error) {
	plain, faithful := strings.CutSuffix(spec, ",faithful")
	name, rest, named := strings.Cut(plain, ":")
	p = Program{text: spec, kind: name}
	switch name {
	case library:
		p.Release, p.faithful = wire.Newest(), faithful
		if named {
			p.Release, err = wire.LookupRelease(rest)
		}
	case "redisson":
		p.Release, err = wire.ParseRelease(strings.TrimPrefix(spec, "redisson:"))
	case exec:
		if p.command = strings.TrimPrefix(spec, "exec:"); strings.TrimSpace(p.command) == "" {
			err = errors.New("expected a command line behind \"exec:\"")
		}
	default:
		names := strings.FieldsFunc(forms, func(r rune) bool { return strings.ContainsRune(" |:[]<>,", r) })
		err = fmt.Errorf("expected %s%s", forms, text.DidYouMean(name, names))
	}
	if err != nil {
		return Program{}, fmt.Errorf("--driver %q: %w", spec, err)
	}
	return p, nil
}

const library, exec = "dq", "exec"

// Program is a --driver value that names a program of the op protocol: the dq library, Redisson, or a command.
type Program struct {
	// Release is the Redisson release of dq and of Redisson, in the catalogue or not. A program of exec names its own.
	Release wire.Release
	// Shipped has Start give dq as people deploy it, which reads members of both layouts unless it is faithful. Without it, clients of dq send
	// Redisson's commands and nothing else, for a judgement by the rules of Redisson.
	Shipped bool

	text, kind string
	faithful   bool
	command    string // of exec
}

// Identity is the name and version of the --driver value. A program that has started has its own.
func (p Program) Identity() driver.Identity {
	if p.kind == exec {
		return driver.Identity{Name: p.text}
	}
	version := p.Release.String()
	if p.faithful {
		version += ",faithful"
	}
	return driver.Identity{Name: p.kind, Version: version}
}

// IsLibrary reports whether it is dq.
func (p Program) IsLibrary() bool { return p.kind == library }

// String returns the value as it was given.
func (p Program) String() string { return p.text }

// Notice names the release that replaces a Redisson that the catalogue lacks; it is empty for every other driver.
func (p Program) Notice() string {
	if p.kind != "redisson" || wire.ClosestKnown(p.Release) == p.Release {
		return ""
	}
	return fmt.Sprintf("Redisson %s is not in the catalogue: %s, the nearest that is, stands for it", p.Release, wire.ClosestKnown(p.Release))
}

// NamesRelease reports whether the value names a release: a dq without one means the newest.
func (p Program) NamesRelease() bool { return p.kind != exec && strings.Contains(p.text, ":") }

// Start starts the program; dq is one in this process. progress gets lines about the Redisson driver's build on first use; log,
// which may be nil, gets the process's stderr.
func (p Program) Start(ctx context.Context, progress func(string), log io.Writer) (*program.Link, error) {
	switch p.kind {
	case library:
		return program.Local(ctx, p.Identity().String(), portOf(p).Serve)
	case exec:
		return program.Start(ctx, p.command, program.Shell(p.command), log)
	}
	command, err := p.Command(ctx, progress)
	if err != nil {
		return nil, err
	}
	return program.Start(ctx, p.text, command, log)
}

// Command is the command line of a Redisson, which is built on first use; every other driver is refused.
func (p Program) Command(ctx context.Context, progress func(string)) ([]string, error) {
	if p.kind != "redisson" {
		return nil, fmt.Errorf("driver %s: expected redisson:<version>", p)
	}
	return redisson.Build(ctx, p.Release, progress)
}

// Keys are the keys of one queue on a server. Messages move from the set to the lists, and from a list to the next one.
type Keys struct {
	Conn  redis.Conn
	Queue string
	Set   string // a sorted set; an empty name is of no key
	Lists []string
	Other string // a key without messages of its own, or an empty name
}

// KeysOf returns the keys of a driver's queue, without any I/O; false for a driver that keeps no messages on a server. A program may
// have others, and lists its messages itself. A message that is only in Redisson's pending list is never delivered, and is not held.
func KeysOf(d Driver, conn redis.Conn, queue string) (Keys, bool) {
	switch d := d.(type) {
	case Redis:
		if d.zset {
			return Keys{Conn: conn, Queue: queue, Set: queue, Lists: []string{queue + tempSuffix}}, true
		}
		return Keys{Conn: conn, Queue: queue, Lists: []string{queue, queue + tempSuffix}}, true
	case Program:
		names := wire.NamesOf(queue)
		return Keys{Conn: conn, Queue: queue, Set: names.TimeoutSet, Lists: []string{names.Destination}, Other: names.Pending}, true
	}
	return Keys{}, false
}

// pageSize is how many values one command reads.
const pageSize = 1000

// Held adds the lengths of the set and the lists. Unless each is nil, it then reads them in the order in which messages move: a
// message that moves meanwhile is seen at least once.
func (k Keys) Held(ctx context.Context, each func(value []byte)) (held int64, err error) {
	held, err = k.Conn.Do(ctx, "ZCARD", k.Set).Int64()
	for i := 0; i < len(k.Lists) && err == nil; i++ {
		var n int64
		n, err = k.Conn.Do(ctx, "LLEN", k.Lists[i]).Int64()
		held += n
	}
	if err != nil {
		return 0, fmt.Errorf("length of queue %q: %w", k.Queue, err)
	}
	if each == nil {
		return held, nil
	}
	for cursor, more := "0", true; more; more = cursor != "0" {
		members, next, err := redis.Page(k.Conn.Do(ctx, "ZSCAN", k.Set, cursor, "COUNT", pageSize))
		if err != nil {
			return 0, fmt.Errorf("read the sorted set %q: %w", k.Set, err)
		}
		for i := 0; i < len(members); i += 2 { // members and scores take turns
			each([]byte(members[i]))
		}
		cursor = next
	}
	for _, list := range k.Lists {
		for start, read := 0, pageSize; read == pageSize; start += pageSize {
			values, err := k.Conn.Do(ctx, "LRANGE", list, start, start+pageSize-1).StringSlice()
			if err != nil {
				return 0, fmt.Errorf("read the list %q: %w", list, err)
			}
			for _, value := range values {
				each([]byte(value))
			}
			read = len(values)
		}
	}
	return held, nil
}

// Clear deletes the keys.
func (k Keys) Clear(ctx context.Context) error {
	for _, key := range slices.Concat(k.Lists, []string{k.Set, k.Other}) {
		if err := k.Conn.Do(ctx, "DEL", key).Err(); err != nil {
			return fmt.Errorf("delete %q: %w", key, err)
		}
	}
	return nil
}
