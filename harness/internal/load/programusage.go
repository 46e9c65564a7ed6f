package load

import (
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// span is from when to when a part was there while messages were offered.
type span struct{ from, to time.Duration }

// spanOf is that of a member which comes and goes at these instants, 0 for the beginning and
// the end.
func spanOf(from, to, end time.Duration) span {
	if to == 0 {
		to = end
	}
	return span{min(from, end), min(to, end)}
}

// programUsage adds up what the programs of all parts used while messages were offered for so
// long; nil if none tells.
func programUsage(parts []*outcome, offered time.Duration) *run.ToolUsage {
	byProcess := map[*program.Process][]*outcome{}
	for _, o := range parts {
		if o.tool != nil {
			byProcess[o.process] = append(byProcess[o.process], o)
		}
	}
	if len(byProcess) == 0 {
		return nil
	}
	sum := &run.ToolUsage{}
	for _, told := range byProcess {
		u := usageOfOne(told, offered)
		sum.CPUSeconds += u.CPUSeconds
		sum.GCPauseSeconds += u.GCPauseSeconds
		sum.CPUShare, sum.SchedulingP99 = max(sum.CPUShare, u.CPUShare), max(sum.SchedulingP99, u.SchedulingP99)
	}
	return sum
}

// usageOfOne is what one process used. Parts that share it tell of the same: the one that tells
// most stands for it. Its share is that of the time in which one of them was there, of all the
// time: a JVM that starts in the middle is busy with itself for a second or two.
func usageOfOne(told []*outcome, offered time.Duration) (used run.ToolUsage) {
	shares, length := 0., time.Duration(0)
	for _, o := range told {
		used.CPUSeconds, used.GCPauseSeconds = max(used.CPUSeconds, o.tool.CPUSeconds), max(used.GCPauseSeconds, o.tool.GCPauseSeconds)
		used.SchedulingP99 = max(used.SchedulingP99, o.tool.SchedulingP99)
		there := o.span.to - o.span.from
		shares += o.tool.CPUShare * float64(there)
		length += there
	}
	if length > 0 && offered > 0 {
		used.CPUShare = shares / float64(length) * float64(covered(told)) / float64(offered)
	}
	return used
}

// covered is for how long at least one of the parts was there.
func covered(told []*outcome) (total time.Duration) {
	spans := make([]span, 0, len(told))
	for _, o := range told {
		spans = append(spans, o.span)
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
	end := time.Duration(0)
	for _, s := range spans {
		if s.to > end {
			total += s.to - max(s.from, end)
			end = s.to
		}
	}
	return total
}
