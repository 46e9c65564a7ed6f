package conformance

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
)

const (
	callTimeout  = 15 * time.Second // bounds one call; a blocking one is asynchronous, with the case's time
	firstTimeout = 30 * time.Second // bounds the first calls: a JVM on a busy machine does everything slowly once
	waitTimeout  = 10 * time.Second // bounds a wait that names no time
	mainHandle   = "main"
)

// caseRun is a case under way.
type caseRun struct {
	*Runner
	c       *Case
	names   wire.Names
	handles map[string]handle
	clients map[string]string
	async   map[string]async
	fresh   []program.Program // further processes of the program
	found   Observation

	mu      sync.Mutex
	windows []window // of the offers so far
}

// handle is an opened queue: the program's name of it, and the program.
type handle struct {
	name  string
	owner program.Program
}

// async is a call that is not waited for.
type async struct {
	done   chan answer
	cancel context.CancelFunc
}

type answer struct {
	result json.RawMessage
	err    error
}

func (r *caseRun) steps(ctx context.Context) (failures []string, err error) {
	r.encode(ctx)
	opensMain := slices.ContainsFunc(r.c.Steps, func(s *Step) bool { return s.Open != nil && cmp.Or(s.Open.As, mainHandle) == mainHandle })
	if !opensMain {
		if err := r.open(ctx, &Open{}); err != nil {
			return asFailure("open", err, false)
		}
	}
	for i, s := range r.c.Steps {
		if err := r.step(ctx, s); err != nil {
			r.found.at, r.found.hurried = s, r.found.hurried || s.Call != "" && r.passed(r.c.Steps[:i])
			return asFailure(fmt.Sprintf("step %d (%s)", i+1, s.title()), err, r.named(s))
		}
	}
	return nil, nil
}

// encode has the program encode the case's values before the case begins: a JVM that loads a codec's classes within an
// offer would send the offer long after it has read its clock. The answers do not matter.
func (r *caseRun) encode(ctx context.Context) {
	if !r.hello.Can("codec.encode") || r.c.codec() == "string" {
		return
	}
	for _, s := range r.c.Steps {
		if value, ok := s.With["value"]; ok {
			params := map[string]any{"codec": r.c.codec(), "value": typed(value)}
			if r.c.ValueType != "" {
				params["valueType"] = r.c.ValueType
			}
			r.ask(ctx, r.program, "codec.encode", params)
		}
	}
}

// named reports whether a step is a call that the program names in answer to hello, with nothing but the arguments that each such call has.
func (r *caseRun) named(s *Step) bool {
	if s.Call == "" || !r.hello.Can(s.Call) || r.c.codec() != "string" {
		return false
	}
	given := []string{"value", "values", "delay", "name", "queue", "index", "ttl", "at"}
	return !slices.ContainsFunc(slices.Collect(maps.Keys(s.With)), func(argument string) bool { return !slices.Contains(given, argument) })
}

// absentError says that a program, or the server, lacks a means of a case.
type absentError struct{ error }

func (e *absentError) Unwrap() error { return e.error }

