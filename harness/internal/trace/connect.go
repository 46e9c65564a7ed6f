package trace

import (
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Connecting returns what connections send that says nothing about queues, as the package
// comment has it, each command once, sorted. Of a script it holds the beginning.
func Connecting(lines []monitor.Line) []string {
	const most = 60
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i].Number = i + 1
	}
	calls := Group(lines)
	kept := map[int]bool{}
	for _, c := range dropSetUp(calls) {
		kept[c.Number] = true
	}
	var commands []string
	for _, c := range calls {
		if text := strings.Join(c.Args, " "); !kept[c.Number] {
			commands = append(commands, text[:min(most, len(text))])
		}
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}
