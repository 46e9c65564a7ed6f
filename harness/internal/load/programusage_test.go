package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// The share of a program is one of all the time in which messages were offered.
func TestShareOfAProgram(t *testing.T) {
	const s, offered = time.Second, 10 * time.Second
	one, other := &program.Process{}, &program.Process{}
	part := func(p *program.Process, share float64, from, to time.Duration) *outcome {
		return &outcome{process: p, tool: &run.ToolUsage{CPUShare: share, CPUSeconds: 1}, span: spanOf(from, to, offered)}
	}
	for name, tc := range map[string]struct {
		parts []*outcome
		share float64
	}{
		"all the time":                    {[]*outcome{part(one, .8, 0, 0)}, .8},
		"the second half":                 {[]*outcome{part(one, .8, 5*s, 0)}, .4},
		"twenty that share it":            {[]*outcome{part(one, .8, 0, 0), part(one, .8, 0, 0), part(one, .8, 0, 0)}, .8},
		"one after the other, a gap":      {[]*outcome{part(one, .5, 0, 4*s), part(one, .5, 6*s, 0)}, .4},
		"two that overlap":                {[]*outcome{part(one, .5, 0, 6*s), part(one, .5, 4*s, 0)}, .5},
		"two programs: the busier counts": {[]*outcome{part(one, .5, 0, 0), part(other, .6, 0, 0)}, .6},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDelta(t, tc.share, programUsage(tc.parts, offered).CPUShare, 1e-9)
		})
	}
	require.Nil(t, programUsage([]*outcome{{}}, offered))
}
