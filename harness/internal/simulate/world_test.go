package simulate_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis/embedded"
)

var queue = dq.PartitionName("orders", 0)

const (
	// quietFor is how long nothing has gone wrong when no call has an excuse for failing.
	quietFor = 20 * time.Second
	// lateBy is what is late, soon how long a transfer may be late after a connection has broken, abandoned how much longer a pass
	// holds it up whose client has gone, and notSoon how long a connection may be dead: see "Faults" in the README of dq.
	lateBy, soon, abandoned, notSoon = 300 * time.Millisecond, time.Second, 2 * time.Second, 6 * time.Second
	// looksEvery is how often a Worker looks for the leases of others at least.
	looksEvery = 5 * time.Second
	// settleFor is how long after the last due time all must have come: the longest pause of DefaultBackoff, and a minute.
	settleFor = 6 * time.Minute
	// commandsPerSecond is what a run may send on average, ten times what any does.
	commandsPerSecond = 100
	// callTimeout bounds each call of a client.
	callTimeout = 20 * time.Second
	// noticed is the step of a clock that dq notices for certain: half a second, and a thousandth of
	// the seconds for which nobody has looked.
	noticed = time.Second
)

// Report is what came of a run.
type Report struct {
	Violations []string
	// Trace has every event and command, if it was asked for.
	Trace []string
	// Kinds counts what happened, and commands and events of each kind.
	Kinds map[string]int
}

// Options of a Run.
type Options struct {
	Trace bool
	// Script plants a fault in the server: see embedded.Hooks.
	Script func(body string) string
}

// world is one run.
type world struct {
	plan    Plan
	options Options
	began   time.Time
	net     *network
	server  *embedded.Server
	model   *model

	restarts sync.WaitGroup // that are under way

	mu       sync.Mutex
	report   Report
	clients  map[string]*client
	left     []*client         // in good order
	offers   map[string]string // message → "ok" or "?"
	cancels  map[string]string // message → "yes" if any removed it, else "no"
	asking   map[string]int    // cancels of a message that are under way, or have an unknown result
	taken    map[string]int
	tickets  map[string]string          // of messages
	expect   map[string]int64           // when a message is due at the earliest, Unix ms; 0 for not known
	excused  map[string]bool            // messages that may be handled again
	running  map[string]context.Context // of the handler that has a message
	calls    map[string]int             // of handlers, by id
	spans    map[string]time.Duration   // for how long a message is to wait
	wants    map[string]want            // what becomes of a delivery, by id and number
	takers   map[string]int             // consumers of a client
	refusing []refusing
	clearing int // Clears under way, or with an unknown result
	cleared  bool
	judged   time.Time     // when a transfer was last counted
	tardy    int           // late transfers in a row, as a stand-in makes them
	lastBad  time.Time     // when something last went wrong
	mayLag   time.Time     // until when a message may be late
	recovery time.Duration // of transfers, after a connection has broken
	traps    []Event
	tears    bool   // the script that runs next fails after its writes
	lack     string // what has the script that runs next fail
	ahead    []time.Duration
	lows     []Event                  // by how much, Span, the clock of a client may be behind from then on
	right    map[string]time.Duration // since when a client has said that its clock is right
	refuses  bool                     // the server refuses something
	lacks    bool                     // … so that a client takes it for lacking the command
	leaves   bool                     // the server is away for a time
	pure     bool                     // all members are of one layout
	stops    bool                     // a client may run only Redisson's scripts, which stop at a member of the other layout
	finished bool
	over     atomic.Bool // the plan, or it broke
	broken   int         // commands since the first violation
	flood    bool        // too many commands were sent, or enough after a violation
}

