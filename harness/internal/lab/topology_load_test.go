package lab

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// queue is the name of the queue that is offered to and taken from. Beside it goes one that a
// Worker takes from.
const queue = "orders"

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

// load runs a load of two services, one that offers and one that takes, has the fault happen after and before some calm, and accounts
// for every message.
func (s *topology) load(t *testing.T, f fault, calm time.Duration) *outcome {
	t.Helper()
	var plain, kept ledger
	offering, closeOffering := s.serve(t, nil)
	defer closeOffering()
	taking, closeTaking := s.serve(t, &kept)
	defer closeTaking()

	consuming, stopTakes := context.WithCancel(t.Context())
	var takers sync.WaitGroup
	for range consumers {
		takers.Go(func() { take(consuming, taking.orders, &plain) })
	}
	takers.Go(func() { _ = taking.worker.Run(consuming) })
	defer takers.Wait()
	defer stopTakes()
	began := time.Now()
	producing, stopOffers := context.WithCancel(t.Context())
	var offers sync.WaitGroup
	for range producers {
		offers.Go(func() { offer(producing, offering.orders, &plain) })
		offers.Go(func() { offer(producing, offering.kept, &kept) })
	}
	defer offers.Wait()
	defer stopOffers()

	time.Sleep(calm)
	from := time.Now()
	failing, cancel := context.WithTimeout(t.Context(), faultTimeout)
	defer cancel()
	f.do(failing)
	to := time.Now()
	time.Sleep(calm)
	stopOffers()
	offers.Wait()
	ended := time.Now()
	drained(&plain, quiet)
	drained(&kept, quietKept)
	stopTakes()
	takers.Wait()
	return account(f.loses, span{began: began, from: from, to: to, ended: ended}, plain.all, kept.all)
}

