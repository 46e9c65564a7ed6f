package analysis_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
)

// analyse takes in logs.
func analyse(t *testing.T, logs ...[]byte) *analysis.Document {
	t.Helper()
	r := analysis.New()
	for _, log := range logs {
		require.NoError(t, trace.ReadLog(t.Context(), opened(bytes.NewReader(log)), r.Line))
		r.End()
	}
	return r.Document()
}

func document(t *testing.T, name string) *analysis.Document {
	t.Helper()
	log, err := recordings.Files.ReadFile("documents/" + name + ".monitor")
	require.NoError(t, err)
	return analyse(t, log)
}

func release(t *testing.T, s string) wire.Release {
	t.Helper()
	r, err := wire.ParseRelease(s)
	require.NoError(t, err)
	return r
}

func contains(t *testing.T, ranges []analysis.Range, r wire.Release) bool {
	t.Helper()
	for _, in := range ranges {
		if r.AtLeast(release(t, in.From)) && release(t, in.To).AtLeast(r) {
			return true
		}
	}
	return false
}

// ranges are the releases of a span.
func ranges(s *analysis.Span) []analysis.Range {
	if len(s.Ranges) > 0 {
		return s.Ranges
	}
	return []analysis.Range{s.Range}
}

// What each release was recorded to send, it can have sent, and the conformance cases tell it from those whose scripts are others.
func TestReleasesOfTheRecordings(t *testing.T) {
	for _, name := range recordings.Releases() {
		t.Run(name, func(t *testing.T) {
			d := analyse(t, slices.Collect(maps.Values(recordings.Redisson(name)))...)
			recorded := release(t, name)

			require.Zero(t, d.Unparsed)
			require.NotNil(t, d.Redisson)
			require.True(t, contains(t, ranges(d.Redisson), recorded), "%v", *d.Redisson)
			require.Len(t, d.Groups, 1)
			require.True(t, contains(t, d.Groups[0].Ranges, recorded))
		})
	}
}

func TestDocument002(t *testing.T) {
	d := document(t, "002-zlyx")
	require.Equal(t, &analysis.Span{Range: analysis.Range{From: "2.7.0", To: "3.21.0"}}, d.Redisson)
	require.Empty(t, d.Anomalies)
	require.Len(t, d.Queues, 1)
	q := d.Queues[0]
	require.InEpsilon(t, 101.054, q.Lateness.P50, 0.016)
	q.Lateness.P50, q.Lateness.P99 = 0, 0
	require.Equal(t, &analysis.Queue{
		Name: "zlyx", Layout: "dLc0", Offers: 1, Transfers: 1, Transferred: 1, Taken: 1,
		Lateness: &analysis.Lateness{Max: 101.054},
	}, q)
}

// Its script calls are missing, and the client's clock is 4.3 s behind.
func TestDocument004(t *testing.T) {
	d := document(t, "004-dest_queue1")
	require.Equal(t, &analysis.Span{Range: analysis.Range{From: "2.7.0", To: "3.21.0"}}, d.Redisson, "by the layout")
	require.Empty(t, d.Anomalies)
	require.Len(t, d.Queues, 1)
	q := d.Queues[0]
	require.Equal(t, []int64{5, 4, 5, 5, 0}, []int64{q.Offers, q.Transfers, q.Transferred, q.Taken, q.StillPending})
	require.Len(t, d.Clocks, 1)
	require.InDelta(t, -4264, d.Clocks[0].AheadMs, 1)
	require.Less(t, q.Lateness.Max, 100.0)
}

// Two real releases of either side of 3.21.1 on one queue: who they are, and what became of the messages.
func TestRollingDeployment(t *testing.T) {
	r := analysis.New()
	require.NoError(t, r.Files(t.Context(), []string{"testdata/rolling-deployment.monitor"}))
	d := r.Document()

	require.Nil(t, d.Redisson)
	require.Len(t, d.Groups, 2)
	require.True(t, contains(t, d.Groups[0].Ranges, release(t, "4.7.0")))
	require.True(t, contains(t, d.Groups[1].Ranges, release(t, "3.21.0")))
	require.Equal(t, map[analysis.Kind]int64{
		analysis.ForeignMember: 2, analysis.PoisonLoop: 4, analysis.Stall: 1, analysis.Overdue: 116,
	}, d.AnomalyCounts)
	require.Len(t, d.Queues, 1)
	q := d.Queues[0]
	require.Equal(t, "mixed", q.Layout)
	require.Equal(t, []int64{120, 17, 4, 4, 116}, []int64{q.Offers, q.Transfers, q.Transferred, q.Taken, q.StillPending})
	for _, a := range d.Anomalies {
		require.NotEmpty(t, a.Lines, a.Kind)
		for _, l := range a.Lines {
			require.NotEmpty(t, l.Text, "%s: line %d", a.Kind, l.Number)
		}
	}
}

