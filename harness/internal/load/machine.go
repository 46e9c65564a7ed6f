package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// look is a look, while an implementation is measured, at the agents and at this process, which has no link, their machine, and the server.
type look struct {
	at       time.Time
	programs map[*program.Link]program.Usage
	cpus     cpuTimes
	servers  usages
	err      error // why the servers sent no counters
}

// looks are the ones of a run: before the measured phase, after the last offer, and at the end.
type looks struct{ before, offered, after look }

// look looks, even after an interrupt.
func (e *engine) look(ctx context.Context) look {
	l := look{at: time.Now(), programs: map[*program.Link]program.Usage{nil: program.ReadUsage()}}
	for _, m := range e.members {
		if _, asked := l.programs[m.link]; asked || !m.there() {
			continue
		}
		var now program.Usage
		if result, err := m.call(ctx, e.Silence, "load.usage", map[string]any{}); err == nil && json.Unmarshal(result, &now) == nil && now.CPUSeconds >= 0 && now.CPUSeconds < 1e9 && now.Processors > 0 {
			l.programs[m.link] = now
		}
	}
	stat, _ := os.ReadFile("/proc/stat")
	l.cpus = parseCPUTimes(string(stat))
	if l.err = errors.New("the server does not answer"); e.conn != nil && e.patience.Load() > 0 {
		l.servers, l.err = e.usages(ctx, askTimeout)
	}
	return l
}

// tellMachine writes into the run document how the machine and the processes on it behaved.
func (e *engine) tellMachine(out *run.Document, p *phase, l looks) {
	offering := l.offered.at.Sub(l.before.at).Seconds()
	for of, ended := range l.after.programs {
		began, stopped := l.before.programs[of], l.offered.programs[of] // one that joined later has used nothing at the start
		all := &out.ProgramUsage
		if of == nil {
			all = &out.ToolUsage
		}
		used := cmp.Or(*all, &run.ToolUsage{})
		used.CPUSeconds += ended.CPUSeconds - began.CPUSeconds
		used.GCPauseSeconds += ended.GCPauseSeconds - began.GCPauseSeconds
		if offering > 0 {
			used.CPUShare = max(used.CPUShare, (stopped.CPUSeconds-began.CPUSeconds)/offering/float64(ended.Processors))
		}
		*all = used
	}
	out.Machine = &run.Machine{Hiccups: e.meter.seen(l.after.at.Sub(l.before.at)), ClockSetNs: e.epoch.Set()}
	e.meter.spread(out.Intervals, p.startNs)
	p.sortLatest()
	latest := p.latest[:min(int64(len(p.latest)), max(out.Counts.Delivered/100, 1))]
	out.Machine.Late = &run.LateMessages{Messages: int64(len(latest)), InHiccups: e.meter.heldUp(latest)}
	out.Offers.LateForMachine = e.meter.heldUp(p.lateByTool)
	out.Offers.LateForTool -= out.Offers.LateForMachine
	if all, offering := l.after.cpus.since(l.before.cpus), l.offered.cpus.since(l.before.cpus); all.total > 0 {
		steal := float64(all.steal) / ticksPerSecond
		out.Machine.StealSeconds = &steal
		out.Machine.BusyShare = max(float64(offering.total-offering.idle)/float64(max(offering.total, 1)), 0)
	}
}

func (e *engine) tellServer(out *run.Document, l looks) {
	if e.conn == nil {
		return
	}
	all, _, err := l.after.servers.since(l.before.servers)
	if err = cmp.Or(l.before.err, l.after.err, err); err != nil {
		e.note("no server statistics: %v", err)
		return
	}
	out.ServerStats, all.TransferCallsPerMessage = &all, float64(all.TransferCalls)/float64(max(out.Counts.Delivered, 1))
	if l.offered.err == nil { // that it did not answer then is no matter if it does in the end
		_, busiest, _ := l.offered.servers.since(l.before.servers)
		all.CPUShare = busiest / l.offered.at.Sub(l.before.at).Seconds()
	}
}

// span is a time, in Unix ns: from a due instant, cut to its millisecond, to the delivery, or a stall.
type span struct{ from, to int64 }

func (s span) length() int64 { return s.to - s.from }

const (
	// mostLatest bounds the deliveries that a phase keeps, the latest.
	mostLatest = 10_000
	// mostLate bounds the samples kept to separate the machine's lateness from the tool's.
	mostLate = 100_000
)

func (p *phase) sortLatest() {
	slices.SortFunc(p.latest, func(a, b span) int { return cmp.Compare(b.length(), a.length()) })
	p.latest = p.latest[:min(len(p.latest), mostLatest)]
}