// drained waits until all has come, or nothing any more, and for what was uncertain or is a duplicate: it comes hardly later than the rest.
func drained(l *ledger, quiet time.Duration) {
	for n, since := l.missing(); n > 0 && time.Since(since) <= quiet; n, since = l.missing() {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(mostDelay)
}

// service is a client of both queues.
type service struct {
	orders, kept *dq.Queue[string]
	worker       *dq.Worker
}

// serve makes a service, whose worker notes in kept.
func (s *topology) serve(t *testing.T, kept *ledger) (service, func()) {
	t.Helper()
	rdb := s.dial()
	client, err := dq.NewClient(rdb)
	require.NoError(t, err)
	orders, err := dq.NewQueue(client, queue, codec.String{})
	require.NoError(t, err)
	lasting, err := dq.NewQueue(client, s.kept, codec.String{})
	require.NoError(t, err)
	worker := dq.NewWorker(client, dq.WorkerOptions{Concurrency: consumers, Lease: lease})
	dq.Handle(worker, lasting, func(_ context.Context, m *dq.Message[string]) error { kept.took(m.Value); return nil })
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	require.NoError(t, errors.Join(orders.Ready(ctx), lasting.Ready(ctx)))
	return service{orders, lasting, worker}, func() { assert.NoError(t, errors.Join(client.Close(), rdb.Close())) }
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

func take(ctx context.Context, queue *dq.Queue[string], l *ledger) {
	for ctx.Err() == nil {
		if value, err := queue.Take(ctx); err == nil {
			l.took(value)
			continue
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// outcome counts the fates of the messages of both queues.
type outcome struct {
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
func (o *outcome) Faults() (faults []string) {
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

func account(loses loss, s span, plain, kept map[string]*message) *outcome {
	o := &outcome{}
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
			if n := len(m.came) - 1; isPlain && n > 0 && (loses < losesUnreplicated || !near(m.came[0])) {
				o.TwiceBeyond += n
			}
			switch {
			case m.err != nil || len(m.came) > 0:
			case loses >= losesUnreplicated && near(m.answered):
				o.MayBeLost++
			case isPlain && loses >= losesPopped && !m.due.After(s.to.Add(aroundFault)) && popped < consumers: // one for each blocked take
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
		loses loss
		plain []*message
		kept  []*message
		want  outcome
		bad   string
	}{
		"all well":             {losesNothing, []*message{sent(0, nil, 100)}, nil, outcome{Offered: 1, Acknowledged: 1}, ""},
		"refused, uncertain":   {losesNothing, []*message{sent(0, refused), sent(0, uncertain, 100), sent(0, uncertain)}, nil, outcome{Offered: 3}, "nothing was acknowledged"},
		"lost":                 {losesNothing, []*message{sent(2000, nil)}, nil, outcome{Offered: 1, Acknowledged: 1, LostBeyond: 1}, "1 lost beyond"},
		"on the way":           {losesPopped, []*message{sent(1950, nil)}, nil, outcome{Offered: 1, Acknowledged: 1, MayBeLost: 1}, ""},
		"too many for that":    {losesPopped, []*message{sent(1950, nil), sent(1951, nil), sent(1952, nil), sent(1953, nil)}, nil, outcome{Offered: 4, Acknowledged: 4, MayBeLost: 3, LostBeyond: 1}, "1 lost beyond"},
		"too late for that":    {losesPopped, []*message{sent(4500, nil)}, nil, outcome{Offered: 1, Acknowledged: 1, LostBeyond: 1}, "1 lost beyond"},
		"reserved is not lost": {losesPopped, nil, []*message{sent(1950, nil)}, outcome{Offered: 1, Acknowledged: 1, LostBeyond: 1}, "1 lost beyond"},
		"unreplicated":         {losesUnreplicated, []*message{sent(1500, nil)}, []*message{sent(2500, nil)}, outcome{Offered: 2, Acknowledged: 2, MayBeLost: 2}, ""},
		"replicated long ago":  {losesUnreplicated, nil, []*message{sent(800, nil), sent(4500, nil)}, outcome{Offered: 2, Acknowledged: 2, LostBeyond: 2}, "2 lost beyond"},
		"twice":                {losesPopped, []*message{sent(2000, nil, 2100, 3000)}, nil, outcome{Offered: 1, Acknowledged: 1, TwiceBeyond: 1}, "1 delivered twice"},
		"twice, unreplicated":  {losesUnreplicated, []*message{sent(2000, nil, 2100, 3000)}, nil, outcome{Offered: 1, Acknowledged: 1}, ""},
		"again":                {losesNothing, nil, []*message{sent(2000, nil, 2100, 3000)}, outcome{Offered: 1, Acknowledged: 1}, ""},
		"early":                {losesNothing, []*message{sent(0, nil, 98)}, nil, outcome{Offered: 1, Acknowledged: 1, Early: 1}, "1 early"},
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
	require.Equal(t, 1500*time.Millisecond, account(losesNothing, spanOfTest, plain, plain).Gap, "from 0.4 s, when the first could be due")
	delete(plain, "b")
	delete(plain, "end")
	o := account(losesNothing, spanOfTest, plain, plain)
	require.Equal(t, 1800*time.Millisecond, o.Gap, "to the last offer")
	require.Equal(t, []string{"2 queues of which nothing came after the fault"}, o.Faults())
}

// calm is how long a load lasts before a fault, and after it.
const calm = 2 * time.Second

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
				if i > 0 && !k.everywhere || !keep.MatchString(p.String()+": "+k.name) || k.unfit(p.version) {
					continue
				}
				rows[at].servers++
				t.Run(p.String()+": "+k.name, func(t *testing.T) {
					t.Parallel()
					s := k.start(t, p.path)
					for _, f := range s.faults {
						o := s.load(t, f, calm)
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
			cells = append(cells, []string{all[at].name, fmt.Sprint(r.servers), fmt.Sprint(r.faults), text.Count(int64(r.sum.Acknowledged)),
				text.Count(int64(r.sum.MayBeLost)), fmt.Sprint(r.sum.LostBeyond), run.FormatNs(int64(r.sum.Gap))})
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
