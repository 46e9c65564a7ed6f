package plan

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func fleetPlan(members ...Member) Plan {
	p := DefaultPlan()
	p.Queue, p.Producers, p.Consumers, p.Duration, p.Fleet = "q", 7, 6, 10*time.Second, members
	return p
}

// Each message is exactly one part's, and each consumer somebody's at any time.
func TestRolesAreTheWhole(t *testing.T) {
	for name, p := range map[string]Plan{
		"one":     fleetPlan(),
		"three":   fleetPlan(Instances(3)...),
		"upgrade": fleetPlan(Member{Offers: true, Takes: true, To: 4 * time.Second}, Member{Offers: true, Takes: true, From: 3 * time.Second}),
		"restart": fleetPlan(Member{Offers: true, Takes: true, To: 4 * time.Second}, Member{Offers: true, Takes: true, From: 6 * time.Second}),
		"apart":   fleetPlan(Member{Offers: true}, Member{Takes: true}, Member{}),
	} {
		for _, workers := range []int{1, 2, 3} {
			for _, at := range []time.Duration{0, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second, 9 * time.Second} {
				offered, taken := make([]int, p.Producers), make([]int, p.Consumers)
				for m, member := range p.Members() {
					for w := range workers {
						r := RosterOf(p, Role{m, Worker{w, workers}}, Measured)
						for i := range offered {
							if r.Offers(i, at) {
								offered[i]++
								require.True(t, r.OffersEver(i))
							}
						}
						for c := range taken {
							if from, ok := r.Takes(c); ok && from <= at && (member.To == 0 || at < member.To) {
								taken[c]++
							}
						}
					}
				}
				for _, n := range offered {
					require.Equal(t, 1, n, "%s at %s, %d workers", name, at, workers)
				}
				for _, n := range taken {
					if name != "restart" || at < 4*time.Second || at > 6*time.Second {
						require.GreaterOrEqual(t, n, 1, "%s at %s, %d workers", name, at, workers)
					}
				}
			}
		}
	}
}

// A part that has begun a consumer keeps it, and gets those of one that ended.
func TestConsumersOfWhoEnds(t *testing.T) {
	p := fleetPlan(Member{Offers: true, Takes: true, To: 4 * time.Second}, Member{Offers: true, Takes: true, From: 3 * time.Second})
	second := RosterOf(p, Role{Member: 1}, Measured)
	from := map[time.Duration]int{}
	for c := range p.Consumers {
		at, ok := second.Takes(c)
		require.True(t, ok)
		from[at]++
	}
	require.Equal(t, map[time.Duration]int{3 * time.Second: 3, 4 * time.Second: 3}, from)
	warmup := RosterOf(p, Role{Member: 0}, Warmup)
	require.True(t, warmup.Offers(1, 5*time.Second), "the warm-up is the first members' to its end")
}

func TestPartDocument(t *testing.T) {
	p := fleetPlan(Member{Offers: true, Takes: true, To: time.Second}, Member{Offers: true, Takes: true})
	p.Seed, p.Queues, p.Consumers, p.Horizon, p.Poll, p.Work = 1<<63+1, 3, 9, time.Second, time.Millisecond, 1
	p.Cancel = Cancel{.25, 2 * time.Second}
	p.Ramp = []Step{{10, time.Second}, {.5, 10 * time.Second}}
	for _, delay := range []string{"5s", "1s..2s", "1s|2s..3s", "@1s..2s shuffled"} {
		var err error
		p.Delay, err = ParseDelay(delay)
		require.NoError(t, err)
		encoded, err := json.Marshal(Part{RunID: 0xabc, Plan: p, Role: Role{1, Worker{2, 3}}})
		require.NoError(t, err)
		var back Part
		require.NoError(t, json.Unmarshal(encoded, &back))
		require.EqualValues(t, 0xabc, back.RunID)
		require.Equal(t, Role{1, Worker{2, 3}}, back.Role)
		require.Equal(t, p.QueueNames(), back.Plan.QueueNames())
		for _, phase := range []Phase{Warmup, Measured} {
			require.Equal(t, p.Phase(phase), back.Plan.Phase(phase), "%s %c", delay, phase)
		}
		again, err := json.Marshal(back)
		require.NoError(t, err)
		require.JSONEq(t, string(encoded), string(again))
	}
}

func TestPartDocumentRefuses(t *testing.T) {
	encoded, err := json.Marshal(Part{RunID: 1, Plan: fleetPlan()})
	require.NoError(t, err)
	for field, value := range map[string]any{
		"run_id": "xyz", "producers": 0, "queues": []string{}, "phases": map[string]any{}, "seed": -1, "payload_size": 55, "poll": -1,
	} {
		var d map[string]map[string]any
		require.NoError(t, json.Unmarshal(encoded, &d))
		d["plan"][field] = value
		changed, err := json.Marshal(d)
		require.NoError(t, err)
		require.Error(t, json.Unmarshal(changed, new(Part)), field)
	}
	for field, value := range map[string]any{"member": 1, "worker": 1, "workers": 0} {
		var d map[string]map[string]any
		require.NoError(t, json.Unmarshal(encoded, &d))
		d["part"][field] = value
		changed, err := json.Marshal(d)
		require.NoError(t, err)
		require.Error(t, json.Unmarshal(changed, new(Part)), field)
	}
}

func FuzzPart(f *testing.F) {
	encoded, err := json.Marshal(Part{RunID: 1, Plan: fleetPlan(Instances(2)...)})
	require.NoError(f, err)
	f.Add(encoded)
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Part
		if json.Unmarshal(data, &p) != nil {
			return
		}
		again, err := json.Marshal(p)
		require.NoError(t, err)
		var back Part
		require.NoError(t, json.Unmarshal(again, &back))
		require.Equal(t, p.Plan.Phase(Measured), back.Plan.Phase(Measured))
	})
}
