package load

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// machineWatch looks at what stands beside an implementation while it is measured: this process, the agents, their machine,
// and the server. All are looked at before the measured phase, when no more is offered, and at the end.
type machineWatch struct {
	engine *engine
	meter  *meter
	looks  [3]look

	end    context.CancelFunc // of asking the server each second
	ended  chan struct{}
	second []look // the servers alone
}

// look is a look at an instant.
type look struct {
	at       time.Time
	tool     agent.Usage
	programs map[link]agent.Usage
	cpus     cpuTimes
	slow     slowlogs
	servers  usages
	err      error // why the servers did not tell
}

// The looks.
const (
	before = iota
	offered
	after
)

// watchMachine has a meter run, which must be ended.
func (e *engine) watchMachine(ctx context.Context) *machineWatch {
	w := &machineWatch{engine: e, ended: make(chan struct{})}
	w.looks[before] = e.look(ctx)
	w.meter = startMeter(e.Clock, e.epoch)
	var looking context.Context
	looking, w.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(w.ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for e.Redis != nil {
			asking, cancel := context.WithTimeout(looking, time.Second)
			if done, err := e.Redis.usages(asking); err == nil {
				w.second = append(w.second, look{at: time.Now(), servers: done})
			}
			cancel()
			select {
			case <-tick.C:
			case <-looking.Done():
				return
			}
		}
	}()
	return w
}

// look looks, even after an interrupt.
func (e *engine) look(ctx context.Context) look {
	ctx = context.WithoutCancel(ctx)
	l := look{at: time.Now(), tool: agent.ReadUsage(), programs: map[link]agent.Usage{}}
	for _, m := range e.members {
		if _, asked := l.programs[m.link]; asked || !m.there() || m.isHere() {
			continue
		}
		var now agent.Usage
		result, err := m.call(ctx, askTimeout, "load.usage", nil)
		if err == nil && json.Unmarshal(result, &now) == nil && now.CPUSeconds >= 0 && now.Processors > 0 {
			l.programs[m.link] = now
		}
	}
	stat, _ := os.ReadFile("/proc/stat")
	l.cpus, _ = parseCPUTimes(string(stat))
	switch {
	case e.Redis == nil:
	case e.isGone():
		l.err = errGone
	default:
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		l.slow = e.Redis.slowlogs(asking)
		l.servers, l.err = e.Redis.usages(asking)
	}
	return l
}

// lookAfter looks when all that is measured has come.
func (w *machineWatch) lookAfter(ctx context.Context) {
	w.meter.end()
	w.end()
	<-w.ended
	w.looks[after] = w.engine.look(ctx)
}

// used is a process's usage from the first look on. Its share is of the time in which messages were offered.
func (w *machineWatch) used(of func(look) agent.Usage) run.ToolUsage {
	began, stopped, ended := of(w.looks[before]), of(w.looks[offered]), of(w.looks[after])
	u := run.ToolUsage{CPUSeconds: ended.CPUSeconds - began.CPUSeconds, GCPauseSeconds: ended.GCPauseSeconds - began.GCPauseSeconds}
	if offering := w.offering(); offering > 0 && ended.Processors > 0 {
		u.CPUShare = max(stopped.CPUSeconds-began.CPUSeconds, 0) / offering / float64(ended.Processors)
	}
	return u
}

// offering is for how many seconds messages were offered.
func (w *machineWatch) offering() float64 {
	return w.looks[offered].at.Sub(w.looks[before].at).Seconds()
}