// Run carries a plan out. It must be called inside a testing/synctest bubble.
func Run(plan Plan, options Options) Report {
	w := &world{
		plan: plan, options: options, began: time.Now(), net: newNetwork(plan.Seed),
		clients: map[string]*client{}, offers: map[string]string{}, cancels: map[string]string{}, asking: map[string]int{}, taken: map[string]int{},
		tickets: map[string]string{}, expect: map[string]int64{}, excused: map[string]bool{}, running: map[string]context.Context{}, takers: map[string]int{},
		calls: map[string]int{}, right: map[string]time.Duration{}, spans: map[string]time.Duration{}, wants: map[string]want{},
	}
	w.report.Kinds = map[string]int{}
	w.model = &model{
		names: wire.NamesOf(queue), unlisting: scripts.UnlistingOf(queue), leases: scripts.LeaseNamesOf(queue), world: w,
		seen: map[string]*message{}, polls: map[string][]int{}, pending: map[string]int64{}, wrote: map[string]bool{}, failed: map[string]int{},
		leased: map[string]lease{}, settled: map[string]string{}, did: map[string]bool{}, buried: map[string]burial{}, overrun: map[string]time.Time{}, handed: map[string]time.Time{}, said: map[string]map[string]bool{}, alones: map[string]bool{}, staged: map[string]string{}, moved: map[string]time.Time{},
	}
	if w.recovery = soon; plan.Unlists {
		w.recovery += abandoned
	}
	server, err := embedded.Serve(w.net, embedded.Hooks{Script: w.script, Ran: w.model.ran, Answer: w.answer}, 0)
	if err != nil {
		w.violate("no server: %v", err)
		return w.report
	}
	w.server, w.model.server = server, server
	w.lastBad = w.began
	w.clocks()

	for _, e := range plan.Events {
		w.sleepUntil(w.began.Add(e.At))
		w.do(e)
	}
	w.settle()
	time.Sleep(time.Minute) // for handlers that outlived their Worker
	w.judge()

	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Kinds["lost with a taker's reply"] = len(w.net.lost)
	return w.report
}

