package run

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is at its limit while the load is made is told apart: what makes the load, which makes a run invalid, and the server and
// the machine, which explain why a load was not made.
func TestWhoWasAtTheLimit(t *testing.T) {
	tool := func(share float64) func(*Document) {
		return func(r *Document) { r.ToolUsage = &ToolUsage{CPUShare: share} }
	}
	program := func(share float64) func(*Document) {
		return func(r *Document) { r.ProgramUsage = &ToolUsage{CPUShare: share} }
	}
	server := func(share float64) func(*Document) {
		return func(r *Document) { r.ServerStats.CPUShare = share }
	}
	machine := func(busy float64) func(*Document) {
		return func(r *Document) { r.Machine = &Machine{BusyShare: busy} }
	}
	oneOfFour := func(r *Document) { r.Environment.CPUs, r.Environment.GOMAXPROCS = 4, 1 }
	behind := func(r *Document) { late(r, 50) }
	short := func(r *Document) { r.Intervals[0].Second = .5 }
	for name, tc := range map[string]struct {
		changes []func(*Document)
		valid   bool
		says    string // contained in the reasons
		not     string
	}{
		"a quiet machine":               {[]func(*Document){tool(.1), machine(.3)}, true, "", ""},
		"files of before that was told": {nil, true, "", ""},
		"the tool is saturated": {[]func(*Document){tool(.93), machine(1)}, false,
			"dq-bench itself was at its limit: while messages were offered it used 93.0 % of its processors' time", ""},
		"the tool took what there was": {[]func(*Document){tool(.73), machine(.92)}, false,
			"used 73.0 % of its processors' time", ""},
		"the tool took much, and something was left":  {[]func(*Document){tool(.78), machine(.88)}, true, "", ""},
		"the tool and the server took all":            {[]func(*Document){tool(.5), server(.8), machine(1)}, true, "", ""},
		"the tool had one processor of four, not all": {[]func(*Document){tool(.8), machine(.95), oneOfFour}, true, "", ""},
		"other work beside the run":                   {[]func(*Document){tool(.3), machine(1)}, true, "", ""},
		"other work, and offers are late":             {[]func(*Document){tool(.3), machine(1), behind}, false, "the machine was at its limit while messages were offered: 100.0 % of its processors' time was taken, 30.0 % of it by the run", "dq-bench itself"},
		"the program is saturated":                    {[]func(*Document){tool(.02), program(.95)}, false, "the program that made the load was at its limit", "dq-bench itself"},
		"the server is saturated":                     {[]func(*Document){tool(.4), server(.98)}, true, "", ""},
		"tool and server are":                         {[]func(*Document){tool(.95), server(.98), behind}, false, "dq-bench itself was at its limit", "the server"},
		"for half a second":                           {[]func(*Document){tool(.95), short}, true, "", ""},
		"for 20 ms of a second":                       {[]func(*Document){tool(.95), func(r *Document) { r.Scenario.Duration = "20ms" }}, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := sampleRun(1, 100, 1)
			for _, change := range tc.changes {
				change(r)
			}
			v := r.Judge(nil)
			require.Equal(t, tc.valid, r.Valid(), v.Text)
			require.Equal(t, tc.valid, v.Passed)
			require.Contains(t, v.Text, tc.says)
			if tc.not != "" {
				require.NotContains(t, v.Text, tc.not)
			}
		})
	}
}
