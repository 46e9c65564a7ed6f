package main

import (
	"fmt"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// exchangeVector is everything that a server saw in one case of a real Redisson.
type exchangeVector struct {
	Release  string          `json:"release"`
	Case     string          `json:"case"`
	Recorded string          `json:"recorded"`
	Commands []commandVector `json:"commands"`
}

type commandVector struct {
	// Micros is the server's clock, in µs after the first command of the case.
	Micros int64 `json:"us"`
	// From is a connection of the client, "c1" and on in the order of their first commands,
	// "script" for what a script called, or "case" for what the case itself sent.
	From string `json:"from"`
	// Args are the command and its arguments. The text of a script is {"script": variant}.
	Args []any `json:"args"`
}

// exchangeReleases are of both sides of 3.21.1 and of 3.46.0, and one of 2.x.
var exchangeReleases = []string{"2.15.2", "3.21.0", "3.21.1", "4.7.0"}

// exchangeCases show the life of a message, what goes wrong, and how scripts are sent.
var exchangeCases = []string{
	"DQ.start/subscribes-and-transfers", "DQ.start/delivers-what-was-left",
	"DQ.offer/new-head-publishes", "DQ.offer/later-one-is-silent", "DQ.offer/zero-delay",
	"DQ.timer/delivers-when-due", "DQ.timer/rearmed-by-the-reply", "DQ.timer/announcement-of-the-past", "DQ.timer/reconnect-transfers",
	"DQ.transfer/one", "DQ.transfer/foreign-member-repeats-those-before",
	"DQ.poll/first-offered", "DQ.poll/last-to-other", "DQ.read/peek", "DQ.remove/one-of-equal",
	"DQ.destroy/unsubscribes", "DQ.destroy/timer-goes-on", "DQ.destroy/timer-is-cancelled",
	"DQ.script/forgotten-is-loaded-again", "Q.blocking/take-waits",
}

func exchangeVectors() (all []exchangeVector, err error) {
	for _, release := range exchangeReleases {
		for _, id := range exchangeCases {
			recording, err := redisson(release, id)
			if err != nil {
				return nil, err
			}
			for _, c := range recording.Cases() {
				if c.ID == id {
					all = append(all, exchangeVector{release, id, recording.Path, commandsOf(c.Lines, setUpPeer(recording, id))})
				}
			}
		}
	}
	if want := len(exchangeReleases) * len(exchangeCases) / 2; len(all) < want {
		return nil, fmt.Errorf("expected at least %d exchanges, found %d: the cases are called otherwise", want, len(all))
	}
	return all, nil
}

// setUpPeer is the connection of the recorder, which marks the case and arranges things for it.
func setUpPeer(recording *monitor.Recording, id string) string {
	for _, l := range recording.Lines {
		if marked, ok := monitor.CaseMark(l); ok && marked == id {
			return l.Peer
		}
	}
	return ""
}

func commandsOf(lines []monitor.Line, setUp string) []commandVector {
	names, commands := map[string]string{}, []commandVector{}
	for _, l := range lines {
		from := "script"
		switch {
		case l.Inner():
		case l.Peer == setUp:
			from = "case"
		default:
			if names[l.Peer] == "" {
				names[l.Peer] = fmt.Sprintf("c%d", len(names)+1)
			}
			from = names[l.Peer]
		}
		commands = append(commands, commandVector{l.Time - lines[0].Time, from, argsVector(l)})
	}
	return commands
}

func argsVector(l monitor.Line) []any {
	args := make([]any, len(l.Args))
	for i, arg := range l.Args {
		args[i] = bytesVector(arg)
		if s, ok := scriptOf(arg); ok {
			args[i] = map[string]string{"script": s.Variant}
		}
	}
	return args
}

var byBody = func() map[string]wire.Script {
	all := map[string]wire.Script{}
	for _, s := range wire.Scripts() {
		all[s.Body] = s
	}
	return all
}()

func scriptOf(text string) (wire.Script, bool) {
	s, ok := byBody[text]
	return s, ok
}
