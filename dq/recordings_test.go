package dq_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/internal/resp"
	"github.com/dq-bench/dq-bench/recordings"
)

// With its clock and its ids fed from a document's recording, dq must make a
// server see what that recording shows.
func TestDocumentsRecordingsAreSentAgain(t *testing.T) {
	t.Parallel()
	for file, release := range map[string]string{
		"002-zlyx.monitor":        "3.16.6",
		"004-dest_queue1.monitor": "3.13.0",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			rec := readDocument(t, "documents/"+file)
			seen := resend(t, rec, release)
			calls := count(rec.Lines, "eval") > 0
			require.Equal(t, declared(t, rec, scriptLines(rec.Lines, calls)), texts(scriptLines(seen, calls)))
			require.Equal(t, count(rec.Lines, "blpop"), count(seen, "blpop"))
			for _, line := range rec.Lines {
				if name := line.Name(); name == "subscribe" || name == "blpop" {
					require.Contains(t, texts(seen), texts([]monitor.Line{line})[0])
				}
			}
		})
	}
}

func readDocument(t *testing.T, path string) *monitor.Recording {
	t.Helper()
	data, err := recordings.Files.ReadFile(path)
	require.NoError(t, err)
	rec, err := monitor.Read(bytes.NewReader(data), path)
	require.NoError(t, err)
	return rec
}

// step is an offer, or a run of transfers that follow one another.
type step struct {
	offer *wire.Member
	due   int64   // of the offer, Unix ms
	nows  []int64 // of the transfers, Unix ms
}

// script is what the client of a recording did, read from the commands inside the
// Lua scripts, which every recording has.
type script struct {
	queue string
	limit int // of the transfers
	steps []step
}

func readScript(t *testing.T, rec *monitor.Recording) (s script) {
	t.Helper()
	for _, line := range rec.Lines {
		switch {
		case line.Inner() && line.Name() == "zadd":
			m, err := wire.LayoutDLc0.UnpackSized([]byte(line.Args[3]), lengthSize(t, rec))
			require.NoError(t, err)
			s.steps = append(s.steps, step{offer: &m, due: integer(t, line.Args[2])})
		case line.Inner() && line.Name() == "zrangebyscore":
			s.queue = strings.TrimSuffix(strings.TrimPrefix(line.Args[1], "redisson_delay_queue_timeout:{"), "}")
			s.limit = int(integer(t, line.Args[6]))
			now := integer(t, line.Args[3])
			if n := len(s.steps); n > 0 && s.steps[n-1].offer == nil {
				s.steps[n-1].nows = append(s.steps[n-1].nows, now)
			} else {
				s.steps = append(s.steps, step{nows: []int64{now}})
			}
		}
	}
	return s
}

// resend makes a client of that release do what the recording's client did, and
// returns what the server saw of it.
func resend(t *testing.T, rec *monitor.Recording, release string) []monitor.Line {
	t.Helper()
	const delay = 5 * time.Second
	sc := readScript(t, rec)
	ctx := deadline(t)
	s := redistest.Redis(t)
	rdb := connect(t, s.URL())
	watch, err := monitor.Dial(ctx, s.URL())
	require.NoError(t, err)
	defer watch.Close()
	look := func() (lines []monitor.Line) {
		require.NoError(t, rdb.Echo(ctx, "the end").Err())
		for {
			line, err := watch.Read(ctx)
			require.NoError(t, err)
			if line.Args[len(line.Args)-1] == "the end" {
				return lines
			}
			lines = append(lines, line)
		}
	}

	fed := newFedClock()
	ended := make(chan error, 100)
	var id fedID
	client, err := dq.NewClient(rdb, dq.WithRedissonCommands(),
		dq.WithRelease(release), dq.WithTransferLimit(sc.limit), dq.WithClock(fed), dq.WithRandom(&id),
		on(func(e dq.Transferred) { fed.follow(); ended <- e.Err }))
	require.NoError(t, err)
	defer client.Close()
	transfers := func(nows []int64) {
		fed.run(nows)
		for range nows {
			require.NoError(t, <-ended)
		}
	}

	destination := dq.NewTaker(client, sc.queue, codec.Bytes{})
	delayed := dq.NewSender(destination)
	if first := sc.steps[0]; first.offer == nil {
		sc.steps = sc.steps[1:]
		transfers(first.nows)
	} else {
		// The recording begins later than its client did.
		transfers([]int64{first.due})
		look()
	}
	values := 0
	for _, st := range sc.steps {
		if st.offer == nil {
			transfers(st.nows)
			continue
		}
		fed.run([]int64{st.due - delay.Milliseconds()})
		id = recordedRandom(t, rec, st.offer.ID)
		require.NoError(t, delayed.Offer(ctx, st.offer.Value, delay))
		values++
	}
	takes(ctx, t, destination, rdb, values, count(rec.Lines, "blpop"))
	return look()
}