// asFailure separates faults of the harness, and means that the program says it lacks, from the program's behaviour. basic
// says that the program has named the operation, and that the step asks for nothing more: no overload, codec or option.
func asFailure(where string, err error, basic bool) ([]string, error) {
	switch {
	case errors.Is(err, errors.ErrUnsupported) && !basic, errors.As(err, new(*faultError)) && strings.Contains(err.Error(), "ERR unknown "):
		return nil, &absentError{fmt.Errorf("%s: it answers that it has no such thing: %w", where, err)}
	case errors.As(err, new(*faultError)):
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return []string{fmt.Sprintf("%s: %v", where, err)}, nil
}

func (s *Step) title() string {
	switch {
	case s.Await != "":
		return "await " + s.Await
	case s.Cancel != "":
		return "cancel " + s.Cancel
	case s.Open != nil:
		return "open"
	case s.Seed != nil:
		return "seed"
	case s.Wait != nil:
		return "wait"
	}
	return cmp.Or(s.Call, strings.Join(s.Redis, " "), "pause")
}

func (r *caseRun) step(ctx context.Context, s *Step) error {
	name := cmp.Or(s.Await, s.Cancel)
	under, ok := r.async[name]
	switch {
	case name != "" && !ok:
		return &faultError{fmt.Errorf("nothing is called %q: the case is wrong", name)}
	case s.Call != "" && s.Async != "":
		return r.callAsync(ctx, s)
	case s.Call != "":
		ctx, cancel := context.WithTimeout(ctx, r.patience())
		defer cancel()
		sent := r.between(ctx, s.Between)
		a := r.call(ctx, s)
		return cmp.Or(sent(), r.answered(ctx, s, a))
	case s.Await != "":
		return r.await(ctx, s, under)
	case s.Cancel != "":
		if h := r.c.history; h != nil {
			h.given = append(h.given, time.Now().Add(r.clock.ahead).UnixMicro())
		}
		under.cancel()
		return nil
	case s.Open != nil:
		return r.open(ctx, s.Open)
	case s.Redis != nil:
		return r.redis(ctx, s.Redis)
	case s.Seed != nil:
		return r.seed(ctx, s.Seed)
	case s.Wait != nil:
		return r.wait(ctx, s.Wait)
	case s.Hold > 0:
		for _, c := range r.senders.proxy.Conns(func(c *redis.ProxyConn) bool { return !c.Sent("SUBSCRIBE") }) {
			c.Set(redis.Fault{Delay: time.Duration(s.Hold)})
		}
		return nil
	}
	select {
	case <-time.After(time.Duration(s.Pause)):
		return nil
	case <-ctx.Done():
		return &faultError{ctx.Err()}
	}
}

func (r *caseRun) open(ctx context.Context, o *Open) error {
	ctx, cancel := context.WithTimeout(ctx, r.patience())
	defer cancel()
	options := maps.Clone(poolOptions)
	maps.Copy(options, r.c.Options)
	if r.c.Faithful && r.hello.Can("open(faithful)") {
		options["faithful"] = true
	}
	params := map[string]any{
		"redis": r.senders.url, "queue": cmp.Or(o.Queue, r.c.queue()), "codec": cmp.Or(o.Codec, r.c.codec()),
		"client": cmp.Or(o.Client, mainHandle), "delayed": !o.Plain, "options": options,
	}
	if r.c.ValueType != "" {
		params["valueType"] = r.c.ValueType
	}
	var before, subscribed int
	r.watch.look(func(lines []trace.Line) { before, subscribed = r.transfers(lines), r.subscriptions(lines) })
	client := cmp.Or(o.Client, mainHandle)
	_, again := r.clients[client]
	owner := r.program
	switch o.By {
	case "beside":
		owner = r.beside
	case "new":
		fresh, err := r.start(ctx)
		if err != nil {
			return r.fail(err)
		}
		owner, r.fresh = fresh, append(r.fresh, fresh)
	}
	result := r.ask(ctx, owner, "open", params)
	if result.err != nil {
		return result.err
	}
	var opened struct{ Handle, Client string }
	if err := json.Unmarshal(result.result, &opened); err != nil || opened.Handle == "" {
		return r.fail(fmt.Errorf("expected a handle in answer to open, got %.120s", result.result))
	}
	r.handles[cmp.Or(o.As, mainHandle)] = handle{opened.Handle, owner}
	r.clients[client] = opened.Client
	if o.Plain || o.Unattended || o.Queue != "" {
		return nil
	}
	if err := r.wait(ctx, &Wait{Transfers: before + 1}); err != nil || again || r.Level != Wire {
		return err
	}
	// A subscription may come after the transfer, and over TLS after a case that sends nothing has ended. That there is
	// none is for the comparison to say.
	late, cancel := context.WithTimeout(ctx, subscribeGrace)
	defer cancel()
	_ = r.watch.until(late, "a subscription", func(l []trace.Line) bool { return r.subscriptions(l) > subscribed })
	return nil
}

// subscribeGrace is for how long a case waits for the subscription that opening a queue makes.
const subscribeGrace = 500 * time.Millisecond

// subscriptions counts those to the queue's channel.
func (r *caseRun) subscriptions(lines []trace.Line) int {
	return count(lines, func(l trace.Line) bool { return l.Name() == "subscribe" && slices.Contains(l.Args, r.names.Channel) })
}

// poolOptions keep the program's pools small: every connection leaves lines in a recording that tell nothing about queues. 3.16.6 keeps
// some 24 connections all the same, and below 24 at most it may put a command behind a blocking one.
var poolOptions = map[string]any{"minIdleConnections": 1, "connections": 32, "threads": 4, "nettyThreads": 4}

// ask sends a request. What the program answers with is no fault; that it does not answer is one of the program.
func (r *caseRun) ask(ctx context.Context, of program.Program, op string, params any) answer {
	asking, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	deadline, _ := asking.Deadline()
	limit := time.Until(deadline)
	result, err := of.Call(asking, op, params)
	var remote *program.RemoteError
	switch {
	case errors.As(err, &remote) && remote.NeedsJava():
		err = &faultError{fmt.Errorf("driver %s %s: it needs a newer Java: set JAVA_HOME to one (%w)", r.hello.Name, r.hello.Version, err)}
	case err == nil, errors.As(err, &remote):
	case errors.Is(err, context.Canceled):
		err = &faultError{err}
	case errors.Is(err, context.DeadlineExceeded):
		err = r.fail(fmt.Errorf("%s was not answered within %s: %s", op, limit.Round(time.Second), noAnswer))
	default:
		err = r.fail(err)
	}
	return answer{result, err}
}

func (r *caseRun) call(ctx context.Context, s *Step) answer {
	params, err := callParams(s.With)
	if err != nil {
		return answer{err: &faultError{err}}
	}
	name := cmp.Or(s.Handle, mainHandle)
	handle, ok := r.handles[name]
	if !ok {
		return answer{err: &faultError{fmt.Errorf("no handle %q is open: the case is wrong", s.Handle)}}
	}
	if s.Call == "close" {
		delete(r.handles, name)
	}
	params["handle"] = handle.name
	answered := r.offering(params)
	a := r.ask(ctx, handle.owner, s.Call, params)
	answered(a.err)
	return a
}

func (r *caseRun) callAsync(ctx context.Context, s *Step) error {
	if _, taken := r.async[s.Async]; taken {
		return &faultError{fmt.Errorf("async %q is under way already: the case is wrong", s.Async)}
	}
	own, cancel := context.WithCancel(ctx)
	under := async{make(chan answer, 1), cancel}
	r.async[s.Async] = under
	go func() {
		defer cancel()
		a := r.call(own, s)
		if errors.Is(a.err, context.Canceled) && ctx.Err() == nil {
			a = answer{result: json.RawMessage(`"cancelled"`)}
		}
		under.done <- a
	}()
	return nil
}

func (r *caseRun) await(ctx context.Context, s *Step, under async) error {
	delete(r.async, s.Await)
	patience := r.patience()
	select {
	case a := <-under.done:
		return r.answered(ctx, s, a)
	case <-time.After(patience):
		return r.fail(fmt.Errorf("%s was not answered within %s: %s", s.Await, patience, noAnswer))
	case <-ctx.Done():
		return &faultError{ctx.Err()}
	}
}

// answered judges an answer, or puts the values of it, which are text, back.
func (r *caseRun) answered(ctx context.Context, s *Step, a answer) error {
	if h := r.c.history; h != nil {
		h.answers = append(h.answers, map[bool]string{true: "error", false: string(a.result)}[a.err != nil])
	}
	var values []*struct{ V string }
	err := s.judge(a)
	if !s.PutBack || json.Unmarshal([]byte("["+strings.Trim(string(a.result), "[]")+"]"), &values) != nil {
		return err // "cancelled" is no value
	}
	for _, v := range slices.Backward(values) {
		if v != nil {
			err = cmp.Or(err, r.redis(ctx, []string{"LPUSH", r.names.Destination, v.V}))
		}
	}
	return err
}

// between has a command sent before a call's second one that names the queue, or by the returned function.
func (r *caseRun) between(ctx context.Context, command []string) (after func() error) {
	commands, send := 0, sync.OnceValue(func() error { return r.redis(ctx, command) })
	if command == nil {
		return func() error { return nil }
	}
	r.senders.proxy.OnCommand(func(c *redis.ProxyConn, sent []string) redis.Verdict {
		if slices.Contains(sent, r.names.Destination) {
			if commands++; commands == 2 {
				_ = send() // after has the error
			}
		}
		return r.senders.note(c, sent)
	})
	return func() error { r.senders.proxy.OnCommand(r.senders.note); return send() }
}

// end closes the program's clients and waits until they are gone.
func (r *caseRun) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.patience())
	defer cancel()
	if r.beside != nil {
		if a := r.ask(ctx, r.beside, "close", map[string]any{}); a.err != nil {
			return &faultError{fmt.Errorf("closing the clients of the driver beside: %w", a.err)}
		}
	}
	if a := r.ask(ctx, r.program, "close", map[string]any{}); a.err != nil {
		return r.fail(fmt.Errorf("closing the program's clients: %w", a.err))
	}
	err := r.alone(ctx)
	if err != nil {
		r.senders.proxy.Reset()
		if err = r.fail(err); r.c.history != nil {
			return nil // after CLIENT KILL a Redisson keeps a connection at times: the next history has a new program
		}
	}
	return err
}

