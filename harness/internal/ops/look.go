package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Schema names the form of a Look.
const Schema = "dq-bench/doctor/v1"

// LookOptions set a Doctor.
type LookOptions struct {
	Queues   []string      // in the long form; empty: all queues of the server, in a line each
	Release  *wire.Release // of the services; nil if unknown
	Redact   bool          // show no values
	Wait     time.Duration // before the second look at delivered values
	Flags    []string      // of the address, for the commands that findings name
	Address  string        // for people, who see no password
	Progress *Progress     // of the long form
}

// Look is the state of the queues of one server or cluster.
type Look struct {
	Schema   string    `json:"schema"`
	At       time.Time `json:"at"` // by the server's clock
	Server   Server    `json:"server"`
	Release  string    `json:"release,omitempty"`
	Red      int       `json:"red"`
	Yellow   int       `json:"yellow"`
	Findings []Finding `json:"findings"`          // about the server
	Queues   []*Queue  `json:"queues"`            // in order of their gravest finding, and then of their names
	Unseen   []string  `json:"unseen"`            // commands that the server refused, with the missing right
	Partial  string    `json:"partial,omitempty"` // why queues are missing

	visits  sync.Mutex // one at a time to the nodes of a Cluster
	flags   []string
	at      redis.Address
	release *wire.Release
	slow    map[string]time.Duration // by destination
}

// Server is a server as INFO describes it.
type Server struct {
	Product   string   `json:"product"`
	Version   string   `json:"version"`
	Address   string   `json:"address"`
	Role      string   `json:"role"`
	Database  int      `json:"database"`
	Databases []string `json:"other_databases,omitempty"` // with keys
	Master    string   `json:"master,omitempty"`          // of a replica
}

// Queue is the state of one queue.
type Queue struct {
	Name  string `json:"-"` // any bytes
	Text  string `json:"name"`
	Bytes []byte `json:"name_base64,omitempty"` // of a name that is no text
	State State  `json:"state"`

	Waiting      int64            `json:"waiting"` // in the timeout set
	Listed       int64            `json:"listed"`  // in the pending list
	Ready        int64            `json:"ready"`   // delivered, and not taken
	Overdue      int64            `json:"overdue"` // for more than a second
	OldestMS     int64            `json:"oldest_overdue_ms,omitempty"`
	NextMS       int64            `json:"next_due_ms,omitempty"` // from now on; Unix ms
	Ahead        int64            `json:"ahead"`                 // taken ahead by a guard
	Leased       int64            `json:"leased"`                // by Workers of dq
	Dead         int64            `json:"dead"`                  // dead letters of Workers
	Aside        int64            `json:"set_aside"`
	Listeners    int64            `json:"listeners"`           // -1 if unknown
	StillSeconds float64          `json:"ready_still_seconds"` // for how long the first delivered value has not moved; 0 if it moves
	Layouts      map[string]int64 `json:"layouts"`             // of the members that were read
	Findings     []Finding        `json:"findings"`
	Census       *Census          `json:"census,omitempty"` // of the long form

	names  wire.Names
	known  bool // a key of it is there, or a client has it open
	first  string
	since  time.Time // of first
	alike  bool      // the first values are equal
	wrong  []string  // keys of another type
	twin   int64     // values in the list of the twin
	ghosts int64     // that the list has more than the set
	far    bool      // due members are far from the head of a long list

	head, last, aheadDue, leaseDue, leaseLast float64 // the first and last due times; 0 without one
}

// Doctor looks at queues again and again, and remembers the values that did not move.
type Doctor struct {
	conn    redis.Conn
	options LookOptions
	still   map[string]*Queue // of the last look
}

// NewDoctor returns a Doctor.
func NewDoctor(conn redis.Conn, o LookOptions) *Doctor {
	return &Doctor{conn: redis.Within(conn, lookLimit), options: o, still: map[string]*Queue{}}
}

const (
	lookLimit    = 5 * time.Second // of each round trip
	stillFor     = 30 * time.Second
	overdueAfter = time.Second // Redisson's timers tick every 100 ms
	atOnce       = 200         // queues in a pipeline
	glanced      = 10          // members of a queue
	maxGlance    = 32 << 20    // bytes in a pipeline, about
)

