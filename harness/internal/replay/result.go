package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Result says what the replay of one recording showed.
type Result struct {
	File string `json:"file"`
	// Identical is true where every line and the final state agree.
	Identical bool `json:"identical"`
	// Commands counts the recorded commands of clients, Inner those of scripts.
	Commands int `json:"commands"`
	Inner    int `json:"inner"`
	// Deviations are the declared deviations, and what else was not compared.
	Deviations []string `json:"deviations"`
	// Keys and Channels are what the server held at the end.
	Keys       []Key       `json:"keys"`
	Channels   []Channel   `json:"channels"`
	Divergence *Divergence `json:"divergence,omitempty"`
}

// Divergence is the first place at which the server and the recording differ.
type Divergence struct {
	// Kind is "command" for a line, "member" for a recorded member that cannot
	// be read, "state" for a key or channel at the end.
	Kind string `json:"kind"`
	// Line is the line number in the recording; 0 where it has no such line.
	Line int `json:"line"`
	// Reason is one sentence.
	Reason string `json:"reason"`
	// Recorded and Seen are the lines, or the states, in question.
	Recorded string `json:"recorded"`
	Seen     string `json:"seen"`
	// Window shows both sides for people to read.
	Window string `json:"-"`
}

func (p *Plan) result(notes []string, s *State, d *Divergence) *Result {
	r := &Result{
		File: p.Recording.Path, Identical: d == nil, Divergence: d,
		Deviations: slices.Concat([]string{}, p.Notes, notes), Keys: []Key{}, Channels: []Channel{},
	}
	for _, l := range p.Recording.Lines {
		if l.Inner() {
			r.Inner++
		} else {
			r.Commands++
		}
	}
	if s != nil {
		r.Keys, r.Channels = append(r.Keys, s.Keys...), append(r.Channels, s.Channels...)
	}
	return r
}

// compareCommands compares the lines expected with those shown.
func compareCommands(expected, shown []monitor.Line) *Divergence {
	d := trace.CompareLines(expected, shown)
	if d == nil {
		return nil
	}
	left := trace.Column{Title: "recorded", Lines: expected, At: d.Want, Arg: d.Arg, Byte: d.Byte}
	right := trace.Column{Title: "seen", Lines: shown, At: d.Got, Arg: d.Arg, Byte: d.Byte}
	out := &Divergence{Kind: "command", Reason: d.Reason, Window: trace.Window(left, right)}
	if d.Want < len(expected) {
		out.Line, out.Recorded = expected[d.Want].Number, expected[d.Want].Text()
	}
	if d.Got < len(shown) {
		out.Seen = shown[d.Got].Text()
	}
	return out
}

// memberDivergence reports a member that no server can have packed so.
func memberDivergence(rec *monitor.Recording, e *trace.MemberError) *Divergence {
	at := slices.IndexFunc(rec.Lines, func(l monitor.Line) bool { return l.Number == e.Line.Number && l.Raw == e.Line.Raw })
	left := trace.Column{Title: "recorded", Lines: rec.Lines, At: at, Arg: -1}
	right := trace.Column{Title: "seen", Note: "not sent"}
	return &Divergence{
		Kind: "member", Line: e.Line.Number, Recorded: e.Line.Text(),
		Reason: strings.ReplaceAll(e.Err.Error(), "\n", "; "), Window: trace.Window(left, right),
	}
}

// Text returns the result for people: one line, the declared deviations below
// it, and the window where there is a divergence.
func (r *Result) Text() string {
	var b strings.Builder
	if r.Identical {
		fmt.Fprintf(&b, "%s: identical: %d commands, %d inner; %s\n", r.File, r.Commands, r.Inner, r.holds())
	} else {
		where := ""
		if r.Divergence.Line > 0 {
			where = fmt.Sprintf(" at line %d", r.Divergence.Line)
		}
		fmt.Fprintf(&b, "%s: different%s: %s\n", r.File, where, r.Divergence.Reason)
	}
	for _, d := range r.Deviations {
		fmt.Fprintf(&b, "  declared: %s\n", d)
	}
	if r.Divergence != nil {
		b.WriteString(r.Divergence.Window)
	}
	return b.String()
}

func (r *Result) holds() string {
	var parts []string
	for _, k := range r.Keys {
		part := fmt.Sprintf("%s %s", k.Type, quoted(k.Name))
		if k.Length > 0 {
			part += fmt.Sprintf(" (%d)", k.Length)
		}
		parts = append(parts, part)
	}
	text := "keys none"
	if len(parts) > 0 {
		text = "keys " + strings.Join(parts, ", ")
	}
	for _, c := range r.Channels {
		text += fmt.Sprintf("; channel %s (%d)", quoted(c.Name), c.Subscribers)
	}
	return text
}
