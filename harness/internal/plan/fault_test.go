package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFaultsAreChecked(t *testing.T) {
	second := func(n int) Span { return Span{time.Duration(n) * time.Second, time.Duration(n) * time.Second} }
	for want, faults := range map[string][]Fault{
		"":                               {{Kind: "cut", At: second(0)}, {Kind: "slow", At: second(2), For: time.Second, Latency: time.Millisecond}, {Kind: "kill-server", At: second(3), For: 1, AOF: "no"}, {Kind: WrongClock, At: second(4), For: 1, Member: 1, By: -time.Hour}},
		`no kind "kut" (did you`:         {{Kind: "kut"}},
		"expected for beside it":         {{Kind: "stall"}},
		"slow: expected latency":         {{Kind: "slow", For: time.Second}},
		"cut has no for":                 {{Kind: "cut", For: time.Second}},
		"cut has no commands":            {{Kind: "cut", Commands: []string{"GET"}}},
		"for to be above 0":              {{Kind: "stall", For: -1}},
		"count to be 1 to 10000, got -1": {{Kind: "foreign-members", Count: -1}},
		"slow: expected latency to be above 0, at most 1h0m0s, got 2562047h0m0s": {{Kind: "slow", For: 1, Latency: 2562047 * time.Hour}},
		"by to be -8760h0m0s to 8760h0m0s, got 8761h0m0s":                        {{Kind: WrongClock, For: 1, Member: 1, By: 8761 * time.Hour}},
		"aof to be one of always":                                                {{Kind: "kill-server", For: 1, AOF: "sometimes"}},
		"one aof for the server":                                                 {{Kind: "kill-server", For: 1, AOF: "no"}, {Kind: "kill-server", At: second(1), For: 1, AOF: "off"}},
		"at to be 0s or more":                                                    {{Kind: "cut", At: Span{-1, 0}}},
		"or a range SHORTEST":                                                    {{Kind: "cut", At: Span{2, 1}}},
		"to end before the offers":                                               {{Kind: "cut", At: second(10)}},
		"stall at 2s for 9s to end":                                              {{Kind: "stall", At: second(2), For: 9 * time.Second}},
		"one at a time, got stall":                                               {{Kind: "cut", At: second(3)}, {Kind: "stall", At: second(2), For: 2 * time.Second}},
		"expected member beside it":                                              {{Kind: WrongClock, For: 1, By: time.Hour}},
		"which has 4, got 5":                                                     {{Kind: WrongClock, For: 1, Member: 5, By: time.Hour}},
		"be there meanwhile, it is":                                              {{Kind: WrongClock, At: second(3), For: 1, Member: 4, By: time.Hour}},
		"that is not killed, got 2":                                              {{Kind: WrongClock, For: 1, Member: 2, By: time.Hour}},
	} {
		p := DefaultPlan()
		p.Fleet = []Member{{Offers: true, Takes: true}, {Offers: true, Takes: true, To: time.Second, Kill: true}, {}, {From: 4 * time.Second}}
		p.Queue, p.Faults = "q", faults
		err := p.Validate()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	p := fullPlan()
	require.ErrorContains(t, p.Validate(), "expected no cancel beside them")
}

// Each kind is told apart, says what it does, and needs what is a parameter.
func TestFaultKinds(t *testing.T) {
	known := map[string]bool{}
	for _, p := range (Fault{}).parameters() {
		known[p.key] = true
	}
	seen := map[string]bool{}
	for _, k := range FaultKinds {
		require.False(t, seen[k.Kind], k.Kind)
		seen[k.Kind] = true
		require.NotEmpty(t, k.Help)
		for _, key := range slices.Concat(k.Needs, k.May) {
			require.True(t, known[key], "%s: %s", k.Kind, key)
		}
	}
	require.Equal(t, AllBefore, Fault{Kind: "kill-server", AOF: "off"}.Info().Loss)
	require.Equal(t, LastSecond, Fault{Kind: "kill-server", AOF: "everysec"}.Info().Loss)
	require.Equal(t, OnTheWay, Fault{Kind: LoseReplies, Commands: []string{"take"}}.Info().Loss)
	require.Equal(t, NoLoss, Fault{Kind: LoseReplies}.Info().Loss)
	require.Equal(t, Between(time.Second, time.Hour).Of(7, 3, 1), Fault{At: Span{time.Second, time.Hour}}.Starts(7, 3), "drawn as delays are")
}
