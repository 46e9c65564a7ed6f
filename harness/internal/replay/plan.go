// Package replay answers: does this server do what a recording shows?
//
// It sends the commands that clients sent, one connection per recorded peer, in
// the recorded order and case, watches the server with MONITOR, and compares
// what it shows with the recording line by line. Then it compares the keys, their
// types and contents, and the subscriptions with what the recorded commands lead
// to by a small model of Redis.
//
// Nothing is ignored: where a recording deviates from what a server of today
// shows, its metadata has to declare it (see trace.Deviations), the line is
// translated, and the result says which.
package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// maxPeers bounds the connections of one replay.
const maxPeers = 1000

// Plan is a recording made ready to be sent.
type Plan struct {
	// Recording is what it was made from.
	Recording *monitor.Recording
	// Notes are the deviations that the replay handles, one sentence each.
	Notes []string
	// Divergence is set where a line cannot be what it says it is, so that
	// nothing needs to be sent.
	Divergence *Divergence

	steps    []step
	preload  []string
	keys     []trace.Key
	seen     map[trace.Key]bool
	channels []string
}

// step is one call and what MONITOR must show for it.
type step struct {
	trace.Call
	expected []monitor.Line
}

// NewPlan works out what is to be sent and what is to be seen. The error says
// which line cannot be replayed and why; no plan sends a command that would harm
// the server beyond the keys of the recording.
func NewPlan(rec *monitor.Recording) (*Plan, error) {
	p := &Plan{Recording: rec, seen: make(map[trace.Key]bool)}
	if len(rec.Lines) == 0 {
		return nil, fmt.Errorf("%s: the recording has no commands", rec.Path)
	}
	calls, err := trace.Calls(rec)
	if err == nil {
		err = p.addSteps(calls)
	}
	if err == nil {
		err = p.findScripts()
	}
	var member *trace.MemberError
	switch {
	case errors.As(err, &member):
		p.Divergence = memberDivergence(rec, member)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", rec.Path, err)
	}
	return p, nil
}

func (p *Plan) addSteps(calls []trace.Call) error {
	deviations, err := trace.DeviationsOf(p.Recording)
	if err != nil {
		return err
	}
	peers := make(map[string]bool)
	var translated, skipped []int
	rebuilt := 0
	for _, c := range calls {
		if reason := unreplayable(c.Line); reason != "" {
			return &trace.LineError{Line: c.Line, Reason: reason}
		}
		if isSetUp(c.Line) {
			skipped = append(skipped, c.Number)
			continue
		}
		s := step{Call: c}
		lines := c.Inner
		if c.Rebuilt {
			rebuilt++
		} else {
			lines = append([]monitor.Line{c.Line}, c.Inner...)
		}
		for _, l := range lines {
			expected, changed, err := deviations.Expected(l)
			if err != nil {
				return err
			}
			if changed {
				translated = append(translated, l.Number)
			}
			s.expected = append(s.expected, expected)
			p.note(l)
		}
		p.note(c.Line)
		peers[c.Peer] = true
		p.steps = append(p.steps, s)
	}
	if len(peers) > maxPeers {
		return fmt.Errorf("the recording has %d peers, at most %d are replayed; split it", len(peers), maxPeers)
	}
	p.addNotes(deviations, rebuilt, translated, skipped)
	return nil
}

// note keeps the keys and channels that a line names.
func (p *Plan) note(l monitor.Line) {
	for _, key := range trace.KeysOf(l) {
		if k := (trace.Key{DB: l.DB, Name: key}); !p.seen[k] {
			p.seen[k] = true
			p.keys = append(p.keys, k)
		}
	}
	if l.Name() == "publish" || l.Name() == "subscribe" {
		for _, channel := range l.Args[1:min(2, len(l.Args))] {
			if !slices.Contains(p.channels, channel) {
				p.channels = append(p.channels, channel)
			}
		}
	}
}