// script is what the server runs for a script: with what is planted, and, where the plan says so, as if
// lists were a thousand times as long.
func (w *world) script(body string) string {
	if w.options.Script != nil {
		body = w.options.Script(body)
	}
	body = strings.Replace(body, "enough, far = count, 4 * 1024 * 1024", "enough, far = count, 12", 1) // bytes that a take hands out
	if w.plan.Unlists {
		body = eager.Replace(body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lack != "" {
		body = w.lack + strings.NewReplacer("redis.call(", "room(redis.call, ", "redis.pcall(", "room(redis.pcall, ", "redis.acl_check_cmd", "permits").Replace(body)
		w.lack = ""
	}
	if w.tears && strings.Contains(body, "'publish', KEYS[4]") {
		w.tears, w.model.silent = false, true
		body = strings.Replace(body, "'publish'", "'forbidden'", 1)
	}
	return body
}

// lack has a script fail at a command that needs what there is not: memory, unless it is behind one that frees some, or a right.
const lack = `local frees, needs, wrote = '%s', '%s', false
local function permits(name) return frees ~= '' or needs ~= ' ' .. name .. ' ' end
local function room(call, name, ...)
  if not wrote and string.find(needs, ' ' .. name .. ' ', 1, true) then
    local refusal = redis.error_reply("%s")
    if call == redis.pcall then return refusal end
    error(refusal)
  end
  wrote = wrote or string.find(frees, ' ' .. name .. ' ', 1, true) ~= nil
  return call(name, ...)
end
`

// eager makes few of the bounds of unlisting.
var eager = strings.NewReplacer(
	"local sample, near = 32, 1000", "local sample, near = 32, 1",
	"if length < least then", "if length < 2 then",
	"cost / 100), 1000), 30000)", "cost / 100), 10000), 30000)",
	"redis.call('zcount', T, first, last), #seen, far }", "400 * redis.call('zcount', T, first, last), #seen, far }",
	"token, horizon, count, lease, keep = ARGV[1], ARGV[2], tonumber(ARGV[3]),", "token, horizon, count, lease, keep = ARGV[1], ARGV[2], 2,",
	"local trail, reach = 16, 1000", "local trail, reach = 2, 4",
	"length < 10000 then", "length < 3 then", "length >= 10000 or not", "length >= 3 or not",
	"'maxlen', '1000')", "'maxlen', '1')",
	"math.floor(length / 16)", "math.floor(length / 2)",
)

// clocks finds by how much the clocks that clients go by are ever ahead: a step that dq notices
// is followed only if it leads nearer to the server's clock.
func (w *world) clocks() {
	shown, followed, low := map[string]time.Duration{}, map[string]time.Duration{}, map[string]time.Duration{}
	mayAsk := func(c string) bool {
		return !slices.ContainsFunc(w.plan.Events, func(e Event) bool {
			return e.Kind == Refuse && e.Client == c && (e.N > 1 || strings.HasPrefix(e.Text, "NOPERM"))
		})
	}
	w.refuses = slices.ContainsFunc(w.plan.Events, func(e Event) bool { return e.Kind == Refuse || e.Kind == Trap && e.N == refused })
	w.lacks = slices.ContainsFunc(w.plan.Events, func(e Event) bool {
		code, _, _ := strings.Cut(e.Text, " ")
		return e.Kind == Refuse && e.N != noTime && (slices.Contains([]string{"NOPERM", "CLUSTERDOWN", "TRYAGAIN", "MOVED"}, code) || strings.HasPrefix(e.Text, "ERR unknown"))
	})
	w.leaves = slices.ContainsFunc(w.plan.Events, func(e Event) bool { return e.Kind == Restart })
	w.pure = !slices.ContainsFunc(w.plan.Events, func(e Event) bool { return e.Kind == Foreign || e.Kind == Start && e.Text == "3.16.6" })
	w.stops = !w.pure && slices.ContainsFunc(w.plan.Events, func(e Event) bool { return e.Kind == Refuse && e.N != noTime && strings.HasPrefix(e.Text, "NOPERM") })
	w.ahead = []time.Duration{0}
	for _, e := range w.plan.Events {
		c := e.Client
		switch e.Kind {
		case Start:
			shown[c], followed[c], low[c] = e.Span, e.Span, e.Span
		case Step:
			shown[c] += e.Span
			if e.Span.Abs() <= noticed {
				followed[c] += max(e.Span, 0)
				low[c] += min(e.Span, 0)
			}
			if shown[c].Abs() < followed[c].Abs()+noticed || !mayAsk(c) || w.plan.Strict {
				followed[c] = max(followed[c], shown[c])
			}
			if shown[c].Abs() < low[c].Abs()+noticed || !mayAsk(c) || w.plan.Strict {
				low[c] = min(low[c], shown[c])
			}
		default:
			continue
		}
		w.ahead = append(w.ahead, followed[c])
		if shown[c] == 0 && e.Span.Abs() > noticed && !w.plan.Strict { // else its timers are not set anew
			followed[c], low[c] = 0, 0 // it is right again
		}
		w.lows = append(w.lows, Event{At: e.At, Client: c, Span: -low[c]})
	}
}

// behind is how much the clocks of the clients that are there may be behind, or were 12 s ago: it looks each 10 s.
func (w *world) behind() (most time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	by := map[string]time.Duration{}
	for _, low := range w.lows {
		now, right := time.Since(w.began), w.right[low.Client]
		switch {
		case low.At > now || low.At < right && now > right+lateBy:
		case low.At <= now-12*time.Second:
			by[low.Client] = low.Span
		default:
			by[low.Client] = max(by[low.Client], low.Span)
		}
	}
	for c := range w.clients {
		most = max(most, by[c])
	}
	return most
}

// aheadOf is the latest time that any client may hold now for.
func (w *world) aheadOf(now time.Time) time.Time { return now.Add(slices.Max(w.ahead)) }

// brokenCommands are how many commands run after a violation, for the trace.
const brokenCommands = 200

// noteCommand counts a command, and takes it into the trace: in words only if asked for, for that takes as long as the command.
func (w *world) noteCommand(client string, args []string, reply []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finished {
		return
	}
	w.strike(client, args, true)
	if w.report.Kinds["commands"]++; float64(w.report.Kinds["commands"]) > commandsPerSecond*(time.Since(w.began)+time.Minute).Seconds() && !w.flood {
		w.report.Violations = append(w.report.Violations, fmt.Sprintf("%s: a client sends command after command: %d so far", time.Since(w.began), w.report.Kinds["commands"]))
		w.broken = brokenCommands
	}
	if len(w.report.Violations) > 0 {
		w.broken++
	}
	if w.broken > brokenCommands && !w.flood {
		w.flood = true
		go w.net.setDown(true) // for good: at one instant it might never end
	}
	if w.options.Trace {
		w.trace("%-8s %s -> %.60q", client, show(args), reply)
	}
}

func (w *world) counts(kind string) { w.locked(func() { w.report.Kinds[kind]++ }) }

// trace adds a line to the trace, if it was asked for. Call with mu held.
func (w *world) trace(format string, args ...any) {
	if w.options.Trace && !w.finished {
		w.report.Trace = append(w.report.Trace, fmt.Sprintf("%-14s ", time.Since(w.began))+fmt.Sprintf(format, args...))
	}
}

func (w *world) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) violate(format string, args ...any) {
	w.locked(func() { w.violateLocked(format, args...) })
}

func (w *world) violateLocked(format string, args ...any) {
	if w.finished || len(w.report.Violations) >= 20 {
		return
	}
	text := fmt.Sprintf("%s: ", time.Since(w.began)) + fmt.Sprintf(format, args...)
	w.report.Violations = append(w.report.Violations, text)
	w.trace("VIOLATION %s", text)
}

func (w *world) mayBeCancelled(value string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clearing > 0 || w.asking[value] > 0 || w.cancels[value] == "yes"
}

// quiet reports whether nothing has gone wrong for long, and all clocks are right.
func (w *world) quiet() bool { return w.calm(quietFor) && w.steady() }

// calm reports whether nothing has gone wrong for so long.
func (w *world) calm(long time.Duration) bool {
	broke := w.net.lastBreak()
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.lastBad) > long && time.Since(broke) > long && w.transfers()
}

