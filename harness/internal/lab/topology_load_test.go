package lab

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// queue is the name of the queue that is offered to and taken from. Beside it goes one that a Worker takes from.
const queue = "orders"

const (
	// rate is of the offers to each queue, due leastDelay to mostDelay later.
	rate                  = 150
	leastDelay, mostDelay = 100 * time.Millisecond, 400 * time.Millisecond
	// consumers take from each queue.
	consumers = 3
	// calm is how long a load lasts before a fault, and after most of them within loadFor; faultTimeout bounds the fault.
	calm, loadFor, faultTimeout = 2 * time.Second, 15 * time.Second, 90 * time.Second
	// lease is for how long a message is handed out.
	lease = 2 * time.Second
	// quiet is how long nothing has to come before what is missing counts as lost: to a Worker it comes again after 10 s at most.
	quiet = 12 * time.Second
)

// service is dq of this process, which takes from a queue plainly or by a Worker: a driver.Driver.
type service struct {
	dial   func() goredis.UniversalClient
	worker bool

	mu   sync.Mutex
	came []time.Time // messages
}

func (s *service) Identity() driver.Identity               { return driver.Identity{Name: "dq"} }
func (s *service) Serve(in io.Reader, out io.Writer) error { return serve.Serve(in, out, s) }

func (s *service) Open(ctx context.Context, _, name string) (driver.Queue, error) {
	rdb := s.dial()
	client, err := dq.NewClient(rdb)
	if err != nil {
		return nil, err
	}
	q := &opened{service: s, handled: make(chan []byte), end: func() error { return errors.Join(client.Close(), rdb.Close()) }}
	if q.Queue, err = dq.NewQueue(client, name, codec.Bytes{}); err != nil {
		return nil, err
	}
	q.work = sync.OnceFunc(func() {
		worker := dq.NewWorker(client, dq.WorkerOptions{Concurrency: consumers, Lease: lease})
		dq.Handle(worker, q.Queue, func(ctx context.Context, m *dq.Message[[]byte]) error {
			select {
			case q.handled <- m.Value:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		go func() { _ = worker.Run(context.WithoutCancel(ctx)) }()
	})
	return q, q.Ready(ctx)
}

type opened struct {
	*dq.Queue[[]byte]
	*service
	work    func() // of a Worker
	handled chan []byte
	end     func() error
}

func (q *opened) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	_, err := q.Queue.Offer(ctx, value, delay)
	return err
}

func (q *opened) Take(ctx context.Context) (value []byte, err error) {
	if !q.worker {
		value, err = q.Queue.Take(ctx)
	} else {
		q.work()
		select {
		case value = <-q.handled:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.came = append(q.came, time.Now())
	}
	return value, err
}

func (q *opened) Close() error { return q.end() }

// load has a service offer to each queue and another take from it, has the fault happen after some calm, and accounts for every message.
func (s *topology) load(t *testing.T, f fault, calm, duration time.Duration) *outcome {
	t.Helper()
	p := plan.DefaultPlan()
	p.Producers, p.Consumers, p.Rate, p.Duration, p.Warmup = 1, consumers, rate, duration, 0
	p.Delay, p.Fleet = plan.Between(leastDelay, mostDelay), []plan.Member{{Offers: true}, {Takes: true}}
	var from, to time.Time
	begun, over := make(chan struct{}, 4), make(chan struct{})
	var runs sync.WaitGroup
	services := [2]service{{dial: s.dial}, {dial: s.dial, worker: true}}
	var documents [2]*run.Document
	var errs [2]error
	for i, name := range []string{queue, s.kept} {
		mayLose := f.loses
		if services[i].worker && mayLose == plan.OnTheWay {
			mayLose = plan.NoLoss // what was handed out comes again
		}
		p.Queue, p.DrainTimeout = name, quiet
		o := load.Options{
			Plan: p, Driver: &services[i], Redis: s.admin, RunID: rand.Uint32(),
			Gather: func(context.Context) time.Time { begun <- struct{}{}; return time.Now() },
			Break: func(_ context.Context, start time.Time) []run.FaultEvent {
				<-over
				return []run.FaultEvent{{From: from.Sub(start).Seconds(), To: to.Sub(start).Seconds(), MayLose: string(mayLose)}}
			},
		}
		runs.Go(func() {
			documents[i], errs[i] = load.Run(t.Context(), o)
			begun <- struct{}{} // even if it failed
		})
	}
	func() {
		defer close(over)
		<-begun
		<-begun
		time.Sleep(calm)
		failing, cancel := context.WithTimeout(t.Context(), faultTimeout)
		defer cancel()
		from = time.Now()
		f.do(failing)
		to = time.Now()
	}()
	runs.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	o := &outcome{}
	for i, r := range documents {
		f, came, ended := r.Faults, services[i].came, r.Started.Add(duration)
		o.Offered += f.Offered
		o.Acknowledged += f.Acknowledged
		o.MayBeLost += f.Lost - f.LostBeyond
		o.LostBeyond += f.LostBeyond
		o.Early += f.Early
		if !services[i].worker && f.Events[0].MayLose != string(plan.LastSecond) {
			o.Twice += f.Duplicate
		}
		o.Gap = max(o.Gap, gap(came, r.Started.Add(mostDelay), ended))
		if after := to.Add(mostDelay); after.Before(ended) && !slices.ContainsFunc(came, after.Before) {
			o.Stalled++
		}
	}
	return o
}

// outcome counts the fates of the messages of both queues.
type outcome struct {
	Offered, Acknowledged int64
	// MayBeLost were acknowledged and never came, and Redis itself accounts for it; LostBeyond by nothing.
	MayBeLost, LostBeyond int64
	// Twice counts deliveries by a take beyond the first of a message, unless replication may account for them.
	Twice int64
	// Early came more than a millisecond before they were due.
	Early int64
	// Stalled counts the queues, of the two, of which nothing came that was offered after the fault.
	Stalled int64
	// Gap is the longest time without a delivery of a queue, while messages were due.
	Gap time.Duration
}

// Faults says what of an outcome is dq's fault; nothing if all is well.
func (o *outcome) Faults() (faults []string) {
	for _, f := range []struct {
		n    int64
		what string
	}{{o.LostBeyond, "lost beyond what Redis may lose"}, {o.Twice, "delivered twice"}, {o.Early, "early"}, {o.Stalled, "queues of which nothing came after the fault"}} {
		if f.n > 0 {
			faults = append(faults, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	if o.Acknowledged == 0 {
		faults = append(faults, "nothing was acknowledged")
	}
	return faults
}

// gap is the longest time without a delivery, from began to ended.
func gap(came []time.Time, began, ended time.Time) (longest time.Duration) {
	last := began
	for _, t := range append(slices.SortedFunc(slices.Values(came), time.Time.Compare), ended) {
		if t.After(ended) {
			t = ended
		}
		longest = max(longest, t.Sub(last))
		last = t
	}
	return longest
}

func TestGap(t *testing.T) {
	at := time.UnixMilli
	came := []time.Time{at(3200), at(1900), at(3300), at(4900), at(9000)}
	require.Equal(t, 1600*time.Millisecond, gap(came, at(400), at(5000)))
	require.Equal(t, 1800*time.Millisecond, gap(came[:3], at(400), at(5100)), "to the last offer")
	require.Equal(t, []string{"2 lost beyond what Redis may lose", "1 delivered twice"}, (&outcome{Acknowledged: 9, LostBeyond: 2, Twice: 1}).Faults())
}

var only = flag.String("only", "", "the topologies that run: a regular expression for \"server: topology\", such as 'redis 7.*: Cluster'")

// TestTopologies writes the section of docs/results.md: see make topologies.
func TestTopologies(t *testing.T) {
	if *only == "" {
		t.Skip("make topologies takes minutes")
	}
	keep, err := regexp.Compile(*only)
	require.NoError(t, err, "-only")
	programs, all := find(t, os.Getenv("DQ_REDIS_SERVERS")), kinds(t)
	rows := make([]row, len(all))
	var said []string
	t.Run("", func(t *testing.T) {
		for i, p := range programs {
			said = append(said, p.String())
			for at, k := range all {
				unfit := k.name == "Cluster" && strings.HasPrefix(p.version, "6.") // the harness forms it by settings of 7.0
				if i > 0 && !k.everywhere || !keep.MatchString(p.String()+": "+k.name) || unfit {
					continue
				}
				rows[at].servers++
				t.Run(p.String()+": "+k.name, func(t *testing.T) {
					t.Parallel()
					s := k.start(t, p.path)
					for _, f := range s.faults {
						o := s.load(t, f, calm, loadFor)
						t.Logf("%s: %d acknowledged, %d lost beyond what Redis may lose", f.name, o.Acknowledged, o.LostBeyond)
						assert.Empty(t, o.Faults(), f.name)
						rows[at].add(o)
					}
				})
			}
		}
	})
	var cells [][]string
	for at := range rows {
		if r := &rows[at]; r.servers > 0 {
			cells = append(cells, []string{all[at].name, fmt.Sprint(r.servers), fmt.Sprint(r.faults), text.Count(r.sum.Acknowledged),
				text.Count(r.sum.MayBeLost), fmt.Sprint(r.sum.LostBeyond), run.FormatNs(int64(r.sum.Gap))})
		}
	}
	head := []string{"topology", "servers", "faults", "acknowledged", "may be lost", "beyond", "longest gap"}
	require.NoError(t, writeSection(results, "topologies", "On "+strings.Join(said, ", ")+".\n\n"+asTable(head, cells)))
}

// row sums the loads of a topology on all servers.
type row struct {
	mu              sync.Mutex
	servers, faults int
	sum             outcome
}

func (r *row) add(o *outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults++
	r.sum.Acknowledged += o.Acknowledged
	r.sum.MayBeLost += o.MayBeLost
	r.sum.LostBeyond += o.LostBeyond
	r.sum.Gap = max(r.sum.Gap, o.Gap)
}

// server is a program, with what it says of itself, as "redis" and "7.0.15".
type server struct{ path, name, version string }

func (p server) String() string { return p.name + " " + p.version }

// versionLine is what a server program prints of itself.
var versionLine = regexp.MustCompile(`(?i)^(\w+) server v=([0-9.]+)`)

// find returns the programs to run, each version once: the first one on PATH, and those named, between colons.
func find(t *testing.T, more string) (found []server) {
	t.Helper()
	paths := strings.FieldsFunc(more, func(r rune) bool { return r == ':' })
	for _, name := range []string{"valkey-server", "redis-server"} {
		if at, err := exec.LookPath(name); err == nil {
			paths = append([]string{at}, paths...)
		}
	}
	for _, path := range paths {
		said, err := exec.CommandContext(t.Context(), path, "--version").Output()
		m := versionLine.FindStringSubmatch(string(said))
		require.NotNil(t, m, "%s --version: expected a Redis or Valkey server, got %.80q, %v", path, said, err)
		p := server{path, strings.ToLower(m[1]), m[2]}
		if !slices.ContainsFunc(found, func(other server) bool { return other.String() == p.String() }) {
			found = append(found, p)
		}
	}
	require.NotEmpty(t, found, "expected redis-server or valkey-server on PATH, or in DQ_REDIS_SERVERS")
	return found
}