// A story is a log that is made up: what clients of one queue, "orders", did. The server's clock goes on by 100 µs a line.
type story struct {
	out     strings.Builder
	clock   int64 // µs
	peer    string
	release wire.Release
	ids     uint64
	skew    int64 // ms that the client's clock is ahead
}

const storyBegins = int64(1_700_000_000_000_000)

var orders = wire.NamesOf("orders")

func newStory(release string) *story {
	r, _ := wire.LookupRelease(release) // which exists
	return &story{clock: storyBegins, peer: "10.0.0.1:4000", release: r}
}

func (s *story) add(peer string, args ...string) {
	s.clock += 100
	s.out.WriteString(trace.Line{Time: s.clock, Peer: peer, Args: args}.String() + "\n")
}

func (s *story) client(args ...string) { s.add(s.peer, args...) }
func (s *story) inner(args ...string)  { s.add(trace.LuaPeer, args...) }

// wait lets time pass until so many ms after the beginning.
func (s *story) wait(ms int64) { s.clock = max(s.clock, storyBegins+ms*1000) }

// now is the client's clock.
func (s *story) now() int64 { return s.clock/1000 + s.skew }

// script is the line of a script call.
func (s *story) script(name wire.ScriptName, keys []string, args ...string) {
	script, _ := s.release.Script(name)
	line := []string{"EVAL", script.Body}
	if s.release.CachesScripts() {
		line = []string{"EVALSHA", script.SHA1}
	}
	s.client(append(append(append(line, strconv.Itoa(len(keys))), keys...), args...)...)
}

// member packs a value with the next id.
func (s *story) member(value string) (random, member string) {
	s.ids++
	layout := s.release.Layout()
	if layout == wire.LayoutDLc0 {
		id := wire.DoubleID(int64(s.ids))
		return strconv.Itoa(int(s.ids)), string(layout.Pack(id, []byte(value)))
	}
	id := [8]byte{}
	binary.BigEndian.PutUint64(id[:], s.ids)
	return string(id[:]), string(layout.Pack(id, []byte(value)))
}

// offer offers a value for so many ms after the beginning, by the client's clock.
func (s *story) offer(value string, at int64) (member string) {
	random, member := s.member(value)
	s.offerMember(value, random, member, storyBegins/1000+at+s.skew)
	return member
}

func (s *story) offerMember(value, random, member string, due int64) {
	ms := strconv.FormatInt(due, 10)
	s.script(wire.ScriptOffer, []string{orders.Destination, orders.TimeoutSet, orders.Pending, orders.Channel}, ms, random, value)
	s.inner("zadd", orders.TimeoutSet, ms, member)
	s.inner("rpush", orders.Pending, member)
	s.inner("zrange", orders.TimeoutSet, "0", "0")
}

// transfer moves members: whole says that it does not fail behind them.
func (s *story) transfer(whole bool, members ...string) {
	now := strconv.FormatInt(s.now(), 10)
	s.script(wire.ScriptTransfer, []string{orders.Destination, orders.TimeoutSet, orders.Pending}, now, "100")
	s.inner("zrangebyscore", orders.TimeoutSet, "0", now, "limit", "0", "100")
	for _, m := range members {
		u, _ := s.release.Layout().UnpackAny([]byte(m)) // which add has packed
		s.inner("rpush", orders.Destination, string(u.Value))
		s.inner("lrem", orders.Pending, "1", m)
	}
	if !whole {
		return
	}
	if len(members) > 0 {
		s.inner(append([]string{"zrem", orders.TimeoutSet}, members...)...)
	}
	s.inner("zrange", orders.TimeoutSet, "0", "0", "WITHSCORES")
}

func (s *story) read(t *testing.T) *analysis.Document {
	t.Helper()
	return readLog(t, strings.NewReader(s.out.String()))
}

func readLog(t *testing.T, in io.Reader) *analysis.Document {
	t.Helper()
	r := analysis.New()
	require.NoError(t, trace.ReadLog(t.Context(), opened(in), r.Line))
	return r.Document()
}

func kinds(d *analysis.Document) []analysis.Kind {
	all := []analysis.Kind{}
	for _, a := range d.Anomalies {
		all = append(all, a.Kind)
	}
	return all
}