// soon reports whether what a client sends is answered, and has been for 5 s.
func (w *world) soon(c *client) bool {
	return w.calm(5*time.Second) && w.net.prompt(c.name, time.Now().Add(-5*time.Second))
}

// excuse has messages be late for that time and as long again as a recovery takes. Call with mu held.
func (w *world) excuse(span, recovery time.Duration) {
	w.mayLag = later(w.mayLag, time.Now().Add(span+recovery))
}

// prompt reports whether a message has no excuse for being late. A client that transfers knows of its own offers without hearing of them.
func (w *world) prompt(value string) bool {
	broke := w.net.lastBreak()
	w.mu.Lock()
	defer w.mu.Unlock()
	by := w.model.message(value).by
	return time.Now().After(w.mayLag) && time.Since(broke) > w.recovery && slices.ContainsFunc(slices.Collect(maps.Values(w.clients)), func(c *client) bool {
		return !c.idle && (time.Now().After(c.deaf) || c.name == by && !w.plan.Strict)
	})
}

// transfers reports whether any client does. Call with mu held.
func (w *world) transfers() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(w.clients)), func(c *client) bool { return !c.idle })
}

// steady reports whether all clocks show the same at all times.
func (w *world) steady() bool { return slices.Max(w.ahead) == slices.Min(w.ahead) }

// offered judges when a new member is due.
func (w *world) offered(value string, due int64) {
	w.mu.Lock()
	least, most := w.expect[value], time.Now().Add(w.spans[value]).UnixMilli()
	w.mu.Unlock()
	if least > 0 && least <= most && (due < least || due > most) && w.steady() { // else the clock was put right since
		w.violate("%s was offered to be due at %d, not from %d to %d", value, due, least, most)
	}
}

