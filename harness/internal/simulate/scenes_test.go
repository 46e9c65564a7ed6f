package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scenes are histories that chance draws too seldom: of any life, of one without Workers, and of one with. An event is its
// pause, kind, client, text, N and span; ~ adds a random part, & makes it follow the Trap before it, m is the next message,
// = the last. Clients 1, 4 and 7 transfer. A pause comes at the end, and then all stop.
var scenes = [3][]string{{
	// a Client that is closed before its subscription is answered
	"0s start 1; 0s trap 1 SUBSCRIBE 1 20s; 1s~3s stop 1; 25s",
	// a call that deals with more than it does at a time, while nothing goes wrong
	"0s start 1; 25s look 1 - 3; 5s",
	// a server that refuses the second part of an OfferAll
	"0s start 1; 3s offer 1 m 19 1s; 0s~600us refuse 1 LOADING_it 0 200ms; 12s offer 1 m 19 1s; 0s~600us refuse 1 LOADING_it 0 12s; 25s",
	// a client whose subscription is dead, and each take, reschedules what another offered
	"0s start 1 - 3; 0s start 2; 8s offer 2 m 0 30s; 1s hush 1; 0s~2s reschedule 1 = 0 1s; 25s",
	// a client that subscribes while it transfers what it offered
	"0s start 2; 1s start 1; 0s trap 1 SUBSCRIBE 0 200ms; 0s trap 1 transfer 0 1s; 1ms offer 1 m 0 0s; 25s",
	// one of two that transfer stops or is killed
	"0s start 1; 0s start 4; 3s offer 1 m 0 1s; 3s stop 1; 15s offer 4 m 0 6s; 0s offer 4 m 0 8s; 0s offer 4 m 0 10s; 0s offer 4 m 0 12s; 0s offer 4 m 0 14s; 20s",
	// a user that may not subscribe for a time, or not take out what it transfers
	"0s start 1; 2s offer 1 m 0 2s; 1s refuse 1 NOPERM_it 8 6s; 25s",
	"0s start 1; 0s refuse 1 NOPERM_it 2 20s; 0s start 2; 2s offer 2 m 0 3s; 1s offer 1 m 0 3s; 45s",
	// connections that are made while the server is busy
	"0s start 1 - 2; 3s refuse 1 BUSY_Redis_is_busy 0 2s; 0s~1s cut 1; 0s~1s cut 1; 50s",
	// entries of the pending list that are taken away as a pass goes over it
	"0s start 1; 0s start 2; 1s slow 1 - 0 20ms; 0s offer 2 m 9 50s; 0s offer 2 m 9 6s; 1s~500ms cancel 2; 0s~200ms cancel 2; 0s~200ms cancel 2; 5s slow 1; 25s",
	// a value that cannot be decoded waits, as others are removed by a predicate
	"0s start 1; 1s foreign - - 3; 1s offer 1 m 1 20s; 1s cancel 1 = 1; 25s",
	// a client whose dials hang
	"0s start 1; 3s offer 1 m 0 4600ms; 4s hang 1 - 0 1500ms; 15s",
	// a client that is killed when its transfer did not see what another offered
	"0s start 1; 0s start 2; 0s start 4; 2s offer 2 m 0 1s; 0s trap 1 transfer 0 8ms; &0s offer 2 m 0 6s; 2s kill 1; 15s",
}, {
	// a late value goes back to a server that refuses it, or as its taker's Client is closed
	"0s start 1; 2s offer 1 m 2 0s; 100ms trap 1 LPOP 0 2s; 0s trap 1 LPUSH 3 2s; 0s poll 1 - 3 5ms; 12s",
	"0s start 1; 2s offer 1 m 2 0s; 100ms trap 1 LPOP 0 2s; &1s~900ms stop 1; 0s poll 1 - 3 5ms; 12s",
	// takes that the server ends
	"0s start 1 - 2; 5s unblock; 1s unblock; 5s",
	// a Poll that takes values, and between them one that cannot be decoded
	"0s start 1; 1s offer 1 m 1 0s; 1s foreign - g 2; 1s offer 1 m 1 0s; 1s poll 1 - 5; 1s",
}, {
	// a Worker that stops just as messages come
	"0s start 1; 0s start 4 - 2; 3s offer 1 m 0 1s; 0s~500us offer 1 m 0 1s; 0s~500us offer 1 m 0 1s; 999ms~1ms stop 4; 8s",
	"0s start 1; 0s start 4 - 2; 1s~2s trap 4 take 0 250ms; &0s~200ms stop 4; 1s offer 1 m 1 500ms; 15s",
	// a Worker whose only place a retry takes while it waits for messages
	"0s start 4 fails 1; 1s offer 4 m 0 0s; 6s offer 4 m 0 0s; 30s",
	// retries that come at the same time, and more than a take hands out
	"0s start 4 fails 5; 22s offer 4 m 4 0s; 35s",
	// a message that comes while a take is under way that finds nothing
	"0s start 1; 0s start 4 - 3; 7s trap 4 take 0 250ms; &0s~200ms offer 1 m; 7s trap 4 take 0 250ms; &0s~200ms offer 1 m; 7s",
	// a Worker that polls, and another client transfers
	"0s start 1; 0s start 4 polls 2; 5s offer 1 m 0 1s; 6s offer 1 m 0 1s; 7s offer 1 m 0 1s; 9s",
	// handlers longer than a lease: during Shutdown; as replies are late, and then none comes; as an extension fails; as another has the message
	"0s start 1 long 2; 0s start 4 blocks 1; 1s offer 1 m 1 0s; 1s~12s stop 1; 65s",
	"0s start 1 long 1; 1s offer 1 m 0 0s; 0s trap 1 extend 0 1200ms; &1300ms stall 1 - 0 14s; 30s",
	"0s start 1 long 1; 1s offer 1 m 0 0s; 0s trap 1 extend 3 1ms; 30s",
	"0s start 1 long 1; 0s start 4 blocks 1; 1s offer 1 m 1 0s; 1s~3s overrun; 40s",
	// a message that is to be handled alone waits for another as its Worker stops
	"0s start 1 long 2; 1s offer 1 m 0 0s; 2s overrun; 7s overrun; 1s offer 1 m 0 0s; 6s~3s stop 1; 65s",
	// a Worker whose first take fails, and a message that two holders lost
	"0s start 1; 0s start 4 long 1; 2s offer 1 m 0 0s; 1s kill 4; 0s start 7 long 1; 15s kill 7; 0s start 2 blocks 1; 0s trap 2 take 1 1ms; 75s",
	// messages that wait for a Worker as the server runs out of memory
	"0s start 1 - 1; 2s offer 1 m 9 0s; 0s refuse 1 OOM_command_not_allowed 0 10s; 30s",
	// a holder that is killed, and nobody but a Worker that polls is there
	"0s start 1; 0s start 2 - 1; 0s start 4 - 1; 1s offer 1 m 0 1s; 0s trap 4 take 0 5s; 3s kill 4; 55s",
}}

