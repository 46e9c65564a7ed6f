package load

import (
	"context"
	"errors"
	"time"

	"github.com/dq-bench/dq-bench/harness/run"
)

// beside is what stands beside an implementation while it is measured: this process, its
// machine, and the server. Each is looked at before the measured phase and after it.
type beside struct {
	engine *engine
	meter  *meter

	tool     *toolWatch
	toolUsed *run.ToolUsage

	server, serverAfter usage
	slow, slowAfter     slowlogs
	serverErr           error

	// asked is when the server's processor time was asked for.
	asked                      time.Time
	serverCPU                  map[string]float64
	serverShare                float64 // until offered was called
	cpus, cpusOffer, cpusAfter cpuTimes
	cpusTold                   bool
}

// lookBeside has a meter run, which must be ended.
func (e *engine) lookBeside(ctx context.Context) *beside {
	b := &beside{engine: e}
	b.server, b.slow, b.serverErr = e.serverUsage(ctx)
	b.serverCPU, b.asked = e.serverCPU(ctx), time.Now()
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
	now := b.engine.serverCPU(ctx)
	length := time.Since(b.asked).Seconds()
	for address, seconds := range now {
		if before, ok := b.serverCPU[address]; ok && length > 0 {
			b.serverShare = max(b.serverShare, (seconds-before)/length)
		}
	}
}

// ended looks again, when all that is measured has come.
func (b *beside) ended(ctx context.Context) {
	b.meter.end()
	b.toolUsed = b.tool.used()
	if b.cpusTold {
		b.cpusAfter, b.cpusTold = readCPUTimes()
	}
	var err error
	b.serverAfter, b.slowAfter, err = b.engine.serverUsage(ctx)
	b.serverErr = errors.Join(b.serverErr, err)
}

// serverUsage asks the server even after an interrupt.
func (e *engine) serverUsage(ctx context.Context) (usage, slowlogs, error) {
	switch {
	case e.Redis == nil:
		return usage{}, nil, nil
	case e.isGone():
		return usage{}, nil, errGone
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	used, err := e.Redis.usage(asking)
	return used, e.Redis.slowlogs(asking), err
}

// serverCPU is the processor time of each master; nil where it is not known.
func (e *engine) serverCPU(ctx context.Context) map[string]float64 {
	if e.Redis == nil || e.isGone() {
		return nil
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	return e.Redis.cpuSeconds(asking)
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
	switch {
	case b.engine.Redis == nil:
	case b.serverErr != nil:
		b.engine.note("no server statistics: %v", b.serverErr)
	case b.serverAfter.minus(b.server).negative():
		b.engine.note("no server statistics: the server began to count anew meanwhile, as it does when it is restarted, replaced by a replica, or told to (CONFIG RESETSTAT)")
	default:
		out.ServerStats = serverStats(b.serverAfter.minus(b.server), out.Counts.Delivered)
		out.ServerStats.CPUShare = b.serverShare
		out.ServerStats.SlowCommands = b.slowAfter.since(b.slow)
	}
}

func serverStats(u usage, delivered int64) *run.ServerStats {
	stats := &run.ServerStats{TransferCalls: u.transferCalls, Commands: u.commands, CPUSeconds: u.cpuSeconds}
	if delivered > 0 {
		stats.TransferCallsPerMessage = float64(u.transferCalls) / float64(delivered)
	}
	return stats
}
