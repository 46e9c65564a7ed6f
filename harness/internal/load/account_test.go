package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// at is an instant of the run in ms, as the ledger has it.
func at(ms int64) int64 { return time.Unix(1000, 0).UnixNano() + ms*int64(time.Millisecond) }

func event(f plan.Fault, from, to int64) Event {
	return Event{Fault: f, From: time.Unix(0, at(from)), To: time.Unix(0, at(to))}
}

func TestMessagesAreAccountedFor(t *testing.T) {
	start := time.Unix(0, at(0))
	messages := []Message{
		{}, // never offered
		{Due: at(500), Sent: at(10), Answered: at(11), Came: at(501)},
		{Due: at(600), Sent: at(20), Answered: at(21), Came: at(601), Again: 2},
		{Due: at(700), Sent: at(30), Answered: at(31), Failed: true},
		{Due: at(700), Sent: at(31), Answered: at(32), Failed: true, Refused: true},
		{Due: at(800), Sent: at(40), Answered: at(41), Failed: true, Came: at(5000)}, // too late to show anything
		{Due: at(900), Sent: at(50), Came: at(2250)},
		{Due: at(2300), Sent: at(60), Answered: at(61), Came: at(2399)}, // on time
		{Due: at(1000), Sent: at(70), Answered: at(71), Pending: true},
		{Due: at(1100), Sent: at(80), Answered: at(81)},
		{Due: at(9000), Sent: at(90), Answered: at(91)},
	}
	stall := event(plan.Fault{Kind: "stall", For: time.Second}, 1000, 2000)
	stall.Times = 3
	after := event(plan.Fault{Kind: "cut"}, 6000, 6000)
	got := account(plan.Plan{Consumers: 1}, start, time.Unix(0, at(10_000)), messages, []Event{stall, after})
	resumed := int64(399 * time.Millisecond)
	require.Equal(t, &run.Faults{
		Offered: 10, Acknowledged: 6, Refused: 1, Uncertain: 3, UncertainCame: 2, Lost: 2, LostBeyond: 1, Duplicate: 2,
		Events: []run.FaultEvent{
			{Kind: "stall", Text: "stall at 0s for 1s", From: 1, To: 2, Times: 3, MayLose: "nothing", ResumedNs: &resumed},
			{Kind: "cut", Text: "cut at 0s", From: 6, To: 6, MayLose: "what is on its way to a consumer"},
		},
	}, got)
	killed := plan.Plan{Consumers: 1, Fleet: []plan.Member{{Takes: true, To: 2 * time.Second, Kill: true}, {To: time.Second}}}
	require.Equal(t, []run.FaultEvent{
		{Kind: "kill-member", Text: "kill-member at 2s", From: 2, To: 2, MayLose: "what is on its way to a consumer", ResumedNs: &resumed},
	}, account(killed, start, time.Unix(0, at(10_000)), messages, nil).Events)
	_, ok := got.Resumed()
	require.False(t, ok)
}

// A clock that was wrong accounts for what came early of it, and for what is held for it.
func TestWhatAWrongClockAccountsFor(t *testing.T) {
	pending := func(sent int64) Message {
		return Message{Due: at(sent + 100), Sent: at(sent), Answered: at(sent + 1), Pending: true}
	}
	early := func(sent, came int64) Message {
		return Message{Due: at(came + 100), Sent: at(sent), Answered: at(sent + 1), Came: at(came)}
	}
	messages := []Message{
		early(10, 900), early(10, 1000), early(10, 2500), early(10, 3001), pending(500), pending(1500),
		{Due: at(2100), Sent: at(10), Answered: at(11), Came: at(2099)}, // no more than the tolerance
	}
	wrong := func(by time.Duration) *run.Faults {
		e := event(plan.Fault{Kind: plan.WrongClock, Member: 1, By: by, For: time.Second}, 1000, 2000)
		return account(plan.Plan{Consumers: 1}, time.Unix(0, at(0)), time.Unix(0, at(5000)), messages, []Event{e})
	}
	ahead := wrong(time.Hour)
	require.Equal(t, []int64{4, 2, 1}, []int64{ahead.Early, ahead.EarlyBeyond, ahead.Postponed})
	require.Equal(t, int64(99*time.Millisecond), *ahead.Events[0].ResumedNs, "what is early says nothing of that")
	messages = append(messages, early(1500, 1501))
	behind := wrong(-time.Hour)
	require.Equal(t, []int64{5, 4, 0}, []int64{behind.Early, behind.EarlyBeyond, behind.Postponed})
}

