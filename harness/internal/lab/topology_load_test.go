package lab

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Queue is the name of the queue that is offered to and taken from. Beside it goes one that a
// Worker takes from.
const Queue = "orders"

const (
	// producers offer to each queue, one message every pace, due leastDelay to mostDelay later.
	producers             = 3
	pace                  = 20 * time.Millisecond
	leastDelay, mostDelay = 100 * time.Millisecond, 400 * time.Millisecond
	// consumers take from each queue.
	consumers = 3
	// faultTimeout bounds the fault; readyTimeout the start.
	faultTimeout, readyTimeout = 90 * time.Second, 10 * time.Second
	// callTimeout bounds what is under way when the load ends.
	callTimeout = 20 * time.Second
	// lease is for how long a message is handed out.
	lease = 2 * time.Second
	// quiet is how long nothing has to come before what is missing counts as lost, and quietKept that
	// of the queue of the Worker, where what was on its way comes again after 10 s at most.
	quiet, quietKept = 3 * time.Second, 12 * time.Second
)

// message is one offer and what became of it.
type message struct {
	sent, answered, due time.Time
	err                 error
	came                []time.Time
}

// ledger is what became of all messages of a queue.
type ledger struct {
	mu   sync.Mutex
	all  map[string]*message
	last time.Time // when the last one came
}

func (l *ledger) offered(value string, m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	came := l.entry(value).came
	m.came = came
	*l.all[value] = m
}

func (l *ledger) took(value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	m := l.entry(value)
	m.came = append(m.came, l.last)
}

// entry needs mu.
func (l *ledger) entry(value string) *message {
	if l.all == nil {
		l.all = map[string]*message{}
	}
	if l.all[value] == nil {
		l.all[value] = &message{}
	}
	return l.all[value]
}

// missing is how many that were acknowledged have not come, and since when nothing has.
func (l *ledger) missing() (n int, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	since = l.last
	for _, m := range l.all {
		if m.err == nil && len(m.came) == 0 {
			n++
		}
		if m.due.After(since) {
			since = m.due
		}
	}
	return n, since
}

// Load runs a load of two services, one that offers and one that takes, has the fault happen after and before
// some calm, and accounts for every message. The error says that the fault could not be done, or the services could
// not begin.
func (t *Topology) Load(ctx context.Context, f Fault, calm time.Duration) (_ *Outcome, err error) {
	var plain, kept ledger
	offering, err := t.serve(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, offering.close()) }()
	taking, err := t.serve(ctx, &kept)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, taking.close()) }()

	consuming, stopTakes := context.WithCancel(ctx)
	var takers sync.WaitGroup
	for range consumers {
		takers.Go(func() { take(consuming, taking.orders, &plain) })
	}
	takers.Go(func() { _ = taking.worker.Run(consuming) })
	defer takers.Wait()
	defer stopTakes()
	began := time.Now()
	producing, stopOffers := context.WithCancel(ctx)
	defer stopOffers()
	var offers sync.WaitGroup
	for range producers {
		offers.Go(func() { offer(producing, offering.orders, &plain) })
		offers.Go(func() { offer(producing, offering.kept, &kept) })
	}
	defer offers.Wait()
	defer stopOffers()

	if err := sleep(ctx, calm); err != nil {
		return nil, err
	}
	from := time.Now()
	failing, cancel := context.WithTimeout(ctx, faultTimeout)
	defer cancel()
	if err := f.do(failing); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	to := time.Now()
	if err := sleep(ctx, calm); err != nil {
		return nil, err
	}
	stopOffers()
	offers.Wait()
	ended := time.Now()
	if err := errors.Join(drained(ctx, &plain, quiet), drained(ctx, &kept, quietKept)); err != nil {
		return nil, err
	}
	stopTakes()
	takers.Wait()
	span := span{began: began, from: from, to: to, ended: ended}
	return account(f.Loses, span, plain.all, kept.all), nil
}

