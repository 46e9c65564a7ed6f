package conformance

import (
	"cmp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Section is one file of cases about one part of the API.
type Section struct {
	// Name is the first part of its cases' ids, such as "DQ.offer".
	Name string `yaml:"section"`
	// About says in a sentence what the section is about.
	About string  `yaml:"about"`
	Cases []*Case `yaml:"cases"`

	// File is where it was read from, for messages.
	File string `yaml:"-"`
}

// Case is one thing that an implementation must do.
type Case struct {
	// ID is <section>/<name>.
	ID string `yaml:"id"`
	// Requirement is a sentence that says what must happen.
	Requirement string `yaml:"requirement"`
	// Source says where the requirement is from: the file name of a document, or a release and what was seen there.
	Source string `yaml:"source"`
	// Since and Until are the first and the last release from 3.2.0 on for which the case holds; Since2x and Until2x
	// those of the 2.x line. With Since alone the case holds for no 2.x release.
	Since   string `yaml:"since"`
	Until   string `yaml:"until"`
	Since2x string `yaml:"since-2x"`
	Until2x string `yaml:"until-2x"`
	// Queue is the destination's name, "orders" unless said otherwise.
	Queue string `yaml:"queue"`
	// Codec is a name of docs/protocol.md, "string" unless said otherwise; ValueType is for the codec that must be told
	// a class.
	Codec     string `yaml:"codec"`
	ValueType string `yaml:"value-type"`
	// Options of the client, as docs/protocol.md names them.
	Options map[string]any `yaml:"options"`
	// Faithful makes dq follow Redisson's timing, where that is the case.
	Faithful bool `yaml:"faithful"`
	// Slow marks a case that waits for seconds.
	Slow bool `yaml:"slow"`
	// Trace is empty for an exact comparison with the recording, or the reason why there is none.
	Trace string `yaml:"no-trace"`
	// KnownFailing maps drivers, "dq" or "redisson:3.13.0" or "*", to the reason why they fail the case. They must fail
	// it.
	KnownFailing map[string]string `yaml:"known-failing"`
	Steps        []*Step           `yaml:"steps"`
	Expect       Expect            `yaml:"expect"`

	// Section and Line are where the case is written.
	Section *Section `yaml:"-"`
	Line    int      `yaml:"-"`

	releases spec.Ranges
	history  *history // of a drawn case
}

// Step is one thing that is done. Exactly one of Call, Await, Cancel, Open, Redis, Seed, Wait, Pause is given.
type Step struct {
	// Call is an op, With its arguments, Handle the handle ("main" by default).
	Call   string         `yaml:"call"`
	With   map[string]any `yaml:"with"`
	Handle string         `yaml:"handle"`
	// Async names a call that is not waited for; Await waits for it.
	Async string `yaml:"async"`
	Await string `yaml:"await"`
	// Cancel gives up an async call. Its await gets the text "cancelled", or the result that came at that moment.
	Cancel string `yaml:"cancel"`
	// Returns is what the call answers; absent for anything but an error. Error is a regular expression for "class:
	// message" of the error that it answers with.
	Returns yaml.Node `yaml:"returns"`
	Error   string    `yaml:"error"`
	// Anything says why what the call answers is not judged.
	Anything string `yaml:"anything"`
	// Open opens a handle.
	Open *Open `yaml:"open"`
	// Redis is a command that the harness sends.
	Redis []string `yaml:"redis"`
	// Seed puts members into the queue's keys, as an offer would have.
	Seed *Seed `yaml:"seed"`
	// Wait waits for something to be seen.
	Wait *Wait `yaml:"wait"`
	// Pause waits for time to pass; Because says why nothing else will do.
	Pause   Duration `yaml:"pause"`
	Because string   `yaml:"because"`
}

// Open opens a handle under a name. What is left out is the case's.
type Open struct {
	As     string `yaml:"as"`
	Queue  string `yaml:"queue"`
	Codec  string `yaml:"codec"`
	Client string `yaml:"client"`
	// By is "beside" for a second implementation at the same queue.
	By string `yaml:"by"`
	// Plain opens the destination without a delayed queue.
	Plain bool `yaml:"plain"`
	// Unattended does not wait for the first transfer.
	Unattended bool `yaml:"unattended"`
}

// Seed are members that the harness writes itself.
type Seed struct {
	// Values are the encoded values; Count makes that many, "v001" and on.
	Values []string `yaml:"values"`
	Count  int      `yaml:"count"`
	// Due is the due time in Unix ms of the first; each next is due Step later.
	Due  int64 `yaml:"due"`
	Step int64 `yaml:"step"`
	// Foreign packs the layout that the release cannot read.
	Foreign bool `yaml:"foreign"`
	// Skip leaves out the "pending" list or the "timeouts" set.
	Skip string `yaml:"skip"`
	// FirstID is the number that the first id is made from, 1 by default.
	FirstID int `yaml:"first-id"`
}

// Wait is an event; every field given must hold.
type Wait struct {
	// Key and Length: the list or sorted set has that many elements.
	Key    string `yaml:"key"`
	Length *int   `yaml:"length"`
	// Transfers is how many transfer scripts of the queue have run.
	Transfers int `yaml:"transfers"`
	// Command and Count: that many of these commands were seen, of clients other than the harness.
	Command string `yaml:"command"`
	Count   int    `yaml:"count"`
	// Subscribers is how many subscribe to the queue's channel.
	Subscribers *int `yaml:"subscribers"`
	// Within is the deadline, 10 s unless said otherwise.
	Within Duration `yaml:"within"`
}

// Expect is what must be there after the steps. The three keys of the queue and Others are the whole of the database:
// what is left out must be empty.
type Expect struct {
	// Destination, Pending and Timeouts are the values in order, text as it is and other bytes as "hex:…". A member
	// that cannot be read is "foreign(…)".
	Destination []string `yaml:"destination"`
	Pending     []string `yaml:"pending"`
	Timeouts    []string `yaml:"timeouts"`
	// Others are further keys: lists as their elements, packed ones as "member(…)"; other types as one element that
	// names the type.
	Others map[string][]string `yaml:"others"`
	// Expires maps "destination", "pending", "timeouts" or a key to its time to live, up to 10 s less being left; all
	// other keys have none.
	Expires map[string]Duration `yaml:"expires"`
	// Published is how many messages were sent to the queue's channel.
	Published *int `yaml:"published"`
	// Anything turns off the check of the keys, for a reason.
	Anything string `yaml:"anything"`
}

// HoldsFor reports whether the case is about the release.
func (c *Case) HoldsFor(r wire.Release) bool { return c.releases.Contain(r) }

// Range says for which releases the case holds.
func (c *Case) Range() string { return c.releases.String() }

// resolveReleases reads Since and Until.
func (c *Case) resolveReleases() (err error) {
	var parts []string
	if c.Since == "" || c.Since2x != "" {
		parts = append(parts, cmp.Or(c.Since2x, "2.7.0")+" to "+cmp.Or(c.Until2x, "2.15.2"))
	}
	if c.Until != "" {
		parts = append(parts, cmp.Or(c.Since, "3.2.0")+" to "+c.Until)
	} else {
		parts = append(parts, cmp.Or(c.Since, "3.2.0")+" on")
	}
	c.releases, err = spec.ParseRanges(strings.Join(parts, ", "))
	return err
}

const defaultQueue = "orders"

func (c *Case) queue() string { return cmp.Or(c.Queue, defaultQueue) }
func (c *Case) codec() string { return cmp.Or(c.Codec, "string") }

// Destination is the name of the case's destination queue, after the name mapper.
func (c *Case) Destination() string { return c.names().Destination }

// names are those of the keys, after the name mapper.
func (c *Case) names() wire.Names {
	prefix, _ := c.Options["nameMapperPrefix"].(string)
	return wire.NamesOf(prefix + c.queue())
}

// queues are the names of all queues that a case opens.
func (c *Case) queues() []wire.Names {
	all := []wire.Names{c.names()}
	prefix, _ := c.Options["nameMapperPrefix"].(string)
	for _, s := range c.Steps {
		if s.Open != nil && s.Open.Queue != "" {
			all = append(all, wire.NamesOf(prefix+s.Open.Queue))
		}
	}
	return all
}
