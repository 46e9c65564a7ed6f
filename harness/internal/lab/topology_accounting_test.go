package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
)

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
