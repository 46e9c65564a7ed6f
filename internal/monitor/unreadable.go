package monitor

import (
	"fmt"
	"slices"
)

// Unreadable says why the lines of a server's MONITOR cannot be read back, or "" where they can: Valkey 8.1.0 and 8.1.1
// write quotes and backslashes of an argument as they are (issue 2035 of its tracker).
func Unreadable(product, version string) string {
	if product == "valkey" && slices.Contains([]string{"8.1.0", "8.1.1"}, version) {
		return fmt.Sprintf("MONITOR of Valkey %s does not escape quotes and backslashes, so that its lines are ambiguous; 8.1.2 does", version)
	}
	return ""
}
