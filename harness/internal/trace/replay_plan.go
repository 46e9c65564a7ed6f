package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// maxPeers bounds the connections of one replay.
const maxPeers = 1000

// ReplayPlan is a recording made ready to be sent.
type ReplayPlan struct {
	Recording *Recording
	// Notes are the deviations that the replay handles, one sentence each.
	Notes []string
	// Divergence is set if a recorded member cannot be a member; then nothing is sent.
	Divergence *Divergence

	steps    []replayStep
	preload  []string // script texts
	keys     []Key
	channels []string
}

// replayStep is one call, and the lines that MONITOR must show for it.
type replayStep struct {
	Call
	expected []Line
}

// NewReplayPlan works out the commands and the lines. The error names the line that cannot be replayed: no plan changes more
// than the keys of the recording.
func NewReplayPlan(rec *Recording) (*ReplayPlan, error) {
	p := &ReplayPlan{Recording: rec}
	if len(rec.Lines) == 0 {
		return nil, fmt.Errorf("%s: the recording has no commands", rec.Path)
	}
	deviations, err := DeviationsOf(rec)
	if err == nil {
		err = p.addSteps(deviations)
	}
	if err == nil {
		err = p.findScripts()
	}
	var wrong *LineError
	switch {
	case errors.As(err, &wrong) && wrong.Member:
		p.Divergence = memberDivergence(rec, wrong)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", rec.Path, err)
	}
	return p, nil
}

func (p *ReplayPlan) addSteps(deviations Deviations) error {
	calls, err := Calls(p.Recording, deviations)
	if err != nil {
		return err
	}
	peers, keys := map[string]bool{}, map[Key]bool{}
	var translated, skipped []int
	rebuilt := 0
	for _, c := range calls {
		if reason := unreplayable(c.Line); reason != nil {
			return &LineError{Line: c.Line, Err: reason}
		}
		if isOfConnection(c.Line) {
			skipped = append(skipped, c.Number)
			continue
		}
		s := replayStep{Call: c}
		lines := append([]Line{c.Line}, c.Inner...)
		for i, l := range lines {
			for _, name := range KeysOf(l) {
				if k := (Key{DB: l.DB, Name: name}); !keys[k] {
					keys[k] = true
					p.keys = append(p.keys, k)
				}
			}
			if name, channel := l.Name(), l.Arg(1); (name == "publish" || name == "subscribe") && channel != "" && !slices.Contains(p.channels, channel) {
				p.channels = append(p.channels, channel)
			}
			if i == 0 && c.Rebuilt {
				rebuilt++
				continue
			}
			expected, changed, err := deviations.Expected(l)
			if err != nil {
				return err
			}
			if changed {
				translated = append(translated, l.Number)
			}
			s.expected = append(s.expected, expected)
		}
		peers[c.Peer] = true
		p.steps = append(p.steps, s)
	}
	slices.SortStableFunc(p.keys, func(a, b Key) int { return cmp.Compare(a.DB, b.DB) })
	if len(peers) > maxPeers {
		return fmt.Errorf("the recording has %d peers, at most %d are replayed; split it", len(peers), maxPeers)
	}
	note := func(format string, args ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, args...)) }
	if rebuilt > 0 {
		note("script-calls: absent: %d script calls are rebuilt from the commands inside them", rebuilt)
	}
	if n := deviations.LengthSize; n != wire.LengthSize {
		note("length-size: %d: the members of %s are read with a length of %d bytes and expected with one of %d", n, lineNumbers(translated), n, wire.LengthSize)
	}
	if len(skipped) > 0 {
		note("connection set-up is not sent and not compared: %s", lineNumbers(skipped))
	}
	return nil
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

// isOfConnection reports whether a command is only about its connection: such commands depend on the server's password and
// version, and MONITOR prints AUTH without arguments.
func isOfConnection(l Line) bool {
	switch l.Name() {
	case "auth", "hello":
		return true
	case "client":
		return slices.Contains([]string{"setinfo", "capa", "setname"}, strings.ToLower(l.Arg(1)))
	}
	return false
}

// What a replay does not send, and of some commands the only parts that it does.
var (
	unsent = named(`flushall flushdb swapdb shutdown config debug save bgsave bgrewriteaof replicaof slaveof failover acl module migrate
		restore monitor sync psync replconf latency`)
	parts = map[string]map[string]bool{
		"script": named("load exists"), "function": named("load exists"), "client": named("setinfo capa setname getname id info"),
		"cluster": named("info nodes slots shards keyslot myid"),
	}
)

// unreplayable says why no server gets a command; nil if it may.
func unreplayable(l Line) error {
	some, sub := parts[l.Name()], strings.ToLower(l.Arg(1))
	if !unsent[l.Name()] && (some == nil || some[sub]) {
		return nil
	}
	name := strings.ToUpper(l.Name())
	if some != nil {
		name += " " + strings.ToUpper(sub)
	}
	return fmt.Errorf("replay does not send %s: it reaches beyond the keys and the connections of the recording", name)
}

// findScripts gathers the script texts that the server must have before the first command: of each EVALSHA that ran
// before the recording brings its text.
func (p *ReplayPlan) findScripts() error {
	texts, loaded := map[string]string{}, map[string]bool{}
	for _, s := range p.steps {
		if s.BodySHA1 != "" {
			texts[s.BodySHA1] = s.Body
		}
	}
	for _, s := range p.steps {
		script := s.Script
		if s.BodySHA1 != "" {
			loaded[s.BodySHA1] = true
			continue
		}
		if script == nil || loaded[script.SHA1] {
			continue
		}
		text, later := texts[script.SHA1]
		switch {
		case later && len(s.Inner) == 0:
			continue // it missed
		case !later && script.Known == nil:
			return &LineError{Line: s.Line, Err: errors.New("the text of this script is neither in the recording nor in Redisson's catalogue; " +
				"record from the start of the client on, or after SCRIPT FLUSH")}
		case !later:
			text = script.Known.Body
		}
		loaded[script.SHA1] = true
		p.preload = append(p.preload, text)
	}
	return nil
}
