package main

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// rangesOf says which releases something holds for, as the statements do. A range that ends at
// the newest release known is open: the next one is not expected to differ.
func rangesOf(holds func(wire.Release) bool) string {
	var parts []string
	var first, last wire.Release
	end := func() {
		switch {
		case first == wire.Release{}:
			return
		case last == wire.Newest():
			parts = append(parts, fmt.Sprintf("%s on", first))
		case first == last:
			parts = append(parts, first.String())
		default:
			parts = append(parts, fmt.Sprintf("%s to %s", first, last))
		}
		first = wire.Release{}
	}
	for _, r := range wire.Releases() {
		if first.Major == 2 && r.Major != 2 {
			end()
		}
		switch {
		case !holds(r):
			end()
			continue
		case first == wire.Release{}:
			first = r
		}
		last = r
	}
	end()
	return strings.Join(parts, ", ")
}