// play has a life be a chain of scenes, each with clients of its own.
func (d *drawing) play(rng *rand.Rand) {
	p := d.plan
	p.Events, p.Strict, p.Lone, p.Scenes, p.Visibility = nil, false, true, true, 10*time.Second
	mine := slices.Concat(scenes[0], scenes[map[bool]int{false: 1, true: 2}[p.Reliable]])
	for at, n := time.Duration(0), 1; at < p.Length-time.Minute; at, n = at+5*time.Second, n+1 {
		stops := []Event{}
		for text := range strings.SplitSeq(mine[rng.IntN(len(mine))], "; ") {
			words := append(strings.Fields(text), "-", "-", "-", "0", "0s")
			least, more, random := strings.Cut(strings.TrimPrefix(words[0], "&"), "~")
			pause, _ := time.ParseDuration(least)
			if most, _ := time.ParseDuration(more); random {
				pause += time.Duration(rng.Int64N(int64(most)))
			}
			e := Event{Kind: Kind(words[1]), Client: fmt.Sprintf("s%d-%s", n, words[2]), Text: strings.NewReplacer("_", " ", "-", "").Replace(words[3])}
			e.N, _ = strconv.Atoi(words[4])
			e.Span, _ = time.ParseDuration(words[5])
			if words[2] == "-" {
				e.Client = ""
			}
			switch {
			case e.Kind == Poll:
				e.Within = e.Span
			case e.Kind == Start:
				e.Text = "4.7.0 " + e.Text
				stops = append(stops, Event{Kind: Stop, Client: e.Client})
			case e.Kind == Foreign:
				d.foreign++
				e.Text = fmt.Sprintf("%c-%06d", "gggu"[e.N], d.foreign)
			case e.Text == "m":
				e.Text = valueOf(d.values + 1)
				d.values += 1 + e.N
			case e.Text == "=":
				e.Text = valueOf(d.values)
			}
			if last := len(p.Events) - 1; words[0][0] == '&' {
				e.At = pause
				p.Events[last].Then = append(p.Events[last].Then, e)
				continue
			}
			if at += pause; words[1] != "-" {
				e.At = at
				d.add(e)
			}
		}
		for _, e := range stops {
			e.At = at
			d.add(e)
		}
	}
}