// transferred judges how late a message reached its queue.
func (w *world) transferred(value string, due, now time.Time) {
	most := lateBy + w.behind()
	if w.quiet() {
		most /= 5
	}
	if late := now.Sub(due); value[0] == 'm' && w.quiet() && w.prompt(value) && w.heard(value) && now.Sub(w.judged) > 100*time.Millisecond {
		if w.judged = now; late < 9*time.Millisecond {
			w.tardy = 0
		}
		if w.tardy++; w.tardy > 4 {
			w.violate("%s was transferred %s after it was due, as late as the %d before", value, late, w.tardy-1)
		}
	}
	if late := now.Sub(due); value[0] == 'm' && late > most && !w.stops && w.prompt(value) && w.heard(value) {
		w.violate("%s was transferred %s after it was due, though nothing had gone wrong", value, late)
	}
}

// bad says that something goes wrong for that time. Call with mu held.
func (w *world) bad(span time.Duration) {
	w.lastBad = later(w.lastBad, time.Now().Add(span))
}

// overdue judges what has not been transferred.
func (w *world) overdue() {
	calm := w.calm(quietFor)
	most := lateBy + w.behind()
	w.server.Exclusive(func() {
		for member, due := range w.model.pending {
			if late := time.Since(time.UnixMilli(due)); w.prompt(ending(member)) && due > 0 && ending(member)[0] == 'm' && late > most && !w.stops && w.heard(ending(member)) {
				w.violate("%s is overdue by %s, though nothing has gone wrong", ending(member), late)
			}
		}
		leases := w.model.scores(w.model.leases.Leases)
		alone := w.model.alone(leases)
		dead := w.model.scores(w.model.leases.Dead)
		for _, key := range []string{w.model.leases.Bodies, w.model.leases.Counts} {
			for i, field := range w.model.elements("HGETALL", key) {
				_, leased := leases[field[max(0, len(field)-20):]]
				if _, buried := dead[field[max(0, len(field)-20):]]; i%2 == 0 && !leased && !buried {
					w.violate("%s has %q, which is neither held nor dead", key, field)
				}
			}
		}
		for v, at := range w.model.moved {
			if w.calm(notSoon) && !alone && w.plan.Reliable && w.neglected(at, lease{w.model.staged[ending(v)], at, false}) {
				w.violate("%s was transferred %s ago, and a Worker has a place", ending(v), time.Since(at))
			}
		}
		for id, ends := range leases {
			if ctx := w.handling(w.model.held[id]); calm && ctx && time.Until(time.UnixMilli(ends)) < w.plan.Visibility/2 {
				w.violate("%s is in its handler, and its lease ends in %s", w.model.held[id], time.Until(time.UnixMilli(ends)))
			}
			if calm && !alone && w.neglected(time.UnixMilli(ends), w.model.leased[id]) {
				w.violate("%s is to be handed out for %s, and a Worker has a place", w.model.held[id], time.Since(time.UnixMilli(ends)))
			}
			over, lonely, long := time.Since(time.UnixMilli(ends)), w.model.lonely(id, ends), 6*w.plan.Visibility
			if calm && !lonely && (over > time.Minute && w.calm(time.Minute) && w.neglected(time.UnixMilli(ends), lease{}) || over > 35*time.Second && w.rests(35*time.Second, 0)) ||
				over > long && w.calm(long) && w.rests(long, 9) { // a tenth of its time a Worker waits for the others to end, and rests 5 leases after a fault
				w.violate("the lease of %s ended %s ago, and nobody has taken it up", w.model.held[id], over)
			}
		}
	})
}

// rests reports whether a Worker has had nothing to do for so long, and as many times as long as it was there before.
func (w *world) rests(long, times time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(slices.Collect(maps.Values(w.clients)), func(c *client) bool {
		return c.worker != nil && c.busy == 0 && time.Since(c.free) > long+times*c.free.Sub(c.began)
	})
}

// handling reports whether a message is in a handler whose context has not ended.
func (w *world) handling(value string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx := w.running[value]
	return ctx != nil && ctx.Err() == nil
}

