package conformance

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/conformance/guest"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// hidden are the commands that MONITOR does not show, those of administrators such as
// CLIENT KILL: the server counts them all the same.
type hidden struct {
	names map[string]bool
	// own is how often the harness itself has called one, by name.
	own map[string]int64
	// flush is how often a SCRIPT FLUSH calls each: Valkey 9 makes its interpreter anew, which asks for
	// its settings.
	flush map[string]int64
}

// hiddenBy asks the server which commands these are. One before Redis 7.0 cannot tell, and
// has none then.
func hiddenBy(ctx context.Context, conn redis.Conn) (*hidden, error) {
	h := &hidden{names: map[string]bool{}, own: map[string]int64{}}
	names, err := conn.Do(ctx, "COMMAND", "LIST", "FILTERBY", "ACLCAT", "admin").StringSlice()
	if guest.Refused(err) {
		return h, nil
	}
	for _, name := range names {
		h.names[name] = true
	}
	if err != nil {
		return h, err
	}
	before, err := h.calls(ctx, conn)
	if err != nil {
		return h, err
	}
	if err := conn.Do(ctx, "SCRIPT", "FLUSH").Err(); err != nil {
		return h, err
	}
	h.flush, err = h.calls(ctx, conn)
	for name, n := range before {
		h.flush[name] -= n
	}
	return h, err
}

// mine notes a command of the harness, or of a case's own step.
func (h *hidden) mine(command ...string) {
	if h == nil {
		return
	}
	name := strings.ToLower(command[0])
	if len(command) > 1 && h.names[name+"|"+strings.ToLower(command[1])] {
		name += "|" + strings.ToLower(command[1])
	}
	h.own[name]++
	if name == "script" && len(command) > 1 && strings.EqualFold(command[1], "flush") {
		for name, n := range h.flush {
			h.own[name] += n
		}
	}
}

// calls are how often each was called since the server started, but by the harness.
func (h *hidden) calls(ctx context.Context, conn redis.Conn) (map[string]int64, error) {
	if len(h.names) == 0 {
		return nil, nil
	}
	text, err := conn.Do(ctx, "INFO", "commandstats").Text()
	if err != nil {
		return nil, fmt.Errorf("asking the server for what it was called: %w", err)
	}
	calls := map[string]int64{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, rest, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "cmdstat_"), ":calls=")
		if !ok || !h.names[name] {
			continue
		}
		number, _, _ := strings.Cut(rest, ",")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("asking the server for what it was called: expected a number of calls, got %.80q", lines.Text())
		}
		calls[name] = n - h.own[name]
	}
	return calls, nil
}

// harmless are those that only read.
var harmless = []string{
	"client|info", "client|list", "cluster|count-failure-reports", "config|get", "acl|getuser", "acl|list", "acl|users",
	"latency|doctor", "latency|latest", "latency|histogram", "latency|history", "lastsave", "role", "slowlog|get", "slowlog|len",
}

// unexpected says which were called in between. No Redisson calls any; those that only read
// matter to nobody but who asks for the same bytes.
func unexpected(before, after map[string]int64, level Level) (failures []string) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if level != Wire && slices.Contains(harmless, name) {
			continue
		}
		if n := after[name] - before[name]; n > 0 {
			failures = append(failures, fmt.Sprintf("%s was called %d times, which MONITOR does not show; no Redisson calls it",
				strings.ToUpper(strings.ReplaceAll(name, "|", " ")), n))
		}
	}
	return failures
}