// late attributes a late offer to the system, whose answers all senders waited for, or to the tool, until the machine's part is known.
func (p *phase) late(intended, lag, waited int64) {
	switch most := int64(cmp.Or(p.plan.MaxScheduleLag, plan.DefaultMaxScheduleLag)); {
	case lag <= most:
	case lag-waited <= most:
		p.offers.LateForSystem++
	default:
		p.offers.LateForTool++
		if len(p.lateByTool) < mostLate {
			p.lateByTool = append(p.lateByTool, span{intended, intended + lag - waited})
		}
	}
}

// ticksPerSecond is the unit of /proc/stat: USER_HZ, which is 100 on every architecture that Go runs Linux on.
const ticksPerSecond = 100

// cpuTimes is the work of the machine's processors since its start, all together, in ticks; 0 if the kernel does not say.
type cpuTimes struct{ total, idle, steal int64 }

// parseCPUTimes reads the first line of /proc/stat: cpu user nice system idle iowait irq softirq steal guest guest_nice. The
// guests' times are in user and nice already.
func parseCPUTimes(stat string) cpuTimes {
	var user, nice, system, idle, iowait, irq, softirq, steal int64
	n, _ := fmt.Sscanf(stat, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal)
	if n < 8 {
		return cpuTimes{}
	}
	return cpuTimes{user + nice + system + idle + iowait + irq + softirq + steal, idle + iowait, steal}
}

func (t cpuTimes) since(before cpuTimes) cpuTimes {
	return cpuTimes{t.total - before.total, t.idle - before.idle, t.steal - before.steal}
}

const (
	// meterStep is how long the meter sleeps at a time: each wake costs about 50 µs of a processor, 3 % of one, and at 1 ms the
	// meter was seen in its process.
	meterStep = 2 * time.Millisecond
	// maxHiccups bounds the memory of a meter to 2 MiB.
	maxHiccups = 1 << 17
)

// meter finds out when the machine did not run a due thread, as jHiccup does: it sleeps again and again, and looks by how much
// it overslept. It sleeps by a timer as a delivery to this process is waited for.
type meter struct {
	end func() // stops it; may be called again

	mu      sync.Mutex
	hiccups []hiccup // in order
	total   int64    // the length of all, in ns
}

// hiccup is a time in which the meter should have been awake and was not, and the length of all earlier ones in ns.
type hiccup struct {
	span
	earlier int64
}

// startMeter has a meter run until it is ended, which it must be.
func startMeter(k clock.Clock, e program.Epoch) *meter {
	ctx, cancel := context.WithCancel(context.Background())
	var sleeping sync.WaitGroup
	m := &meter{end: func() { cancel(); sleeping.Wait() }}
	sleeping.Go(func() {
		timer := k.NewTimer()
		defer timer.Close()
		for {
			due := k.Now().Add(meterStep)
			if clock.SleepUntil(ctx, k, timer, due) != nil {
				return
			}
			h := hiccup{span{e.Wall(due), e.Wall(k.Now())}, m.total}
			m.mu.Lock()
			if h.length() >= int64(run.HiccupBound) && len(m.hiccups) < maxHiccups {
				m.hiccups = append(m.hiccups, h)
				m.total += h.length()
			}
			m.mu.Unlock()
		}
	})
	return m
}

// seen is the result of a meter that has ended after so long.
func (m *meter) seen(length time.Duration) run.Hiccups {
	all := run.Hiccups{Count: int64(len(m.hiccups)), TotalNs: m.total, Share: float64(m.total) / float64(max(length, 1))}
	for _, h := range m.hiccups {
		all.LongestNs = max(all.LongestNs, h.length())
	}
	return all
}

// heldUp is in how many of the times an ended meter's machine stalled for at least half.
func (m *meter) heldUp(times []span) (n int64) {
	for _, s := range times {
		if 2*(m.stood(s.to)-m.stood(s.from)) >= s.length() {
			n++
		}
	}
	return n
}

// spread says of each second of a run that began at an instant how much of it lies in hiccups so far.
func (m *meter) spread(seconds []run.Interval, begin int64) {
	last := m.stood(begin)
	for i := range seconds {
		until := m.stood(begin + int64(seconds[i].Second*1e9))
		seconds[i].HiccupNs, last = until-last, until
	}
}

// stood returns the part of the time before an instant that lies in hiccups, in ns.
func (m *meter) stood(unixNs int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := sort.Search(len(m.hiccups), func(i int) bool { return m.hiccups[i].to > unixNs }); i < len(m.hiccups) {
		return m.hiccups[i].earlier + max(unixNs-m.hiccups[i].from, 0)
	}
	return m.total
}