// Look looks once. It fails if the server cannot be reached; refused commands are Unseen.
func (d *Doctor) Look(ctx context.Context) (*Look, error) {
	l := &Look{Schema: Schema, Findings: []Finding{}, Queues: []*Queue{}, Unseen: []string{}, flags: d.options.Flags, release: d.options.Release}
	if l.release != nil {
		l.Release = l.release.String()
	}
	limit, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	at, err := redis.Time(limit, d.conn)
	if l.refused("TIME", "+time", err) {
		at = time.Now()
	} else if err != nil {
		return nil, fmt.Errorf("TIME: %w", err)
	}
	l.At = at.UTC()
	l.server(limit, d.conn, d.options.Address)
	if limit.Err() != nil { // else each further command waits as long
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("no answer within %v: %w", lookLimit, limit.Err()))
	}
	names := d.options.Queues
	if len(names) == 0 {
		scan, cancel := context.WithTimeout(ctx, 4*lookLimit)
		names, err = Queues(scan, d.conn, slices.Collect(maps.Keys(d.still))...) // whose last message may be delivered
		cancel()
		if err != nil {
			err = fmt.Errorf("%w%s", err, map[bool]string{false: "; a queue that is named needs no SCAN: dq-bench doctor QUEUE"}[redis.HasErrorPrefix(err, "LOADING")])
			if l.Partial = err.Error(); len(names) == 0 {
				return nil, err
			}
		}
	}
	if err := d.glances(ctx, l, names); err != nil {
		if ctx.Err() == nil && len(l.Queues) == 0 {
			return nil, err
		}
		l.Partial = fmt.Sprintf("%d of %d queues were looked at: %v", len(l.Queues), len(names), cmp.Or(ctx.Err(), err))
	}
	if len(l.Queues) == 0 && len(names) > 0 && ctx.Err() == nil {
		return nil, fmt.Errorf("no queue can be seen: %s", strings.Join(l.Unseen, "; "))
	}
	l.Queues = slices.DeleteFunc(l.Queues, func(q *Queue) bool { return !q.known && len(d.options.Queues) == 0 })
	if err := d.again(ctx, l); err != nil && ctx.Err() == nil {
		l.Partial = cmp.Or(l.Partial, err.Error())
	}
	if len(d.options.Queues) > 0 {
		for _, q := range l.Queues {
			if err := d.census(ctx, l, q); err != nil {
				return nil, fmt.Errorf("queue %q: %w", q.Name, cmp.Or(ctx.Err(), err))
			}
		}
	}
	l.judge()
	return l, nil
}

// refused notes a refused command, and reports whether it was.
func (l *Look) refused(command, right string, err error) bool {
	if err == nil || !redis.HasErrorPrefix(err, "NOPERM") && !strings.Contains(err.Error(), "unknown command") && !strings.Contains(err.Error(), "unknown subcommand") {
		return false
	}
	if line := command + " is refused; the right is " + right; !slices.Contains(l.Unseen, line) {
		l.Unseen = append(l.Unseen, line)
	}
	return true
}

// glances reads queues in pipelines of a bounded size: the server says how large the members are, or they count as small.
func (d *Doctor) glances(ctx context.Context, l *Look, names []string) error {
	for part := range slices.Chunk(names, atOnce) {
		var calls [][]any
		for _, name := range part {
			set := wire.NamesOf(name).TimeoutSet
			calls = append(calls, []any{"MEMORY", "USAGE", set}, []any{"ZCARD", set}, []any{"MEMORY", "USAGE", name}, []any{"LLEN", name})
		}
		replies, err := d.conn.Pipe(ctx, calls...)
		if ctx.Err() != nil || err != nil && !errors.As(err, new(redis.Error)) { // silence, which each further command would meet
			return errors.Join(err, ctx.Err())
		}
		l.refused("MEMORY USAGE", "+memory|usage", replies[0].Err())
		first, size, most := 0, int64(0), int64(glanced)
		for i := range part {
			mean := int64(0)
			for j := 4 * i; j < 4*i+4; j += 2 {
				bytes, _ := replies[j].Int64()
				n, _ := replies[j+1].Int64()
				mean = max(mean, bytes/max(n, 1))
			}
			if i > first && size+2*glanced*mean > maxGlance {
				if err := d.glance(ctx, l, part[first:i], most); err != nil {
					return err
				}
				first, size, most = i, 0, glanced
			}
			size, most = size+2*glanced*mean, min(most, max(1, maxGlance/2/max(mean, 1)))
		}
		if err := d.glance(ctx, l, part[first:], most); err != nil {
			return err
		}
	}
	return nil
}