// fedID is a source of one number.
type fedID [8]byte

func (id *fedID) Uint64() uint64 { return binary.LittleEndian.Uint64(id[:]) }

// takes takes the values and leaves the rest of the recorded takes blocked.
func takes(ctx context.Context, t *testing.T, q *dq.Taker[[]byte], rdb *redis.Client, values, all int) {
	t.Helper()
	for range min(values, all) {
		_, err := q.Take(ctx)
		require.NoError(t, err)
	}
	if all > values {
		go func() { _, _ = q.Take(ctx) }()
		waitBlocked(t, rdb)
	}
}

// recordedRandom returns the id to be fed for a recorded member: the random
// number of the EVAL line, or where a recording has none, one that gives the
// same double.
func recordedRandom(t *testing.T, rec *monitor.Recording, double [8]byte) (id [8]byte) {
	t.Helper()
	random, ok := wire.RandomForID(double)
	require.True(t, ok)
	for _, line := range rec.Lines {
		if line.Name() != "eval" || len(line.Args) != 10 {
			continue
		}
		if n := integer(t, line.Args[8]); wire.DoubleID(n) == double {
			random = n
		}
	}
	binary.LittleEndian.PutUint64(id[:], uint64(random))
	return id
}

// declared returns the recorded lines in the form a server of today must show
// them in: members with a length field of 8 bytes.
func declared(t *testing.T, rec *monitor.Recording, lines []monitor.Line) []string {
	t.Helper()
	for i, line := range lines {
		if !line.Inner() {
			continue
		}
		for j, arg := range line.Args {
			if m, err := wire.LayoutDLc0.UnpackSized([]byte(arg), lengthSize(t, rec)); err == nil {
				m.LengthSize = wire.LengthSize
				lines[i].Args[j] = string(m.Bytes())
			}
		}
	}
	return texts(lines)
}

func lengthSize(t *testing.T, rec *monitor.Recording) int {
	t.Helper()
	if declared := rec.Field("length-size"); declared != "" {
		return int(integer(t, declared))
	}
	return wire.LengthSize
}

// scriptLines returns the script calls, unless the recording has none, and what
// the scripts did.
func scriptLines(lines []monitor.Line, calls bool) (some []monitor.Line) {
	for _, line := range lines {
		if line.Inner() || calls && line.Name() == "eval" {
			some = append(some, line)
		}
	}
	return some
}

// texts returns the lines without time and peer, as MONITOR prints them.
func texts(lines []monitor.Line) (all []string) {
	for _, line := range lines {
		var b []byte
		for _, arg := range line.Args {
			b = append(resp.AppendQuoted(b, arg), ' ')
		}
		all = append(all, string(b))
	}
	return all
}

func count(lines []monitor.Line, name string) (n int) {
	for _, line := range lines {
		if line.Name() == name {
			n++
		}
	}
	return n
}

func integer(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

// fedClock stands still until it is set.
type fedClock struct {
	mu     sync.Mutex
	millis int64
	next   []int64 // the times of the transfers that follow the one under way
	timer  fedTimer
}

func newFedClock() *fedClock {
	c := &fedClock{}
	c.timer = fedTimer{clock: c, c: make(chan struct{}, 1)}
	return c
}

// run sets the first time, and the others one by one as transfers end.
func (c *fedClock) run(millis []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.millis, c.next = millis[0], millis[1:]
	c.timer.check(c.millis)
}

func (c *fedClock) follow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.next) > 0 {
		c.millis, c.next = c.next[0], c.next[1:]
	}
}

func (c *fedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMilli(c.millis)
}

func (c *fedClock) NewTimer() clock.Timer { return &c.timer }

// fedTimer is the one timer of a fedClock.
type fedTimer struct {
	clock *fedClock
	c     chan struct{}
	at    int64
}

func (t *fedTimer) C() <-chan struct{} { return t.c }
func (t *fedTimer) Stop()              { t.Reset(time.UnixMilli(1 << 60)) }
func (t *fedTimer) Close()             {}

func (t *fedTimer) Reset(at time.Time) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = at.UnixMilli()
	t.check(t.clock.millis)
}

// check fires the timer if its time has come. Call with the clock's mutex held.
func (t *fedTimer) check(now int64) {
	if t.at != 0 && t.at <= now {
		t.at = 0
		t.c <- struct{}{}
	}
}
