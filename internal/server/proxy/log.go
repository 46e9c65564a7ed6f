package proxy

import (
	"bytes"
	"strconv"
	"strings"
)

const (
	logKept     = 1000
	argKept     = 256
	pendingKept = 64 << 20 // a command longer than that is no queue's
)

// commandLog reads a client's commands out of the bytes it sends. What is no
// RESP, TLS for one, ends the reading.
type commandLog struct {
	pending  []byte
	commands [][]string // the last logKept
	names    map[string]bool
	broken   bool
}

// write returns the commands that data completes.
func (l *commandLog) write(data []byte) (commands [][]string) {
	if l.broken {
		return nil
	}
	l.pending = append(l.pending, data...)
	for len(l.pending) > 0 {
		words, n, ok := parseCommand(l.pending)
		if !ok || len(l.pending) > pendingKept {
			l.broken, l.pending = true, nil
			return commands
		}
		if n == 0 {
			return commands // not all there yet
		}
		l.pending = l.pending[n:]
		if len(words) > 0 {
			l.add(words)
			commands = append(commands, words)
		}
	}
	l.pending = nil // lets go of the memory
	return commands
}

func (l *commandLog) add(words []string) {
	if l.names == nil {
		l.names = map[string]bool{}
	}
	l.names[strings.ToUpper(words[0])] = true
	if len(l.commands) == logKept {
		l.commands = append([][]string(nil), l.commands[logKept/2:]...)
	}
	l.commands = append(l.commands, words)
}

func (l *commandLog) last() []string {
	if len(l.commands) == 0 {
		return nil
	}
	return l.commands[len(l.commands)-1]
}

// sent looks through the commands kept; a name alone is never forgotten.
func (l *commandLog) sent(words []string) bool {
	if len(words) == 1 {
		return l.names[strings.ToUpper(words[0])]
	}
	for _, command := range l.commands {
		if begins(command, words) {
			return true
		}
	}
	return false
}

func begins(command, words []string) bool {
	if len(words) > len(command) {
		return false
	}
	for i, word := range words {
		if !strings.EqualFold(word, command[i]) {
			return false
		}
	}
	return true
}

// parseCommand reads one command from the start of data, an array of bulk
// strings or an inline one, and says how many bytes it took: 0 while it is not
// all there. ok is false for what is no command.
func parseCommand(data []byte) (words []string, n int, ok bool) {
	line, n, there := cutLine(data)
	if !there {
		return nil, 0, len(data) < 64<<10
	}
	if len(line) == 0 || line[0] != '*' {
		return strings.Fields(string(line)), n, true
	}
	count, err := strconv.Atoi(string(line[1:]))
	if err != nil {
		return nil, 0, false
	}
	for range count {
		line, used, there := cutLine(data[n:])
		if !there {
			return nil, 0, len(data[n:]) < 64
		}
		if len(line) == 0 || line[0] != '$' {
			return nil, 0, false
		}
		size, err := strconv.Atoi(string(line[1:]))
		if err != nil || size < 0 || size > pendingKept {
			return nil, 0, false
		}
		n += used
		if len(data) < n+size+2 {
			return nil, 0, true
		}
		words = append(words, string(data[n:n+min(size, argKept)]))
		n += size + 2
	}
	return words, n, true
}

// cutLine gives the first line of data without its end, and its length with it.
func cutLine(data []byte) (line []byte, n int, there bool) {
	i := bytes.Index(data, []byte("\r\n"))
	if i < 0 {
		return nil, 0, false
	}
	return data[:i], i + 2, true
}