func (p *Plan) addNotes(d trace.Deviations, rebuilt int, translated, skipped []int) {
	if rebuilt > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("script-calls: absent: %d script calls are rebuilt from the commands inside them", rebuilt))
	}
	if d.LengthSize != wire.LengthSize {
		p.Notes = append(p.Notes, fmt.Sprintf("length-size: %d: the members of %s are read with a length of %d bytes and expected with one of %d",
			d.LengthSize, lineNumbers(translated), d.LengthSize, wire.LengthSize))
	}
	if len(skipped) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("connection set-up is not sent and not compared: %s", lineNumbers(skipped)))
	}
}

func lineNumbers(numbers []int) string {
	if len(numbers) == 0 {
		return "no line"
	}
	numbers = slices.Compact(numbers)
	if len(numbers) == 1 {
		return fmt.Sprintf("line %d", numbers[0])
	}
	rest := ""
	if n := len(numbers) - 12; n > 0 {
		numbers, rest = numbers[:12], fmt.Sprintf(" and %d more", n)
	}
	return "lines " + strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ", ") + rest
}

// isSetUp tells which commands are about the connection alone: they depend on
// the server's password and version, and AUTH is printed without its arguments.
func isSetUp(l monitor.Line) bool {
	switch l.Name() {
	case "auth", "hello":
		return true
	case "client":
		return len(l.Args) > 1 && slices.Contains([]string{"setinfo", "capa", "setname"}, strings.ToLower(l.Args[1]))
	}
	return false
}

// unreplayable says why a command is not sent to any server; "" if it may be.
func unreplayable(l monitor.Line) string {
	sub := ""
	if len(l.Args) > 1 {
		sub = strings.ToLower(l.Args[1])
	}
	switch name := l.Name(); name {
	case "flushall", "flushdb", "swapdb", "shutdown", "config", "debug", "save", "bgsave", "bgrewriteaof", "replicaof",
		"slaveof", "failover", "acl", "module", "migrate", "restore", "monitor", "sync", "psync", "replconf", "latency":
		return "replay does not send " + strings.ToUpper(name) + ": it changes more than the keys of the recording"
	case "script", "function":
		if sub != "load" && sub != "exists" {
			return "replay does not send " + strings.ToUpper(name+" "+sub) + ": it changes more than the keys of the recording"
		}
	case "client":
		if !slices.Contains([]string{"setinfo", "capa", "setname", "getname", "id", "info"}, sub) {
			return "replay does not send CLIENT " + strings.ToUpper(sub) + ": it concerns other connections"
		}
	case "cluster":
		if !slices.Contains([]string{"info", "nodes", "slots", "shards", "keyslot", "myid"}, sub) {
			return "replay does not send CLUSTER " + strings.ToUpper(sub)
		}
	}
	return ""
}

// findScripts tells for each EVALSHA whether the script was there, and gathers
// the texts that have to be loaded before the first command.
func (p *Plan) findScripts() error {
	texts := make(map[string]string)
	for _, s := range p.steps {
		if s.BodySHA1 != "" {
			texts[s.BodySHA1] = s.Body
		}
	}
	loaded := make(map[string]bool)
	for i := range p.steps {
		s := &p.steps[i]
		if s.BodySHA1 != "" {
			loaded[s.BodySHA1] = true
			continue
		}
		script := s.Script
		if script == nil || loaded[script.SHA1] {
			continue
		}
		text, later := texts[script.SHA1]
		switch {
		case later && len(s.Inner) == 0:
			continue // it missed
		case !later && script.Known == nil:
			return &trace.LineError{Line: s.Line, Reason: "the text of this script is neither in the recording nor in Redisson's catalogue; " +
				"record from the start of the client on, or after SCRIPT FLUSH"}
		case !later:
			text = script.Known.Body
		}
		loaded[script.SHA1] = true
		p.preload = append(p.preload, text)
	}
	return nil
}