// tell writes into the run document what was seen while it was worked on.
func (w *machineWatch) tell(out *run.Document, p *phase) {
	tool := w.used(func(l look) agent.Usage { return l.tool })
	tool.SchedulingP99 = int64(w.looks[after].tool.SchedulingP99(w.looks[before].tool))
	out.ToolUsage = &tool
	for of := range w.looks[after].programs { // one that joined later has used nothing at the start
		used := w.used(func(l look) agent.Usage { return l.programs[of] })
		if out.ProgramUsage == nil {
			out.ProgramUsage = &run.ToolUsage{}
		}
		out.ProgramUsage.CPUSeconds += used.CPUSeconds
		out.ProgramUsage.GCPauseSeconds += used.GCPauseSeconds
		out.ProgramUsage.CPUShare = max(out.ProgramUsage.CPUShare, used.CPUShare)
	}
	out.Machine = &run.Machine{Hiccups: w.meter.seen()}
	w.meter.spread(out.Intervals, p.collector.start)
	p.collector.mu.Lock()
	p.sortLatest()
	latest := p.latest[:min(int64(len(p.latest)), max(out.Counts.Delivered/100, 1))]
	for _, late := range p.lateByTool {
		if w.meter.fills(late) {
			p.offers.LateForTool--
			p.offers.LateForMachine++
		}
	}
	p.collector.mu.Unlock()
	out.Machine.Late = w.meter.heldUp(latest)
	if all, offering := w.looks[after].cpus.since(w.looks[before].cpus), w.looks[offered].cpus.since(w.looks[before].cpus); all.total > 0 {
		steal := float64(all.steal) / ticksPerSecond
		out.Machine.StealSeconds = &steal
		out.Machine.BusyShare = max(float64(offering.total-offering.idle)/float64(max(offering.total, 1)), 0)
	}
	if w.engine.Redis != nil {
		w.tellServer(out, p.start)
	}
}

// tellServer writes what the server did.
func (w *machineWatch) tellServer(out *run.Document, start time.Time) {
	last, first := w.looks[after], w.looks[before]
	done, err := last.servers.since(first.servers)
	for _, told := range []error{last.err, first.err} {
		if told != nil {
			err = told
		}
	}
	if err != nil {
		w.engine.note("no server statistics: %v", err)
		return
	}
	all := done.total()
	out.ServerStats = &run.ServerStats{
		TransferCalls: all.transferCalls, Commands: all.commands, CPUSeconds: all.cpuSeconds, SlowCommands: last.slow.since(first.slow),
		TransferCallsPerMessage: float64(all.transferCalls) / float64(max(out.Counts.Delivered, 1)),
	}
	if stopped := w.looks[offered]; stopped.err == nil { // that it did not answer then is no matter if it does in the end
		done, _ := stopped.servers.since(first.servers)
		for _, one := range done {
			out.ServerStats.CPUShare = max(out.ServerStats.CPUShare, one.cpuSeconds/w.offering())
		}
	}
	for i := 1; i < len(w.second); i++ {
		done, err := w.second[i].servers.since(w.second[i-1].servers)
		if k := int(w.second[i].at.Sub(start) / time.Second); err == nil && k >= 0 && k < len(out.Intervals) {
			u := done.total()
			out.Intervals[k].Transfers += u.transferCalls
			out.Intervals[k].Commands += u.commands
			out.Intervals[k].ServerCPUSeconds += u.cpuSeconds
		}
	}
}

// ticksPerSecond is the unit of /proc/stat: USER_HZ, which is 100 on every architecture that Go runs Linux on.
const ticksPerSecond = 100

// cpuTimes is what the processors of the machine have done since it started, all together, in ticks; 0 where the kernel does
// not tell.
type cpuTimes struct{ total, idle, steal int64 }

// parseCPUTimes reads the first line of /proc/stat: cpu user nice system idle iowait irq softirq steal guest guest_nice. The
// guests' times are in user and nice already.
func parseCPUTimes(stat string) (t cpuTimes, ok bool) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	const idle, iowait, steal = 3, 4, 7
	if len(fields) < 1+steal+1 || fields[0] != "cpu" {
		return cpuTimes{}, false
	}
	for i, field := range fields[1 : 1+steal+1] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return cpuTimes{}, false
		}
		t.total += ticks
		switch i {
		case idle, iowait:
			t.idle += ticks
		case steal:
			t.steal = ticks
		}
	}
	return t, true
}

func (t cpuTimes) since(before cpuTimes) cpuTimes {
	return cpuTimes{t.total - before.total, t.idle - before.idle, t.steal - before.steal}
}