// neglected reports whether a Worker with a place for what can be handed out from then on leaves it. A client knows of its
// own lease at once, of another's by its next look, and of what a dq has transferred at once.
func (w *world) neglected(from time.Time, l lease) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, c := range w.clients {
		known := l.at
		if name != l.by && l.by != "" {
			known = known.Add(looksEvery)
		}
		since := later(from, known, c.free)
		if c.worker != nil && c.busy < w.takers[name] && time.Since(since) > lateBy {
			return true
		}
	}
	return false
}

// heard reports whether a client that transfers knows of a message: its offer was announced, or the client made it.
func (w *world) heard(value string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	by := w.model.message(value).unheard
	c := w.clients[by]
	return by == "" || c != nil && !c.idle && !w.plan.Strict
}

// popped judges how long a message waited for a taker, of whom each is free at all times.
func (w *world) popped(value string, since time.Time) {
	if waited := time.Since(since); w.free() > 0 && waited > lateBy && w.quiet() {
		w.violate("%s waited %s for a taker, though nothing had gone wrong", value, waited)
	}
}

// stages judges that a Worker has messages staged only while it has a place for them.
func (w *world) stages(name, value string) {
	calm := w.calm(notSoon)
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.clients[name]; c != nil && (c.busy == c.most || c.alone) && calm && !w.lacks && time.Since(c.full) > lateBy && w.net.prompt(name, c.full) {
		w.violateLocked("%s is staged for %s, which has had no place for %s", value, name, time.Since(c.full))
	}
}

func (w *world) free() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.clients {
		n += w.takers[name]
	}
	return n
}

// ready returns the values in the destination, and those staged for a Worker.
func (w *world) ready() (all []string) {
	w.server.Exclusive(func() {
		all = append(w.model.elements("LRANGE", w.model.names.Destination, "0", "-1"), w.model.elements("LRANGE", w.model.leases.Staged, "0", "-1")...)
	})
	return all
}

// waiting is what waits on the server, with the due times.
func (w *world) waiting() (all map[string]int64) {
	w.server.Exclusive(func() {
		all = map[string]int64{}
		for member, due := range w.model.pending {
			all[ending(member)] = due
		}
	})
	return all
}

// settles reports whether the plan is over, and what is left is to be handled.
func (w *world) settles() bool { return w.over.Load() || time.Since(w.began) > w.plan.Length }

// refusing is an error that the server answers a client with.
type refusing struct {
	client string
	until  time.Time
	text   string
	which  int // N of the event
}

// writes are the commands of dq that a server refuses which has no room.
var writes = []string{"EVAL", "EVALSHA", "BLPOP", "BLMOVE", "LPOP", "LPUSH", "DEL"}

// answered are the commands of dq that a server answers whatever its state.
var answered = map[string][]string{
	"BUSY":       {"HELLO", "SUBSCRIBE", "UNSUBSCRIBE"},
	"LOADING":    {"HELLO", "SUBSCRIBE", "UNSUBSCRIBE", "CLIENT", "PUBLISH", "TIME"},
	"MASTERDOWN": {"HELLO", "SUBSCRIBE", "UNSUBSCRIBE", "CLIENT", "PUBLISH", "TIME"},
}

