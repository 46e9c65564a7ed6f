package analysis_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
)

// A life without anything wrong, of either side of 3.21.1.
func TestLife(t *testing.T) {
	for _, release := range []string{"3.16.6", "3.21.1", "4.7.0"} {
		t.Run(release, func(t *testing.T) {
			s := newStory(release)
			s.client("SUBSCRIBE", orders.Channel)
			s.transfer(true)
			s.add("10.0.0.2:1", "BLPOP", "orders", "0")
			a, b := s.offer("a", 1000), s.offer("b", 1000)
			s.offer("c", 9000)
			s.wait(1040)
			s.transfer(true, a, b)
			s.add("10.0.0.3:1", "BLPOP", "orders", "5")

			d := s.read(t)
			require.Empty(t, d.Anomalies)
			require.NotNil(t, d.Redisson)
			require.Len(t, d.Queues, 1)
			q := d.Queues[0]
			require.Equal(t, release == "3.16.6", q.Layout == "dLc0")
			require.Equal(t, []int64{3, 2, 2, 2, 0, 1},
				[]int64{q.Offers, q.Transfers, q.Transferred, q.Taken, q.Removed, q.StillPending})
			require.InDelta(t, 40, q.Lateness.Max, 2)
		})
	}
}

// An EVALSHA that the server does not know does nothing, and the SCRIPT LOAD and EVALSHA
// behind it are one offer.
func TestScriptMissIsNoOffer(t *testing.T) {
	s := newStory("4.7.0")
	random, member := s.member("a")
	script, _ := s.release.Script(wire.ScriptOffer)
	s.script(wire.ScriptOffer, []string{"orders", orders.TimeoutSet, orders.Pending, orders.Channel}, "1700000009000", random, "a")
	s.client("SCRIPT", "LOAD", script.Body)
	s.offerMember("a", random, member, 1700000009000)
	d := s.read(t)
	require.Empty(t, d.Anomalies)
	require.EqualValues(t, 1, d.Queues[0].Offers)
	require.EqualValues(t, 1, d.Queues[0].StillPending)
}

// Releases that no single one explains are told apart by connection.
func TestMixedFleet(t *testing.T) {
	s := newStory("4.7.0")
	s.offer("a", 9000)
	s.client("PING")
	s.peer, s.release = "10.0.0.5:1", wire.Release{Major: 3, Minor: 16, Patch: 6}
	s.offer("b", 9000)
	d := s.read(t)
	require.Nil(t, d.Redisson)
	require.Len(t, d.Groups, 2)
	require.Equal(t, []string{"10.0.0.1:4000"}, d.Groups[0].Peers)
	require.Equal(t, []analysis.Range{{From: "3.21.1", To: wire.Newest().String()}}, d.Groups[0].Ranges)
	require.Equal(t, []analysis.Range{{From: "3.46.0", To: wire.Newest().String()}}, d.Groups[0].Usual)
	require.Equal(t, []string{"10.0.0.5:1"}, d.Groups[1].Peers)
	require.Equal(t, []analysis.Range{{From: "2.7.0", To: "2.15.2"}, {From: "3.2.0", To: "3.21.0"}}, d.Groups[1].Ranges)
	require.Equal(t, "mixed", d.Queues[0].Layout)
}

// A client that says what it is, as no Redisson does, tells nothing about Redisson.
func TestOtherClients(t *testing.T) {
	s := newStory("4.7.0")
	s.offer("a", 9000)
	s.peer = "10.0.0.5:1"
	s.client("client", "setinfo", "lib-name", "go-redis(,go1.26)")
	s.client("EVALSHA", scripts.Transfer().SHA1, "3", "orders", orders.TimeoutSet, orders.Pending, "1700000000000", "500", "dLc0", "")
	d := s.read(t)
	require.Equal(t, &analysis.Span{Range: analysis.Range{From: "3.21.1", To: wire.Newest().String()}}, d.Redisson)
	require.Empty(t, d.Anomalies)
	require.Len(t, d.Groups, 2)
	require.Equal(t, "dq", d.Groups[1].Client)
}

// Queues of one name in two databases are two.
func TestDatabases(t *testing.T) {
	s := newStory("4.7.0")
	s.offer("a", 9000)
	second := strings.ReplaceAll(s.out.String(), " [0 ", " [3 ")
	d := readLog(t, strings.NewReader(s.out.String()+second))
	require.Empty(t, d.Anomalies)
	require.Len(t, d.Queues, 2)
	require.Equal(t, []int{0, 3}, []int{d.Queues[0].DB, d.Queues[1].DB})
}

// A log that begins anew, as when recordings are joined, is another one.
func TestJoinedLogs(t *testing.T) {
	s := newStory("4.7.0")
	s.offer("a", 500_000)
	s.wait(400_000)
	s.client("PING")
	d := readLog(t, strings.NewReader(s.out.String()+s.out.String()))
	require.Empty(t, d.Anomalies)
	require.EqualValues(t, 2, d.Queues[0].StillPending)
	require.Contains(t, d.Notices, "2 logs, of which each was judged alone")
}

// A log from which the commands of scripts were filtered out says so.
func TestFiltered(t *testing.T) {
	s := newStory("4.7.0")
	s.script(wire.ScriptOffer, []string{"orders", orders.TimeoutSet, orders.Pending, orders.Channel}, "1700000009000", "12345678", "a")
	d := s.read(t)
	require.NotNil(t, d.Redisson)
	require.Contains(t, strings.Join(d.Notices, "\n"), "was it filtered?")
}

// The story of a message: who offered it, when it came and who took it, with the lines; a guard's part too.
func TestStory(t *testing.T) {
	s := newStory("4.7.0")
	s.add("10.0.0.2:1", "BLPOP", "orders", "0")
	a := s.offer(`{"order":7}`, 1000)
	b := s.offer(`{"order":8}`, 1000)
	held := wire.PrefixName("redisson_delay_queue_guard", "orders")
	guard := ops.Scripts()[0]
	s.peer = "10.0.0.9:1"
	for _, m := range []string{a, b} { // ahead of time
		s.client("EVALSHA", guard.SHA1, "1", orders.TimeoutSet)
		s.inner("zadd", held, "1700000001000", m)
		s.inner("lrem", orders.Pending, "1", m)
		s.inner("zrem", orders.TimeoutSet, m)
	}
	s.wait(1030)
	s.client("EVALSHA", guard.SHA1, "1", orders.TimeoutSet)
	s.inner("rpush", "orders", `{"order":7}`, `{"order":8}`)
	s.inner("zrem", held, a, b)
	r := &analysis.Reader{Analysis: analysis.New()}
	r.Where = ".order == 7"
	r.Match, _ = ops.Match(r.Where)
	require.NoError(t, r.Log(t.Context(), opened(strings.NewReader(s.out.String()))))
	d := r.Document()
	require.Empty(t, d.Anomalies)
	q := d.Queues[0]
	require.Equal(t, []int64{2, 2, 1, 0, 0}, []int64{q.Offers, q.Transferred, q.Taken, q.Removed, q.StillPending})
	require.InDelta(t, 30, q.Lateness.Max, 2)
	var out strings.Builder
	require.NoError(t, d.WriteStories(&out, r.Where))
	require.Regexp(t, `(?s)^orders  .*"order":7.*offered by 10\.0\.0\.1, due .*\(line 2\).*taken out by a guard.*delivered by 10\.0\.0\.9, 3.ms after it was due.*taken by 10\.0\.0\.2`, out.String())
	require.NotContains(t, out.String(), "order\":8")
}
