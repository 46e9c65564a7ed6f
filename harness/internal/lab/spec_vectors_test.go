package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
)

// redisson reads the recording of a release that holds a case. Its path is what dq-bench takes for it.
func redisson(release, id string) (*trace.Recording, error) {
	section, _, _ := strings.Cut(id, "/")
	return read(recordings.Redisson(), release+"/"+section+".monitor", "recorded:"+release)
}

func read(files fs.FS, name, path string) (*trace.Recording, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return trace.Read(f, path)
}

// bytesVector is a string of any bytes: a JSON string where they are UTF-8, else an object with
// their hexadecimal digits.
type bytesVector string

// MarshalJSON writes one of the two forms.
func (b bytesVector) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(b)) {
		return json.Marshal(string(b))
	}
	return json.Marshal(map[string]string{"hex": fmt.Sprintf("%x", string(b))})
}

// memberVector is a member as an offer of a real Redisson made it. Bytes are in hexadecimal.
type memberVector struct {
	Layout   string `json:"layout"`
	Releases string `json:"releases"`
	// LengthBytes is the size of the length field: 8, or 4 on a Redis for Windows.
	LengthBytes int `json:"length_bytes"`
	// Random is the argument of a dLc0 offer that makes the id, in decimal.
	Random string `json:"random,omitempty"`
	ID     string `json:"id"`
	Value  string `json:"value"`
	Member string `json:"member"`
	// Due is the score, in Unix ms.
	Due      int64  `json:"due"`
	Recorded string `json:"recorded"`
	Case     string `json:"case,omitempty"`
}

// memberSources are the recordings whose offers are taken: of both layouts, with text, JSON and
// binary values, and of a Redis for Windows.
func memberSources() (all []*trace.Recording, err error) {
	for _, of := range [][2]string{{"2.9.3", "DQ.offer"}, {"3.21.0", "DQ.offer"}, {"3.21.0", "DQ.codec"}, {"3.21.1", "DQ.offer"}, {"4.7.0", "DQ.offer"}, {"4.7.0", "DQ.codec"}} {
		recording, err := redisson(of[0], of[1])
		if err != nil {
			return nil, err
		}
		all = append(all, recording)
	}
	document, err := read(recordings.Files, "documents/002-zlyx.monitor", "recordings/documents/002-zlyx.monitor")
	return append(all, document), err
}

func memberVectors() (all []memberVector, err error) {
	sources, err := memberSources()
	if err != nil {
		return nil, err
	}
	for _, recording := range sources {
		for _, c := range recording.Cases() {
			for _, call := range trace.Group(c.Lines) {
				if call.Offer == nil || len(call.Inner) == 0 { // no offer, or one that the server did not know yet
					continue
				}
				v, err := memberOf(call)
				if err != nil {
					return nil, fmt.Errorf("%s:%d: %w", recording.Path, call.Number, err)
				}
				v.Recorded, v.Case = recording.Path, c.ID
				all = append(all, v)
			}
		}
	}
	return all, nil
}

// memberOf reads an offer, and checks that the server packed what dq packs.
func memberOf(call trace.Call) (memberVector, error) {
	zadd := call.Inner[0]
	if zadd.Name() != "zadd" || len(zadd.Args) != 4 {
		return memberVector{}, fmt.Errorf("expected the offer to begin with ZADD of one member, got %q", zadd.Args)
	}
	packed := zadd.Args[3]
	m, err := call.Offer.Layout.UnpackAny([]byte(packed))
	if err != nil {
		return memberVector{}, err
	}
	v := memberVector{
		Layout: m.Layout.String(), LengthBytes: m.LengthSize, ID: hex.EncodeToString(m.ID[:]), Value: hex.EncodeToString(m.Value),
		Member: hex.EncodeToString([]byte(packed)), Due: call.Offer.Due,
		Releases: rangesOf(func(r wire.Release) bool { return r.Layout() == m.Layout }),
	}
	want := wire.Member{Layout: call.Offer.Layout, LengthSize: m.LengthSize, Value: []byte(call.Offer.Value)}
	switch want.Layout {
	case wire.LayoutDLc0:
		random, err := strconv.ParseInt(call.Offer.Random, 10, 64)
		if err != nil {
			return v, err
		}
		v.Random, want.ID = call.Offer.Random, wire.DoubleID(random)
	default:
		copy(want.ID[:], call.Offer.Random)
	}
	if string(want.Bytes()) != packed {
		return v, fmt.Errorf("expected the member %x, the server packed %x", want.Bytes(), packed)
	}
	return v, nil
}

// nameVector is the names of one queue, as a real Redisson sent them.
type nameVector struct {
	Destination string `json:"destination_queue"`
	TimeoutSet  string `json:"timeout_set"`
	Pending     string `json:"pending_list"`
	Channel     string `json:"channel"`
	// Slots are those of a Redis Cluster, in the order of the names above. A script works only
	// where they are all the same.
	Slots    [4]int `json:"slots"`
	Recorded string `json:"recorded"`
	Case     string `json:"case"`
}

func nameVectors() (all []nameVector, err error) {
	recording, err := redisson("4.7.0", "DQ.names/")
	if err != nil {
		return nil, err
	}
	for _, c := range recording.Cases() {
		for _, call := range trace.Group(c.Lines) {
			if call.Offer == nil || len(call.Inner) == 0 {
				continue
			}
			n := call.Offer.Names
			all = append(all, nameVector{
				n.Destination, n.TimeoutSet, n.Pending, n.Channel,
				[4]int{wire.Slot(n.Destination), wire.Slot(n.TimeoutSet), wire.Slot(n.Pending), wire.Slot(n.Channel)},
				recording.Path, c.ID,
			})
		}
	}
	return all, nil
}

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
	return all, nil
}

// setUpPeer is the connection of the recorder, which marks the case and arranges things for it.
func setUpPeer(recording *trace.Recording, id string) string {
	for _, l := range recording.Lines {
		if marked, ok := trace.CaseMark(l); ok && marked == id {
			return l.Peer
		}
	}
	return ""
}

func commandsOf(lines []trace.Line, setUp string) []commandVector {
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

func argsVector(l trace.Line) []any {
	args := make([]any, len(l.Args))
	for i, arg := range l.Args {
		args[i] = bytesVector(arg)
		for _, s := range wire.Scripts() {
			if s.Body == arg {
				args[i] = map[string]string{"script": s.Variant}
			}
		}
	}
	return args
}