// answer returns the reply to a refused command, and to a command that the embedded server lacks.
func (w *world) answer(client string, args []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, _, _ := strings.Cut(client, ":")
	command := strings.ToUpper(args[0])
	switch {
	case command == "WAIT" && name == "c1" && w.model.wrote[client]: // whose offers find no replica
		w.model.wrote[client] = false
		return ":0\r\n"
	case command == "WAIT":
		return ":1\r\n"
	case command == "WAITAOF":
		return "*2\r\n:1\r\n:1\r\n"
	}
	if reply := w.strike(client, args, false); reply != "" {
		return reply
	}
	for _, r := range w.refusing {
		var refused bool
		switch code, _, _ := strings.Cut(r.text, " "); {
		case r.which > 1:
			refused = command == rights[r.which-2] || rights[r.which-2] > "a" && strings.HasPrefix(command, "EVAL") && momentOf(args) != "offer"
		case slices.Contains([]string{"OOM", "NOREPLICAS", "MISCONF", "READONLY"}, code):
			refused = slices.Contains(writes, command)
		default:
			refused = !slices.Contains(answered[code], command)
		}
		if r.which == 1 {
			refused = refused && command != "TIME" && crc32.ChecksumIEEE([]byte(strings.Join(args, " ")))%2 == 1
		}
		if refused && r.client == name && time.Now().Before(r.until) {
			text := r.text
			switch isScript := strings.HasPrefix(command, "EVAL"); {
			case isScript && strings.HasPrefix(text, "OOM"):
				w.lack = fmt.Sprintf(lack, " zrem hdel lrem ltrim srem del unlink ", " zadd hset hincrby rpush lpush sadd ", text)
				return ""
			case isScript && r.which > 1 && rights[r.which-2] > "a":
				w.lack = fmt.Sprintf(lack, "", " "+rights[r.which-2]+" ", text)
				return ""
			}
			if r.which < 2 && strings.HasPrefix(command, "EVAL") && slices.Contains([]string{"NOREPLICAS", "MISCONF", "READONLY"}, text[:strings.IndexByte(text, ' ')]) {
				text += " script: c04f7fc56f47093daaea1bdbaacf49c8c619f98e, on @user_script:1." // as its first write says
			}
			return "-" + text + "\r\n"
		}
	}
	return ""
}

func (w *world) do(e Event) {
	w.mu.Lock()
	w.trace("%s", e)
	c := w.clients[e.Client]
	if c == nil && slices.Contains([]Kind{Offer, Cancel, Reschedule, Poll, Look, Clear}, e.Kind) {
		if there := slices.Sorted(maps.Keys(w.clients)); len(there) > 0 {
			c = w.clients[there[0]]
		}
	}
	if slices.Contains(faults, e.Kind) || e.Kind == Lag || e.Kind == Hush {
		recovery, lasts := notSoon, e.Span
		kind := e.Kind
		if kind == Refuse && e.N == noTime {
			kind = Step
		}
		switch kind {
		case Step: // see behind
			recovery, lasts = 0, 0
		case Slow:
			w.bad(time.Minute) // at most
			recovery = time.Minute
		case Cut, LoseReplies, LoseRequests, Kill, Flush:
			recovery = w.recovery
		case Hang:
			recovery = w.recovery + e.Span
		case Hush:
			recovery = 0
			if c != nil { // as seldom as Redisson a strict client asks for a sign of life
				c.deaf = time.Now().Add(map[bool]time.Duration{false: notSoon, true: quietFor + notSoon}[w.plan.Strict])
			}
		}
		w.bad(lasts)
		w.net.hurt(e.Client, lasts)
		w.excuse(lasts, recovery)
		w.report.Kinds["faults"]++
	}
	takes := false
	for name := range w.clients {
		takes = takes || w.takers[name] > 0
	}
	if e.Kind == Start && (!w.transfers() || !takes) { // so that messages wait for it
		w.bad(0)
		w.excuse(0, w.recovery)
	}
	w.mu.Unlock()
	if c == nil && e.Client != "" && e.Kind != Start {
		return
	}
	switch e.Kind {
	case Start:
		w.start(e)
	case Stop: // which may take a minute, if handlers do
		w.restarts.Go(func() { w.leave(c) })
	case Offer:
		c.calls.Go(func() { w.offer(c, e) })
	case Cancel:
		c.calls.Go(func() { w.cancel(c, e) })
	case Reschedule:
		c.calls.Go(func() { w.reschedule(c, e) })
	case Poll:
		c.calls.Go(func() { w.poll(c, e) })
	case Look:
		c.calls.Go(func() { w.lookAt(c, e) })
	case Clear:
		c.calls.Go(func() { w.clear(c, e) })
	case Shut:
		w.shut(c)
	case Trap:
		w.locked(func() { w.traps = append(w.traps, e) })
	case Cut:
		w.net.each(e.Client, half(e, (*link).cut))
	case LoseReplies:
		w.net.each(e.Client, half(e, func(l *link) { l.set(func() { l.loseReply = true }) }))
	case LoseRequests:
		w.net.each(e.Client, half(e, func(l *link) { l.set(func() { l.loseHalf, l.several = true, e.N == 4 }) }))
	case Lag:
		w.net.excuse(e.Client, 10*time.Second)
		w.net.each(e.Client, func(l *link) { l.lag(e.Span) })
	case Hush:
		w.net.each(e.Client, func(l *link) { l.set(func() { w.hush(c, l) }) })
	case Kill:
		w.kill(c)
	case Stall:
		w.net.stall(e.Client, e.Span)
	case Slow:
		w.net.slowDown(e.Client, e.Span)
	case Hang:
		w.net.excuse(e.Client, e.Span+time.Second)
		w.net.hang(e.Client, e.Span)
	case Overrun:
		w.server.Exclusive(func() {
			for id := range w.model.scores(w.model.leases.Leases) {
				w.model.overrun[id], w.model.overrun[w.model.held[id]] = time.Now(), time.Now()
				w.model.elements("ZADD", w.model.leases.Leases, "1", id)
				w.locked(func() { w.excused[w.model.held[id]] = true })
			}
		})
	case Step:
		c.clock.step(e.Span)
	case Restart:
		w.net.setDown(true)
		w.server.Exclusive(func() { w.server.ForgetScripts() })
		w.restarts.Go(func() {
			time.Sleep(e.Span)
			w.net.setDown(false)
		})
	case Flush:
		w.server.Exclusive(func() {
			if w.model.forgets = e.N; e.N == 0 {
				w.server.ForgetScripts()
			}
		})
	case Refuse:
		w.locked(func() { w.refusing = append(w.refusing, refusing{e.Client, time.Now().Add(e.Span), e.Text, e.N}) })
	case Unblock:
		w.ask(func(server redis.Pipeliner) {
			for id := range 300 {
				server.ClientUnblockWithError(context.Background(), int64(id))
			}
		})
	case Foreign:
		due := float64(time.Now().UnixMilli())
		if e.N == 1 {
			due = -1
		}
		if e.N == 3 {
			due, e.Text = due+20_000, string(wire.LayoutBc0Lc0.Pack([8]byte([]byte(e.Text)), []byte(e.Text)))
		}
		w.ask(func(server redis.Pipeliner) {
			if e.N == 2 {
				server.RPush(context.Background(), queue, e.Text)
				return
			}
			server.Eval(context.Background(), "redis.call('rpush', KEYS[1], ARGV[1]) redis.call('zadd', KEYS[2], ARGV[2], ARGV[1])",
				[]string{w.model.names.Pending, w.model.names.TimeoutSet}, e.Text, due)
		})
	}
}