// glance reads some queues in one pipeline, with at most so many members of the timeout set each.
func (d *Doctor) glance(ctx context.Context, l *Look, names []string, most int64) error {
	late := strconv.FormatInt(l.At.Add(-overdueAfter).UnixMilli(), 10)
	var calls [][]any
	for _, name := range names {
		n, leases := wire.NamesOf(name), scripts.LeaseNamesOf(name)
		calls = append(calls,
			[]any{"ZCARD", n.TimeoutSet}, []any{"LLEN", n.Pending}, []any{"LLEN", name},
			[]any{"ZCOUNT", n.TimeoutSet, "0", late}, []any{"ZRANGE", n.TimeoutSet, 0, most - 1, "WITHSCORES"}, []any{"ZRANGE", n.TimeoutSet, -1, -1, "WITHSCORES"},
			[]any{"LRANGE", n.Pending, -max(most/2, 1), -1}, []any{"LRANGE", name, 0, 1},
			[]any{"ZRANGE", AheadKey(name), 0, 0, "WITHSCORES"}, []any{"ZRANGE", leases.Leases, 0, 0, "WITHSCORES"}, []any{"ZCARD", leases.Dead},
			[]any{"ZCARD", scripts.Quarantine(name)}, []any{"ZCARD", AheadKey(name)}, []any{"ZCARD", leases.Leases},
			[]any{"ZRANGE", leases.Leases, -1, -1, "WITHSCORES"}, []any{"LLEN", cmp.Or(twin(name), n.Pending)})
	}
	each, before := len(calls)/len(names), len(l.Queues)
	replies, err := d.conn.Pipe(ctx, calls...)
	if ctx.Err() != nil || len(replies) < len(calls) {
		return errors.Join(err, ctx.Err())
	}
queues:
	for i, name := range names {
		n := wire.NamesOf(name)
		q := &Queue{Name: name, Text: text.Valid(name), names: n, Listeners: -1, Layouts: map[string]int64{}, Findings: []Finding{}}
		if q.Text != name {
			q.Bytes = []byte(name)
		}
		r := replies[i*each : (i+1)*each]
		for j, reply := range r[:each-1] { // there may be no right to the twin
			key, err := fmt.Sprint(reply.Args()[1]), reply.Err()
			switch refused := redis.HasErrorPrefix(err, "NOPERM"); {
			case redis.HasErrorPrefix(err, "WRONGTYPE") && !slices.Contains(q.wrong, key):
				q.wrong = append(q.wrong, key)
			case j < 2 && refused && len(d.options.Queues) == 0: // others may be seen
				l.Unseen = append(l.Unseen, "queue "+text.Line(name)+": "+err.Error())
				continue queues
			case err != nil && (j < 2 || j == 2 && !refused): // without the list it sees what waits
				return fmt.Errorf("%s: %w", key, err)
			}
			l.refused(fmt.Sprint(reply.Args()[0]), "+@read, and each key of a queue", err)
		}
		slices.Sort(q.wrong)
		for j, into := range map[int]*int64{0: &q.Waiting, 1: &q.Listed, 2: &q.Ready, 3: &q.Overdue, 10: &q.Dead, 11: &q.Aside, 12: &q.Ahead, 13: &q.Leased, 15: &q.twin} {
			*into, _ = r[j].Int64()
		}
		members, _ := redis.Scores(r[4])
		tail, _ := r[6].StringSlice()
		if q.Listed > q.Waiting && len(q.wrong) == 0 { // ghosts, or an offer between two replies
			asked := [][]any{{"ZCARD", n.TimeoutSet}, {"LLEN", n.Pending}}
			for _, member := range tail {
				asked = append(asked, []any{"ZSCORE", n.TimeoutSet, member})
			}
			same, _ := d.conn.Multi(ctx, asked...)
			for i, reply := range slices.Backward(same) {
				if count, _ := reply.Int64(); i < 2 {
					q.ghosts += count * int64(2*i-1)
				} else if errors.Is(reply.Err(), redis.Nil) {
					tail = slices.Delete(tail, i-2, i-1)
				}
			}
		}
		now, met := l.At.UnixMilli(), int64(0)
		for _, z := range slices.Backward(members) {
			tail = append(tail, z.Member)
			switch due := int64(z.Score); {
			case due > now:
				q.NextMS = due
			case due >= 0:
				q.OldestMS = now - due
				if now-due > overdueAfter.Milliseconds() {
					met++
				}
			}
		}
		q.Overdue = max(q.Overdue, met) // there may be no right to ZCOUNT
		slices.Sort(tail)
		for _, member := range slices.Compact(tail) {
			name := "unreadable"
			if at := layoutOf(member); at != 0 {
				name = at.String()
			}
			q.Layouts[name]++
		}
		first, _ := r[7].StringSlice() // the script reports a key of another type
		q.first, q.alike = strings.Join(first, "\x00"), len(first) == 2 && first[0] == first[1]
		for j, into := range map[int]*float64{4: &q.head, 5: &q.last, 8: &q.aheadDue, 9: &q.leaseDue, 14: &q.leaseLast} {
			if first, err := redis.Scores(r[j]); err == nil && len(first) > 0 {
				*into = first[0].Score
			}
		}
		q.known = q.Waiting+q.Listed+q.Ready+q.Ahead+q.Leased+q.Dead+q.Aside > 0 || len(q.wrong) > 1 || len(q.wrong) == 1 && q.wrong[0] != name
		l.Queues = append(l.Queues, q)
	}
	return d.listeners(ctx, l, l.Queues[before:])
}