// drained waits until all has come, or nothing any more.
func drained(ctx context.Context, l *ledger, quiet time.Duration) error {
	for {
		n, since := l.missing()
		if n == 0 || time.Since(since) > quiet {
			// What was uncertain, or is a duplicate, comes hardly later than the rest.
			return sleep(ctx, mostDelay)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// service is a client of both queues.
type service struct {
	orders, kept *dq.Queue[string]
	worker       *dq.Worker
	close        func() error
}

// serve makes a service, whose worker notes in kept.
func (t *Topology) serve(ctx context.Context, kept *ledger) (*service, error) {
	rdb := t.dial()
	client, err := dq.NewClient(rdb)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	s := &service{}
	var errs [2]error
	s.orders, errs[0] = dq.NewQueue(client, Queue, codec.String{})
	s.kept, errs[1] = dq.NewQueue(client, t.kept, codec.String{})
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, client.Close(), rdb.Close())
	}
	s.worker = dq.NewWorker(client, dq.WorkerOptions{Concurrency: consumers, Lease: lease})
	dq.Handle(s.worker, s.kept, func(_ context.Context, m *dq.Message[string]) error { kept.took(m.Value); return nil })
	s.close = func() error { return errors.Join(client.Close(), rdb.Close()) }
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := errors.Join(s.orders.Ready(ctx), s.kept.Ready(ctx)); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func offer(ctx context.Context, queue *dq.Queue[string], l *ledger) {
	name := rand.Uint64()
	next := time.NewTicker(pace)
	defer next.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		value := fmt.Sprintf("%x-%d", name, i)
		delay := (leastDelay + rand.N(mostDelay-leastDelay)).Truncate(time.Millisecond) // as due times are
		sent := time.Now()
		// An offer that is under way when the load ends may take its time.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		_, err := queue.Offer(bounded, value, delay)
		cancel()
		l.offered(value, message{sent: sent, answered: time.Now(), due: sent.Add(delay), err: err})
	}
}

// again is the pause after a call that failed.
const again = 5 * time.Millisecond

func take(ctx context.Context, queue *dq.Queue[string], l *ledger) {
	for ctx.Err() == nil {
		value, err := queue.Take(ctx)
		if err == nil {
			l.took(value)
			continue
		}
		_ = sleep(ctx, again)
	}
}

// Outcome is what became of the messages of both queues.
type Outcome struct {
	Offered, Acknowledged int
	// MayBeLost were acknowledged and never came, and Redis itself accounts for it; LostBeyond by nothing.
	MayBeLost, LostBeyond int
	// TwiceBeyond counts deliveries by a take beyond the first of a message, unless replication accounts for them.
	TwiceBeyond int
	// Early came more than a millisecond before they were due.
	Early int
	// Gap is the longest time without a delivery of a queue, while messages were due.
	Gap time.Duration
	// Stalled counts the queues, of the two, of which nothing came that was due after the fault.
	Stalled int
}

// Faults says what of an outcome is dq's fault; nothing if all is well.
func (o *Outcome) Faults() (faults []string) {
	for _, f := range []struct {
		n    int
		what string
	}{{o.LostBeyond, "lost beyond what Redis may lose"}, {o.TwiceBeyond, "delivered twice"}, {o.Early, "early"}, {o.Stalled, "queues of which nothing came after the fault"}} {
		if f.n > 0 {
			faults = append(faults, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	if o.Acknowledged == 0 {
		faults = append(faults, "nothing was acknowledged")
	}
	return faults
}

// span is when a load began, its fault happened, and the last offer was made.
type span struct{ began, from, to, ended time.Time }

// aroundFault is how far around a fault its effects reach: how far replicas may be behind before it, and until
// when takes that it broke are carried out.
const aroundFault = time.Second

func account(loses Loss, s span, plain, kept map[string]*message) *Outcome {
	o := &Outcome{}
	near := func(t time.Time) bool { return !t.Before(s.from.Add(-aroundFault)) && !t.After(s.to.Add(aroundFault)) }
	popped := 0
	for i, queue := range []map[string]*message{plain, kept} {
		isPlain := i == 0
		for _, m := range queue {
			if m.sent.IsZero() {
				continue // of the load before
			}
			if o.Offered++; m.err == nil {
				o.Acknowledged++
			}
			if len(m.came) > 0 && m.came[0].Before(m.due.Add(-time.Millisecond)) {
				o.Early++
			}
			if n := len(m.came) - 1; isPlain && n > 0 && (loses < Unreplicated || !near(m.came[0])) {
				o.TwiceBeyond += n
			}
			switch {
			case m.err != nil || len(m.came) > 0:
			case loses >= Unreplicated && near(m.answered):
				o.MayBeLost++
			case isPlain && loses >= Popped && !m.due.After(s.to.Add(aroundFault)) && popped < consumers: // one for each blocked take
				popped++
				o.MayBeLost++
			default:
				o.LostBeyond++
			}
		}
		o.Gap = max(o.Gap, gap(s, queue))
		if stalled(s, queue) {
			o.Stalled++
		}
	}
	return o
}

// gap is the longest time without a delivery.
func gap(s span, all map[string]*message) (longest time.Duration) {
	var came []time.Time
	for _, m := range all {
		came = append(came, m.came...)
	}
	slices.SortFunc(came, time.Time.Compare)
	last := s.began.Add(mostDelay)
	for _, t := range came {
		if t.After(s.ended) {
			break
		}
		longest = max(longest, t.Sub(last))
		last = t
	}
	return max(longest, s.ended.Sub(last))
}

// stalled reports whether nothing came that was due after the fault.
func stalled(s span, all map[string]*message) bool {
	for _, m := range all {
		if m.due.After(s.to) && len(m.came) > 0 {
			return false
		}
	}
	return true
}

// at is so many milliseconds after the load began. The fault is from 2 s to 3 s, the last offer at 5 s.
func at(ms int64) time.Time { return time.UnixMilli(1_000_000 + ms) }

var spanOfTest = span{began: at(0), from: at(2000), to: at(3000), ended: at(5000)}

func sent(ms int64, err error, came ...int64) *message {
	m := &message{sent: at(ms), answered: at(ms + 1), due: at(ms + 100), err: err}
	for _, c := range came {
		m.came = append(m.came, at(c))
	}
	return m
}

func TestLossesAreAccountedFor(t *testing.T) {
	refused, uncertain := errors.New("no"), dq.ErrUncertain
	for name, tc := range map[string]struct {
		loses Loss
		plain []*message
		kept  []*message
		want  Outcome
		bad   string
	}{
		"all well":             {Nothing, []*message{sent(0, nil, 100)}, nil, Outcome{Offered: 1, Acknowledged: 1}, ""},
		"refused, uncertain":   {Nothing, []*message{sent(0, refused), sent(0, uncertain, 100), sent(0, uncertain)}, nil, Outcome{Offered: 3}, "nothing was acknowledged"},
		"lost":                 {Nothing, []*message{sent(2000, nil)}, nil, Outcome{Offered: 1, Acknowledged: 1, LostBeyond: 1}, "1 lost beyond"},
		"on the way":           {Popped, []*message{sent(1950, nil)}, nil, Outcome{Offered: 1, Acknowledged: 1, MayBeLost: 1}, ""},
		"too many for that":    {Popped, []*message{sent(1950, nil), sent(1951, nil), sent(1952, nil), sent(1953, nil)}, nil, Outcome{Offered: 4, Acknowledged: 4, MayBeLost: 3, LostBeyond: 1}, "1 lost beyond"},
		"too late for that":    {Popped, []*message{sent(4500, nil)}, nil, Outcome{Offered: 1, Acknowledged: 1, LostBeyond: 1}, "1 lost beyond"},
		"reserved is not lost": {Popped, nil, []*message{sent(1950, nil)}, Outcome{Offered: 1, Acknowledged: 1, LostBeyond: 1}, "1 lost beyond"},
		"unreplicated":         {Unreplicated, []*message{sent(1500, nil)}, []*message{sent(2500, nil)}, Outcome{Offered: 2, Acknowledged: 2, MayBeLost: 2}, ""},
		"replicated long ago":  {Unreplicated, nil, []*message{sent(800, nil), sent(4500, nil)}, Outcome{Offered: 2, Acknowledged: 2, LostBeyond: 2}, "2 lost beyond"},
		"twice":                {Popped, []*message{sent(2000, nil, 2100, 3000)}, nil, Outcome{Offered: 1, Acknowledged: 1, TwiceBeyond: 1}, "1 delivered twice"},
		"twice, unreplicated":  {Unreplicated, []*message{sent(2000, nil, 2100, 3000)}, nil, Outcome{Offered: 1, Acknowledged: 1}, ""},
		"again":                {Nothing, nil, []*message{sent(2000, nil, 2100, 3000)}, Outcome{Offered: 1, Acknowledged: 1}, ""},
		"early":                {Nothing, []*message{sent(0, nil, 98)}, nil, Outcome{Offered: 1, Acknowledged: 1, Early: 1}, "1 early"},
	} {
		t.Run(name, func(t *testing.T) {
			all := func(messages []*message) map[string]*message {
				// On time after the fault, of an offer that is not counted.
				m := map[string]*message{"after": {due: at(3100), came: []time.Time{at(3100)}}}
				for i, message := range messages {
					m[string(rune('a'+i))] = message
				}
				return m
			}
			got := account(tc.loses, spanOfTest, all(tc.plain), all(tc.kept))
			faults := got.Faults()
			got.Gap = 0
			require.Equal(t, tc.want, *got)
			if tc.bad == "" {
				require.Empty(t, faults)
				return
			}
			require.Len(t, faults, 1)
			require.Contains(t, faults[0], tc.bad)
		})
	}
}

func TestGap(t *testing.T) {
	plain := map[string]*message{
		"a": sent(0, nil, 1900), "late": sent(2400, nil, 3200), "b": sent(3300, nil, 3410), "end": sent(4800, nil, 4900),
	}
	require.Equal(t, 1500*time.Millisecond, account(Nothing, spanOfTest, plain, plain).Gap, "from 0.4 s, when the first could be due")
	delete(plain, "b")
	delete(plain, "end")
	o := account(Nothing, spanOfTest, plain, plain)
	require.Equal(t, 1800*time.Millisecond, o.Gap, "to the last offer")
	require.Equal(t, []string{"2 queues of which nothing came after the fault"}, o.Faults())
}

// calm is how long a load lasts before a fault, and after it.
const calm = 2 * time.Second

// lanes is how many topologies run at a time.
const lanes = 4

var only = flag.String("only", "", "regular expression for \"server: topology\", such as 'redis 7.*: Cluster'")

// BenchmarkTopologies writes the section of docs/results.md: see make topologies.
func BenchmarkTopologies(b *testing.B) {
	b.Chdir("../../..")
	for range b.N {
		section, err := runTopologies(b.Context(), os.Getenv("DQ_REDIS_SERVERS"), *only)
		require.NoError(b, err)
		require.NoError(b, writeSection(filepath.Join("docs", "results.md"), "topologies", section))
	}
}

// runTopologies runs all there is. Its error says what failed.
func runTopologies(ctx context.Context, servers, only string) (string, error) {
	keep, err := regexp.Compile(only)
	if err != nil {
		return "", fmt.Errorf("-only: %w", err)
	}
	text, err := os.ReadFile(filepath.Join("dq", "README.md"))
	if err != nil {
		return "", err
	}
	rules, err := Rules(string(text))
	if err != nil {
		return "", fmt.Errorf("dq/README.md: %w", err)
	}
	programs, err := find(ctx, servers)
	if err != nil {
		return "", err
	}
	var jobs []*job
	for i, p := range programs {
		for _, k := range Kinds(rules) {
			if j := (&job{program: p, kind: k}); (i == 0 || k.Everywhere) && keep.MatchString(j.String()) {
				jobs = append(jobs, j)
			}
		}
	}
	var doing sync.WaitGroup
	lane := make(chan struct{}, lanes)
	for _, j := range jobs {
		lane <- struct{}{}
		doing.Go(func() {
			j.err = j.do(ctx)
			fmt.Fprintf(os.Stderr, "%s: done, %d faults\n", j, len(j.faults()))
			<-lane
		})
	}
	doing.Wait()
	return section(jobs)
}

// server is a program, with what it says of itself, as "redis" and "7.0.15".
type server struct{ path, name, version string }

func (p server) String() string { return p.name + " " + p.version }

// versionLine is what a server program prints of itself.
var versionLine = regexp.MustCompile(`(?i)^(\w+) server v=([0-9.]+)`)

// find returns the programs to run, each version once: the first one on PATH, and those named, between colons.
func find(ctx context.Context, more string) (found []server, err error) {
	paths := strings.FieldsFunc(more, func(r rune) bool { return r == ':' })
	for _, name := range []string{"redis-server", "valkey-server"} {
		if at, err := exec.LookPath(name); err == nil {
			paths = append([]string{at}, paths...)
			break
		}
	}
	for _, path := range paths {
		said, err := exec.CommandContext(ctx, path, "--version").Output()
		m := versionLine.FindStringSubmatch(string(said))
		if m == nil {
			return nil, errors.Join(fmt.Errorf("%s --version: expected a Redis or Valkey server, got %.80q", path, said), err)
		}
		p := server{path, strings.ToLower(m[1]), m[2]}
		if !slices.ContainsFunc(found, func(other server) bool { return other.String() == p.String() }) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("expected redis-server or valkey-server on PATH, found neither: install one, or name it in DQ_REDIS_SERVERS")
	}
	return found, nil
}

// job is one topology on one program.
type job struct {
	program server
	kind    Kind

	outcomes []outcome
	err      error
}

type outcome struct {
	fault Fault
	*Outcome
}

func (j *job) String() string { return j.program.String() + ": " + j.kind.Name }

// faults says what went wrong.
func (j *job) faults() (all []string) {
	if j.err != nil {
		all = append(all, j.err.Error())
	}
	for _, o := range j.outcomes {
		for _, f := range o.Faults() {
			all = append(all, o.fault.Name+": "+f)
		}
	}
	return all
}

// do starts the servers and runs a load for each fault.
func (j *job) do(ctx context.Context) (err error) {
	if j.kind.Unfit(j.program.version) != "" {
		return nil
	}
	t, err := j.kind.start(ctx, j.program.path)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	for _, f := range t.Faults {
		o, err := t.Load(ctx, f, calm)
		if err != nil {
			return err
		}
		j.outcomes = append(j.outcomes, outcome{f, o})
		fmt.Fprintf(os.Stderr, "%s: %s: %d acknowledged, %d lost beyond what Redis may lose\n", j, f.Name, o.Acknowledged, o.LostBeyond)
	}
	return nil
}

// section has a row for each  Its error says what failed.
func section(jobs []*job) (string, error) {
	var kinds, programs []string
	for _, j := range jobs {
		if !slices.Contains(kinds, j.kind.Name) {
			kinds = append(kinds, j.kind.Name)
		}
		if !slices.Contains(programs, j.program.String()) {
			programs = append(programs, j.program.String())
		}
	}
	var failed []error
	var rows [][]string
	for _, kind := range kinds {
		servers := 0
		var sum Outcome
		faults := 0
		for _, j := range jobs {
			if j.kind.Name != kind || j.kind.Unfit(j.program.version) != "" {
				continue
			}
			servers++
			for _, f := range j.faults() {
				failed = append(failed, fmt.Errorf("%s: %s", j, f))
			}
			for _, o := range j.outcomes {
				faults++
				sum.Acknowledged += o.Acknowledged
				sum.MayBeLost += o.MayBeLost
				sum.LostBeyond += o.LostBeyond
				sum.Gap = max(sum.Gap, o.Gap)
			}
		}
		rows = append(rows, []string{kind, fmt.Sprint(servers), fmt.Sprint(faults), text.Count(int64(sum.Acknowledged)),
			text.Count(int64(sum.MayBeLost)), fmt.Sprint(sum.LostBeyond), run.FormatNs(int64(sum.Gap))})
	}
	head := []string{"topology", "servers", "faults", "acknowledged", "may be lost", "beyond", "longest gap"}
	return "On " + strings.Join(programs, ", ") + ".\n\n" + asTable(head, rows), errors.Join(failed...)
}
