package load

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// machineWatch looks at what stands beside an implementation while it is measured: this process, the
// agents, their machine, and the server. Each is looked at before the measured phase and after it.
type machineWatch struct {
	engine *engine
	meter  *meter

	began    time.Time
	offering float64 // for how many seconds messages were offered
	tool     usedBy
	toolUsed *run.ToolUsage
	programs map[link]*usedBy
	program  *run.ToolUsage

	server, serverAfter usages
	slow, slowAfter     slowlogs
	serverErr           error

	asked                      time.Time // when server was
	serverShare                float64   // until offered was called
	cpus, cpusOffer, cpusAfter cpuTimes
	cpusTold                   bool

	end    context.CancelFunc // of looking at the server each second
	looked chan struct{}
	each   []usageAt
}

// usedBy is what a process had used at the start and at the end of the offers.
type usedBy struct{ before, offered agent.Usage }

// usageAt is the work of the servers up to an instant.
type usageAt struct {
	at   time.Time
	done usages
}

// watchMachine has a meter run, which must be ended.
func (e *engine) watchMachine(ctx context.Context) *machineWatch {
	b := &machineWatch{engine: e, began: time.Now(), programs: map[link]*usedBy{}, looked: make(chan struct{})}
	b.slow = e.slowlogs(ctx)
	b.server, b.serverErr = e.serverUsage(ctx)
	b.asked = time.Now()
	b.cpus, b.cpusTold = readCPUTimes()
	b.tool.before = agent.ReadUsage()
	b.askAgents(ctx, func(u *usedBy, now agent.Usage) { u.before = now })
	b.meter = startMeter(e.Clock, e.epoch)
	var looking context.Context
	looking, b.end = context.WithCancel(context.WithoutCancel(ctx))
	go b.lookEachSecond(looking)
	return b
}

// lookEachSecond asks the server what it has done, until ctx ends.
func (b *machineWatch) lookEachSecond(ctx context.Context) {
	defer close(b.looked)
	if b.engine.Redis == nil {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		if done, err := b.engine.Redis.usages(asking); err == nil {
			b.each = append(b.each, usageAt{time.Now(), done})
		}
		cancel()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// askAgents asks the process of each agent on this machine what it has used. One that joins later has
// used nothing at the start.
func (b *machineWatch) askAgents(ctx context.Context, keep func(u *usedBy, now agent.Usage)) {
	asked := map[link]bool{}
	for _, m := range b.engine.members {
		if _, isHere := m.link.(*here); isHere || !m.there() || asked[m.link] {
			continue
		}
		asked[m.link] = true
		result, err := m.call(ctx, askTimeout, "load.usage", nil)
		var now agent.Usage
		if err != nil || json.Unmarshal(result, &now) != nil || !(now.CPUSeconds >= 0) || now.Processors < 1 {
			continue
		}
		if b.programs[m.link] == nil {
			b.programs[m.link] = &usedBy{}
		}
		keep(b.programs[m.link], now)
	}
}

// offered looks when no more messages are offered.
func (b *machineWatch) offered(ctx context.Context) {
	b.offering = time.Since(b.began).Seconds()
	b.tool.offered = agent.ReadUsage()
	b.askAgents(ctx, func(u *usedBy, now agent.Usage) { u.offered = now })
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
func (b *machineWatch) ended(ctx context.Context) {
	b.meter.end()
	b.end()
	<-b.looked
	now := agent.ReadUsage()
	b.toolUsed = b.tool.until(now, b.offering)
	b.toolUsed.SchedulingP99 = int64(now.SchedulingP99(b.tool.before))
	b.askAgents(ctx, func(u *usedBy, now agent.Usage) {
		used := u.until(now, b.offering)
		if b.program == nil {
			b.program = &run.ToolUsage{}
		}
		b.program.CPUSeconds += used.CPUSeconds
		b.program.GCPauseSeconds += used.GCPauseSeconds
		b.program.CPUShare = max(b.program.CPUShare, used.CPUShare)
	})
	if b.cpusTold {
		b.cpusAfter, b.cpusTold = readCPUTimes()
	}
	if b.serverErr == nil {
		b.serverAfter, b.serverErr = b.engine.serverUsage(ctx)
	}
	b.slowAfter = b.engine.slowlogs(ctx)
}

// until is what the process has used, offering having lasted so many seconds.
func (u usedBy) until(now agent.Usage, offering float64) *run.ToolUsage {
	used := &run.ToolUsage{CPUSeconds: now.CPUSeconds - u.before.CPUSeconds, GCPauseSeconds: now.GCPauseSeconds - u.before.GCPauseSeconds}
	if offering > 0 && now.Processors > 0 {
		used.CPUShare = max(u.offered.CPUSeconds-u.before.CPUSeconds, 0) / offering / float64(now.Processors)
	}
	return used
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
func (b *machineWatch) tell(out *run.Document, p *phase) {
	out.ToolUsage, out.ProgramUsage = b.toolUsed, b.program
	out.Machine = &run.Machine{Hiccups: b.meter.seen()}
	b.meter.spread(out.Intervals, p.collector.start)
	b.spread(out.Intervals, p.start)
	p.collector.mu.Lock()
	p.sortLatest()
	latest := p.latest[:min(int64(len(p.latest)), max(out.Counts.Delivered/100, 1))]
	for _, late := range p.lateByTool {
		if b.meter.fills(late) {
			p.offers.LateForTool--
			p.offers.LateForMachine++
		}
	}
	p.collector.mu.Unlock()
	out.Machine.Late = b.meter.heldUp(latest)
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

// spread tells each second of a run what the server did in it.
func (b *machineWatch) spread(seconds []run.Interval, start time.Time) {
	for i := 1; i < len(b.each); i++ {
		done, err := b.each[i].done.since(b.each[i-1].done)
		k := int(b.each[i].at.Sub(start) / time.Second)
		if err != nil || k < 0 || k >= len(seconds) {
			continue
		}
		u := done.total()
		seconds[k].Transfers += u.transferCalls
		seconds[k].Commands += u.commands
		seconds[k].ServerCPUSeconds += u.cpuSeconds
	}
}

func serverStats(u usage, delivered int64) *run.ServerStats {
	stats := &run.ServerStats{TransferCalls: u.transferCalls, Commands: u.commands, CPUSeconds: u.cpuSeconds}
	if delivered > 0 {
		stats.TransferCallsPerMessage = float64(u.transferCalls) / float64(delivered)
	}
	return stats
}