// listeners asks how many clients listen to each channel.
func (d *Doctor) listeners(ctx context.Context, l *Look, queues []*Queue) error {
	call := []any{"PUBSUB", "NUMSUB"}
	for _, q := range queues {
		call = append(call, q.names.Channel)
	}
	return d.conn.EachNode(ctx, func(ctx context.Context, _ string, node redis.Conn) error {
		l.visits.Lock()
		defer l.visits.Unlock()
		items, err := node.Do(ctx, call...).Slice() // of an error no item: the number stays unknown
		l.refused("PUBSUB NUMSUB", "+pubsub|numsub", err)
		for i, q := range queues[:min(len(items)/2, len(queues))] {
			if n, ok := items[2*i+1].(int64); ok && (n > 0 || l.Server.Role != "replica") { // which counts its own clients
				q.Listeners = max(0, q.Listeners) + n
				q.known = q.known || n > 0
			}
		}
		return nil
	})
}

// again compares delivered values with the last look, or with a second one.
func (d *Doctor) again(ctx context.Context, l *Look) error {
	now, unseen := map[string]*Queue{}, []string{}
	for _, q := range l.Queues {
		now[q.Name], q.since = q, l.At
		if q.Ready == 0 || len(q.wrong) > 0 {
			continue
		}
		if was := d.still[q.Name]; was == nil {
			unseen = append(unseen, q.Name)
		} else if q.stands(was) { // else it makes progress
			q.since, q.StillSeconds = was.since, l.At.Sub(was.since).Seconds()
		}
	}
	d.still = now
	if len(unseen) == 0 || d.options.Wait == 0 {
		return nil
	}
	second, err := &Look{At: l.At}, pause(ctx, d.options.Wait)
	if err == nil {
		err = d.glances(ctx, second, unseen)
	}
	for _, q := range second.Queues {
		if was := now[q.Name]; q.stands(was) {
			was.StillSeconds = d.options.Wait.Seconds()
		}
	}
	return err
}

// stands reports whether the first delivered value is the same as before, and there are not fewer: no client takes.
func (q *Queue) stands(was *Queue) bool { return q.first == was.first && q.Ready >= was.Ready }

// Repeat looks every interval, or less often if a look takes more than a tenth of it, until ctx ends, or for length,
// unless it is 0. A look that has begun is shown.
func (d *Doctor) Repeat(ctx context.Context, interval, length time.Duration, show func(*Look, error)) {
	over, cancel := context.WithTimeout(ctx, cmp.Or(length, math.MaxInt64))
	defer cancel()
	for first := true; first || over.Err() == nil; first = false {
		began := time.Now()
		seen, err := d.Look(ctx)
		if ctx.Err() != nil {
			return
		}
		show(seen, err)
		took := time.Since(began)
		_ = pause(over, max(interval, 10*(took-d.options.Wait))-took)
	}
}

// pause waits, or returns the error of ctx.
func pause(ctx context.Context, wait time.Duration) error {
	over, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	<-over.Done()
	return ctx.Err()
}