// hush judges that a client gives up a dead connection: in 6 s it asks the server, in 2 s that answers, and for 5 s a command does not end.
func (w *world) hush(c *client, l *link) {
	if l.hushed = l.listens || l.blocks && !w.plan.Strict; !l.hushed || w.plan.Strict || w.lacks {
		return // Redisson asks later, and a user may lack the right to end a command
	}
	since := time.Now().Add(1)
	time.AfterFunc(15*time.Second, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l.isOpen() && w.clients[c.name] == c && w.net.well(c.name, since) {
			w.violateLocked("a connection of %s has been dead for 15 s, and is still open", c.name)
		}
	})
}

// half spares half of the links, if the event says so.
func half(e Event, f func(*link)) func(*link) {
	return func(l *link) {
		if e.N%4 == 0 || e.N == 3 && l.listens || e.N < 3 && l.order%2 == uint64(e.N%2) {
			f(l)
		}
	}
}

// ask sends commands in one transaction, as an operator does; what comes of them does not matter.
func (w *world) ask(commands func(redis.Pipeliner)) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: w.net.dialer("operator"), MaxRetries: -1, DisableIdentity: true})
	w.restarts.Go(func() {
		_, _ = rdb.TxPipelined(context.Background(), func(p redis.Pipeliner) error { commands(p); return nil })
		_ = rdb.Close()
	})
}
