package load

import (
	"context"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// beside is what stands beside an implementation while it is measured: this process, its
// machine, and the server. Each is looked at before the measured phase and after it.
type beside struct {
	engine *engine
	meter  *meter

	tool     *toolWatch
	toolUsed *run.ToolUsage

	server, serverAfter usages
	slow, slowAfter     slowlogs
	serverErr           error

	asked                      time.Time // when server was
	serverShare                float64   // until offered was called
	cpus, cpusOffer, cpusAfter cpuTimes
	cpusTold                   bool
}

// lookBeside has a meter run, which must be ended.
func (e *engine) lookBeside(ctx context.Context) *beside {
	b := &beside{engine: e}
	b.slow = e.slowlogs(ctx)
	b.server, b.serverErr = e.serverUsage(ctx)
	b.asked = time.Now()
	b.cpus, b.cpusTold = readCPUTimes()
	b.tool = watchTool()
	b.meter = startMeter(e.Clock, e.epoch)
	return b
}

// offered looks when no more messages are offered.
func (b *beside) offered(ctx context.Context) {
	b.tool.offered()
	if b.cpusTold {
		b.cpusOffer, b.cpusTold = readCPUTimes()
	}
	now, err := b.engine.serverUsage(ctx)
	length := time.Since(b.asked).Seconds()
	if b.serverErr != nil || err != nil {
		return // that it did not answer now is no matter if it does in the end
	}
	done, err := now.since(b.server)
	b.serverErr = err
	for _, u := range done {
		b.serverShare = max(b.serverShare, u.cpuSeconds/length)
	}
}

// ended looks again, when all that is measured has come.
func (b *beside) ended(ctx context.Context) {
	b.meter.end()
	b.toolUsed = b.tool.used()
	if b.cpusTold {
		b.cpusAfter, b.cpusTold = readCPUTimes()
	}
	if b.serverErr == nil {
		b.serverAfter, b.serverErr = b.engine.serverUsage(ctx)
	}
	b.slowAfter = b.engine.slowlogs(ctx)
}

// serverUsage asks the server even after an interrupt.
func (e *engine) serverUsage(ctx context.Context) (usages, error) {
	switch {
	case e.Redis == nil:
		return nil, nil
	case e.isGone():
		return nil, errGone
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	return e.Redis.usages(asking)
}

// slowlogs are nil where they are not known.
func (e *engine) slowlogs(ctx context.Context) slowlogs {
	if e.Redis == nil || e.isGone() {
		return nil
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	return e.Redis.slowlogs(asking)
}

// tell writes into the run document what was seen while it was worked on.
func (b *beside) tell(out *run.Document, w *work) {
	out.ToolUsage = b.toolUsed
	out.Machine = &run.Machine{Hiccups: b.meter.seen()}
	b.meter.spread(out.Intervals, b.engine.epoch.wall(w.start))
	if latest, told := w.latest(); told {
		out.Machine.Late = b.meter.heldUp(latest[:min(int64(len(latest)), max(out.Counts.Delivered/100, 1))])
	}
	if b.cpusTold {
		steal := float64(b.cpusAfter.minus(b.cpus).steal) / ticksPerSecond
		out.Machine.StealSeconds = &steal
		if d := b.cpusOffer.minus(b.cpus); d.total > 0 {
			out.Machine.BusyShare = max(float64(d.total-d.idle)/float64(d.total), 0)
		}
	}
	if b.engine.Redis == nil {
		return
	}
	var done usages
	if b.serverErr == nil {
		done, b.serverErr = b.serverAfter.since(b.server)
	}
	if b.serverErr != nil {
		b.engine.note("no server statistics: %v", b.serverErr)
		return
	}
	out.ServerStats = serverStats(done.total(), out.Counts.Delivered)
	out.ServerStats.CPUShare = b.serverShare
	out.ServerStats.SlowCommands = b.slowAfter.since(b.slow)
}

func serverStats(u usage, delivered int64) *run.ServerStats {
	stats := &run.ServerStats{TransferCalls: u.transferCalls, Commands: u.commands, CPUSeconds: u.cpuSeconds}
	if delivered > 0 {
		stats.TransferCallsPerMessage = float64(u.transferCalls) / float64(delivered)
	}
	return stats
}