// What a case does to the server itself, beside the program under test.

func (r *caseRun) redis(ctx context.Context, command []string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if kills(command) {
		return r.kill(ctx, command[3])
	}
	args := make([]any, len(command))
	for i, a := range command {
		args[i] = a
	}
	if err := r.setUp.Do(ctx, args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
		return &faultError{err}
	}
	return nil
}

// seed writes members as an offer script does, but all at once and unannounced.
func (r *caseRun) seed(ctx context.Context, s *Seed) error {
	layout := r.release.Layout()
	if s.Foreign {
		layout = layout.Other()
	}
	values := s.Values
	for i := range s.Count {
		values = append(values, fmt.Sprintf("v%03d", i+1))
	}
	timeouts, pending := []any{"ZADD", r.names.TimeoutSet}, []any{"RPUSH", r.names.Pending}
	for i, v := range values {
		m := string(layout.Pack(seedID(layout, max(s.FirstID, 1)+i), []byte(v)))
		timeouts, pending = append(timeouts, s.Due+int64(i)*s.Step, m), append(pending, m)
	}
	commands := [][]any{timeouts, pending}
	switch s.Skip {
	case "timeouts":
		commands = commands[1:]
	case "pending":
		commands = commands[:1]
	}
	// At once: a transfer in between would make ghosts.
	if _, err := r.setUp.Multi(ctx, commands...); err != nil {
		return &faultError{err}
	}
	return nil
}

// seedID makes ids that are the same in every run and ascend byte by byte, so that members of equal due time have a known order.
func seedID(layout wire.Layout, n int) (id [8]byte) {
	if layout == wire.LayoutDLc0 {
		// From 2^53 on the doubles are two apart, so that n is the low end of the fraction, which comes first in memory.
		return wire.DoubleID(1<<53 + int64(n)*2)
	}
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

// key translates the words for the queue's keys.
func (r *caseRun) key(word string) string {
	switch word {
	case "destination":
		return r.names.Destination
	case "pending":
		return r.names.Pending
	case "timeouts":
		return r.names.TimeoutSet
	}
	return word
}
