package redis

import (
	"regexp"
	"strings"
	"sync"
)

// tail keeps the last lines of a server's log, and what it says the server is.
type tail struct {
	mu            sync.Mutex
	lines         []string
	name, version string
}

// versionLine is what Redis and Valkey log first: "Redis version=7.0.15, bits=64, …".
var versionLine = regexp.MustCompile(`(\w+) version=([^,\s]+), bits=`)

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := versionLine.FindStringSubmatch(line); m != nil {
		t.name, t.version = strings.ToLower(m[1]), m[2]
	}
	if line = strings.TrimSpace(line); line != "" {
		t.lines = append(t.lines, line)
	}
	if len(t.lines) > tailLines {
		t.lines = t.lines[len(t.lines)-tailLines:]
	}
}

// String is the kept lines on one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		return "it logged nothing"
	}
	return "its log ends: " + strings.Join(t.lines, " | ")
}

// product is what the log says the server is; both are empty when it does not.
func (t *tail) product() (name, version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.name, t.version
}
