package conformance

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Case is one thing that an implementation must do.
type Case struct {
	ID          string `yaml:"id"`          // <section>/<name>
	Requirement string `yaml:"requirement"` // a sentence
	Source      string `yaml:"source"`      // the file name of a document, or a release and its behaviour
	// Since and Until are the first and the last release from 3.2.0 on for which the case holds; Since2x and Until2x are
	// those of the 2.x line. With only Since the case holds for no 2.x release.
	Since   string `yaml:"since"`
	Until   string `yaml:"until"`
	Since2x string `yaml:"since-2x"`
	Until2x string `yaml:"until-2x"`

	Queue     string         `yaml:"queue"`      // the destination's name, "orders" by default
	Codec     string         `yaml:"codec"`      // a name of docs/protocol.md, "string" by default
	ValueType string         `yaml:"value-type"` // for a codec that must know a class
	Options   map[string]any `yaml:"options"`    // of the client, as docs/protocol.md names them
	Faithful  bool           `yaml:"faithful"`   // makes dq follow Redisson's timing, where timing is the case
	Slow      bool           `yaml:"slow"`       // it waits for seconds: see Runner.ahead
	Trace     string         `yaml:"no-trace"`   // why there is no comparison with the recording; empty for an exact one
	// KnownFailing maps names of drivers to the reason why they fail the case. They must fail it.
	KnownFailing map[string]string `yaml:"known-failing"`
	Steps        []*Step           `yaml:"steps"`
	Expect       Expect            `yaml:"expect"`

	Place string `yaml:"-"` // file and line

	releases spec.Ranges
	history  *history // of a drawn case
}

// Step is one action: exactly one of Call, Await, Cancel, Open, Redis, Seed, Wait, Hold, Pause.
type Step struct {
	Call    string         `yaml:"call,omitempty"`    // an op
	With    map[string]any `yaml:"with,omitempty"`    // its arguments
	Handle  string         `yaml:"handle,omitempty"`  // "main" by default
	Async   string         `yaml:"async,omitempty"`   // names a call that is not waited for
	Await   string         `yaml:"await,omitempty"`   // waits for an async call
	Cancel  string         `yaml:"cancel,omitempty"`  // gives up an async call, whose await gets "cancelled", or the result of that moment
	Returns yaml.Node      `yaml:"returns,omitempty"` // the answer; absent for anything but an error
	Error   string         `yaml:"error,omitempty"`   // a regular expression for "class: message" of an error answer
	// Anything says why the answer is not judged.
	Anything string   `yaml:"anything,omitempty"`
	PutBack  bool     `yaml:"put-back,omitempty"` // the values of the answer go back to the front of the queue, so that expect shows a lost one
	Between  []string `yaml:"between,omitempty"`  // a command of the harness before the call's second one that names the queue, or after the call
	Open     *Open    `yaml:"open,omitempty"`
	Redis    []string `yaml:"redis,omitempty"` // a command of the harness
	Seed     *Seed    `yaml:"seed,omitempty"`
	Wait     *Wait    `yaml:"wait,omitempty"`
	Hold     Duration `yaml:"hold-replies,omitempty"` // of connections that do not subscribe
	Pause    Duration `yaml:"pause,omitempty"`
	Because  string   `yaml:"because,omitempty"` // why only a pause will do
}

// Open opens a handle under a name. Other fields default to the case's.
type Open struct {
	As         string `yaml:"as,omitempty"`
	Queue      string `yaml:"queue,omitempty"`
	Codec      string `yaml:"codec,omitempty"`
	Client     string `yaml:"client,omitempty"`
	By         string `yaml:"by,omitempty"`         // "beside" for a second implementation at the same queue, "new" for a new process
	Plain      bool   `yaml:"plain,omitempty"`      // opens the destination without a delayed queue
	Unattended bool   `yaml:"unattended,omitempty"` // does not wait for the first transfer
}

// Seed are members that the harness writes itself, as an offer would.
type Seed struct {
	Values  []string `yaml:"values,omitempty"`   // encoded values
	Count   int      `yaml:"count,omitempty"`    // so many values, "v001" and on
	Due     int64    `yaml:"due,omitempty"`      // the due time of the first, in Unix ms
	Step    int64    `yaml:"step,omitempty"`     // the next is due so much later
	Foreign bool     `yaml:"foreign,omitempty"`  // packs the layout that the release cannot read
	Skip    string   `yaml:"skip,omitempty"`     // leaves out the "pending" list or the "timeouts" set
	FirstID int      `yaml:"first-id,omitempty"` // the number of the first id, 1 by default
}