// What a fault may lose accounts for no more than that.
func TestLossesBeyondWhatMayBe(t *testing.T) {
	lost := func(answered, due int64) Message {
		return Message{Due: at(due), Sent: at(answered - 1), Answered: at(answered)}
	}
	kill := func(aof string) Event {
		return event(plan.Fault{Kind: "kill-server", For: time.Second, AOF: aof}, 5000, 6000)
	}
	takes := event(plan.Fault{Kind: plan.LoseReplies, Count: 5, Commands: []string{"take"}}, 5000, 6000)
	takes.Times = 3
	for name, tc := range map[string]struct {
		events   []Event
		messages []Message
		beyond   int64
	}{
		"nothing broke":          {nil, []Message{lost(100, 200)}, 1},
		"may lose nothing":       {[]Event{event(plan.Fault{Kind: "flush-scripts"}, 5000, 5000)}, []Message{lost(100, 200)}, 1},
		"one for each consumer":  {[]Event{event(plan.Fault{Kind: "cut"}, 5000, 5000)}, []Message{lost(1, 5000), lost(1, 5500), lost(1, 5001)}, 1},
		"due long before":        {[]Event{event(plan.Fault{Kind: "cut"}, 5000, 5000)}, []Message{lost(1, 3999)}, 1},
		"of a backlog":           {[]Event{event(plan.Fault{Kind: "cut"}, 5000, 5000)}, []Message{lost(1, 3000), {Due: at(2999), Sent: at(1), Answered: at(2), Came: at(4500)}}, 0},
		"who took nothing":       {[]Event{event(plan.Fault{Kind: plan.KillMember}, 5000, 5000)}, []Message{lost(1, 5000)}, 1},
		"due long after":         {[]Event{event(plan.Fault{Kind: "cut"}, 5000, 5000)}, []Message{lost(1, 6001)}, 1},
		"of two events":          {[]Event{event(plan.Fault{Kind: "cut"}, 5000, 5000), event(plan.Fault{Kind: "cut"}, 5500, 5500)}, []Message{lost(1, 4501), lost(1, 4502), lost(1, 4503), lost(1, 5000)}, 0},
		"of two events and more": {[]Event{event(plan.Fault{Kind: "cut"}, 5000, 5000), event(plan.Fault{Kind: "cut"}, 5500, 5500)}, []Message{lost(1, 4501), lost(1, 4502), lost(1, 4503), lost(1, 5000), lost(1, 4506)}, 1},
		"as often as it was":     {[]Event{takes}, []Message{lost(1, 4501), lost(1, 4502), lost(1, 4503), lost(1, 4504)}, 1},
		"always":                 {[]Event{kill("always")}, []Message{lost(1, 5000), lost(2, 5000), lost(4900, 5000)}, 1},
		"once a second":          {[]Event{kill("everysec")}, []Message{lost(4000, 9000), lost(4999, 9000), lost(3999, 9000)}, 1},
		"without a file":         {[]Event{kill("off")}, []Message{lost(1, 9000), lost(4999, 9000), lost(6001, 9000)}, 1},
		"all keys removed":       {[]Event{event(plan.Fault{Kind: "flush-all"}, 5000, 5001)}, []Message{lost(1, 9000), lost(5002, 9000)}, 1},
	} {
		require.Equal(t, tc.beyond, account(plan.Plan{Consumers: 2}, time.Unix(0, at(0)), time.Unix(0, at(20_000)), tc.messages, tc.events).LostBeyond, name)
	}
}
