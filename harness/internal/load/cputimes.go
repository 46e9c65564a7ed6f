package load

import (
	"os"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of /proc/stat: USER_HZ, which is 100 on every architecture
// that Go runs Linux on.
const ticksPerSecond = 100

// cpuTimes is what the processors of the machine have done since it started, all
// together, in ticks.
type cpuTimes struct{ total, idle, steal int64 }

// readCPUTimes asks the kernel; ok is false where it does not tell.
func readCPUTimes() (t cpuTimes, ok bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTimes{}, false
	}
	return parseCPUTimes(string(stat))
}

// parseCPUTimes reads the first line of /proc/stat: cpu user nice system idle iowait irq
// softirq steal guest guest_nice. The guests' times are in user and nice already.
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

func (t cpuTimes) minus(before cpuTimes) cpuTimes {
	return cpuTimes{t.total - before.total, t.idle - before.idle, t.steal - before.steal}
}