// Wait is an event; every given field must hold.
type Wait struct {
	Key         string   `yaml:"key,omitempty"`         // of a list or sorted set
	Length      *int     `yaml:"length,omitempty"`      // its elements
	Transfers   int      `yaml:"transfers,omitempty"`   // transfer scripts of the queue so far
	Command     string   `yaml:"command,omitempty"`     // of a client other than the harness
	Count       int      `yaml:"count,omitempty"`       // of these commands
	Subscribers *int     `yaml:"subscribers,omitempty"` // to the queue's channel
	Unblocked   bool     `yaml:"unblocked,omitempty"`   // no client blocks any more, as a cancelled take does until the server knows
	Within      Duration `yaml:"within,omitempty"`      // 10 s by default
}

// Expect is the state after the steps. The three keys of the queue and Others are the whole of the database: other keys must be missing.
type Expect struct {
	// Destination, Pending and Timeouts are the values in order, text as it is and other bytes as "hex:…". An unreadable
	// member is "foreign(…)".
	Destination []string `yaml:"destination"`
	Pending     []string `yaml:"pending"`
	Timeouts    []string `yaml:"timeouts"`
	// Others are further keys: lists as their elements, packed ones as "member(…)"; other types as one element that names the type.
	Others map[string][]string `yaml:"others"`
	// Expires maps "destination", "pending", "timeouts" or a key to its time to live, of which up to 10 s may have passed;
	// other keys have none.
	Expires   map[string]Duration `yaml:"expires"`
	Published *int                `yaml:"published"` // messages to the queue's channel
	Anything  string              `yaml:"anything"`  // why the keys are not checked
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
	end := " on"
	if c.Until != "" {
		end = " to " + c.Until
	}
	c.releases, err = spec.ParseRanges(strings.Join(append(parts, cmp.Or(c.Since, "3.2.0")+end), ", "))
	return err
}

func (c *Case) queue() string { return cmp.Or(c.Queue, "orders") }
func (c *Case) codec() string { return cmp.Or(c.Codec, "string") }

// names are those of the keys, after the name mapper.
func (c *Case) names() wire.Names { return c.queues()[0] }

// queues are the names of all queues that a case opens, its own first.
func (c *Case) queues() []wire.Names {
	prefix, _ := c.Options["nameMapperPrefix"].(string)
	all := []wire.Names{wire.NamesOf(prefix + c.queue())}
	for _, s := range c.Steps {
		if s.Open != nil && s.Open.Queue != "" {
			all = append(all, wire.NamesOf(prefix+s.Open.Queue))
		}
	}
	return all
}

// Duration is a time in Go's notation, such as 1h or 1500ms.
type Duration time.Duration

// UnmarshalYAML reads the notation.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if err != nil {
		return fmt.Errorf("line %d: expected a duration such as 1h or 1500ms, got %q", node.Line, node.Value)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalYAML writes the notation.
func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

// Load reads the cases in every *.yaml of a folder, in the order of the files' names. The files are part of the program: a test
// finds their faults.
func Load(files fs.FS, dir string) (cases []*Case, err error) {
	paths, err := fs.Glob(files, path.Join(dir, "*.yaml"))
	for _, p := range paths {
		content, unread := fs.ReadFile(files, p)
		some, wrong := Parse(p, content)
		cases, err = append(cases, some...), errors.Join(err, unread, wrong)
	}
	return cases, err
}

// Parse reads one file, a section of cases. A key that is not known is an error.
func Parse(file string, content []byte) ([]*Case, error) {
	var section struct {
		Name  string  `yaml:"section"` // the first part of the cases' ids, such as "DQ.offer"
		About string  `yaml:"about"`
		Cases []*Case `yaml:"cases"`
	}
	var root struct {
		Cases []yaml.Node `yaml:"cases"` // with their lines
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	err := errors.Join(decoder.Decode(&section), yaml.Unmarshal(content, &root))
	for i, c := range section.Cases {
		if err == nil && (c == nil || slices.Contains(c.Steps, nil) || !strings.HasPrefix(c.ID, section.Name+"/")) {
			err = fmt.Errorf("case %d: expected steps, and an id of the form %s/<name>", i+1, section.Name)
		}
		if err != nil {
			break
		}
		c.Place = fmt.Sprintf("%s:%d", file, root.Cases[i].Line)
		err = c.resolveReleases()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return section.Cases, nil
}
