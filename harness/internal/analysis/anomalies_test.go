package analysis_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
)

func TestAnomalies(t *testing.T) {
	tests := map[string]struct {
		tell   func(s *story)
		kinds  []analysis.Kind
		detail string // of the first one
		lines  []int64
	}{
		"foreign member": {func(s *story) {
			s.transfer(true)
			s.release = wire.Release{Major: 3, Minor: 21, Patch: 0}
			s.offer("old", 9000)
			s.release = wire.Newest()
			s.transfer(true)
		}, []analysis.Kind{analysis.ForeignMember}, "transfer-v2 reads Bc0Lc0", []int64{8, 4}},
		"unreadable member": {func(s *story) {
			s.client("ZADD", orders.TimeoutSet, "1700000009000", "what a tool has put here")
			s.client("RPUSH", orders.Pending, "what a tool has put here")
			s.transfer(true)
		}, []analysis.Kind{analysis.ForeignMember}, "the first of neither layout", []int64{3, 1}},
		"poison loop": {func(s *story) {
			good := s.offer("good", 500)
			s.release = wire.Release{Major: 3, Minor: 21, Patch: 0}
			s.offer("old", 600)
			s.release = wire.Newest()
			s.wait(1000)
			s.transfer(false, good)
			s.wait(1400)
			s.transfer(false, good)
			s.client("PING")
		}, []analysis.Kind{analysis.ForeignMember, analysis.PoisonLoop}, "1 member", []int64{9, 5}},
		"stall": {func(s *story) {
			s.transfer(true)
			a := s.offer("a", 1000)
			s.wait(48_000)
			s.transfer(true, a)
		}, []analysis.Kind{analysis.Stall, analysis.Overdue}, "for 47.", []int64{4, 8}},
		"a transfer that waits to be sent": {func(s *story) {
			s.transfer(true)
			a := s.offer("a", 1000)
			s.wait(9_000)
			s.skew = -7_900 // it named its time before it waited
			s.transfer(true, a)
		}, []analysis.Kind{analysis.Stall, analysis.Overdue}, "7.901s later", []int64{4, 8}},
		"nobody transfers": {func(s *story) {
			s.offer("a", 1000)
			s.wait(48_000)
			s.client("PING")
		}, []analysis.Kind{analysis.NoSubscriber, analysis.Overdue}, "no client was subscribed", []int64{1}},
		"the one that transfers leaves": {func(s *story) {
			s.client("SUBSCRIBE", orders.Channel)
			s.transfer(true)
			s.client("UNSUBSCRIBE", orders.Channel)
			s.offer("a", 1000)
			s.wait(48_000)
			s.client("PING")
		}, []analysis.Kind{analysis.NoSubscriber, analysis.Overdue}, "no client was subscribed", []int64{6}},
		"backlog": {func(s *story) {
			s.transfer(true)
			a, b := s.offer("a", 1000), s.offer("b", 1000)
			s.wait(3_000)
			s.transfer(true, a)
			s.wait(6_500)
			s.transfer(true, b)
		}, []analysis.Kind{analysis.Overdue, analysis.Overdue}, "late", []int64{4, 12}},
		"a clock that is ahead": {func(s *story) {
			s.transfer(true)
			a := s.offer("a", 9000)
			s.wait(2000)
			s.peer, s.skew = "10.0.0.7:1", 7500
			s.transfer(true, a)
		}, []analysis.Kind{analysis.Early}, "early", []int64{4, 8}},
		"offer sent again": {func(s *story) {
			random, member := s.member("a")
			s.offerMember("a", random, member, storyBegins/1000+9000)
			s.wait(4500)
			s.offerMember("a", random, member, storyBegins/1000+9000)
			s.wait(9010)
			s.transfer(true, member)
		}, []analysis.Kind{analysis.ResentOffer, analysis.Ghost}, "offered again", []int64{1, 5}},
		"value offered twice": {func(s *story) {
			s.offer("a", 9000)
			s.offer("a", 9000)
		}, []analysis.Kind{analysis.DuplicateOffer}, "1 time", []int64{1, 5}},
		"orphan": {func(s *story) {
			m := s.offer("a", 9000)
			s.script(wire.ScriptRetainAll, []string{orders.Pending}, "b")
			s.inner("lrange", orders.Pending, "0", "-1")
			s.inner("LREM", orders.Pending, "0", m)
			s.client("PING")
		}, []analysis.Kind{analysis.Orphan}, "will be delivered", []int64{1, 5}},
		"ghost by hand": {func(s *story) {
			s.client("RPUSH", orders.Pending, "x")
		}, []analysis.Kind{analysis.Ghost}, "never delivered", []int64{1}},
		"unknown script": {func(s *story) {
			s.client("EVAL", "return redis.call('zcard', KEYS[1])", "1", orders.TimeoutSet)
			s.inner("zcard", orders.TimeoutSet)
		}, []analysis.Kind{analysis.UnknownScript}, "no Redisson release sends it", []int64{1}},
		"overflow": {func(s *story) {
			s.transfer(true)
			random, member := s.member("a")
			s.offerMember("a", random, member, math.MinInt64+1000)
			s.wait(3000)
			s.client("PING")
		}, []analysis.Kind{analysis.Overdue}, "overflowed", []int64{4}},

		// What is fine must not be called wrong.
		"clocks that differ": {func(s *story) {
			s.release = release(t, "3.16.6")
			s.skew = -4264
			s.transfer(true)
			a := s.offer("a", 5000)
			s.wait(5060)
			s.transfer(true, a)
		}, nil, "", nil},
		"a transfer that the log ends in": {func(s *story) {
			a := s.offer("a", 500)
			s.wait(510)
			s.transfer(false, a)
		}, nil, "", nil},
		"an offer that the log ends in": {func(s *story) {
			random, member := s.member("a")
			s.script(wire.ScriptOffer, []string{"orders", orders.TimeoutSet, orders.Pending, orders.Channel}, "1700000009000", random, "a")
			s.inner("zadd", orders.TimeoutSet, "1700000009000", member)
		}, nil, "", nil},
		"members from before the log": {func(s *story) {
			_, a := s.member("a")
			_, b := s.member("b")
			s.transfer(true, a)
			s.script(wire.ScriptRemove, []string{orders.Pending, orders.TimeoutSet}, "b")
			s.inner("zrem", orders.TimeoutSet, b)
			s.inner("lrem", orders.Pending, "1", b)
		}, nil, "", nil},
		"poll and clear": {func(s *story) {
			a := s.offer("a", 9000)
			s.offer("b", 9000)
			s.script(wire.ScriptPoll, []string{orders.Pending, orders.TimeoutSet})
			s.inner("lpop", orders.Pending)
			s.inner("zrem", orders.TimeoutSet, a)
			s.client("DEL", orders.Pending, orders.TimeoutSet)
			s.wait(20_000)
			s.client("PING")
		}, nil, "", nil},
		"a fleet of two releases on queues of their own": {func(s *story) {
			s.offer("a", 9000)
			s.release = wire.Release{Major: 3, Minor: 16, Patch: 6}
			s.peer = "10.0.0.5:1"
			s.script(wire.ScriptReadAll, []string{"redisson_delay_queue:{other}"})
			s.inner("lrange", "redisson_delay_queue:{other}", "0", "-1")
		}, nil, "", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory("4.7.0")
			test.tell(s)
			d := s.read(t)
			require.Equal(t, append([]analysis.Kind{}, test.kinds...), kinds(d), "%+v", d.Anomalies)
			if len(test.kinds) == 0 {
				return
			}
			first := d.Anomalies[0]
			require.Equal(t, "orders", first.Queue)
			require.Contains(t, first.Detail, test.detail)
			numbers := []int64{}
			for _, l := range first.Lines {
				numbers = append(numbers, l.Number)
			}
			require.Equal(t, test.lines, numbers)
			require.NotZero(t, d.AnomalyCounts[first.Kind])
		})
	}
}
