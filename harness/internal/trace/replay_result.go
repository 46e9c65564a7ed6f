package trace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// ReplayResult is the outcome of the replay of one recording.
type ReplayResult struct {
	File string `json:"file"`
	// Identical is true if every line and the final state agree.
	Identical bool `json:"identical"`
	// Commands counts the recorded commands of clients, Inner those of scripts.
	Commands int `json:"commands"`
	Inner    int `json:"inner"`
	// Deviations are the declared deviations, and other gaps in the comparison.
	Deviations []string `json:"deviations"`
	// Keys and Channels are the server's at the end.
	Keys       []ReplayKey     `json:"keys"`
	Channels   []ReplayChannel `json:"channels"`
	Divergence *Divergence     `json:"divergence,omitempty"`
}

// ReplayKey is a key that the replay left behind, before it was removed.
type ReplayKey struct {
	DB   int    `json:"db"`
	Name string `json:"name"`
	// Type is the answer to TYPE.
	Type string `json:"type"`
	// Length is the number of elements of a list or sorted set; 0 for others.
	Length int `json:"length"`

	elements []string
}

// ReplayChannel is a channel with the subscribers it had at the end.
type ReplayChannel struct {
	Name        string `json:"name"`
	Subscribers int64  `json:"subscribers"`
}

// Divergence is the first place at which the server and the recording differ.
type Divergence struct {
	// Kind is "command" for a line, "member" for a recorded member that cannot be read, "state" for a key or channel at the end.
	Kind string `json:"kind"`
	// Line is the line number in the recording; 0 if the recording has no such line.
	Line int `json:"line"`
	// Reason is one sentence.
	Reason string `json:"reason"`
	// Recorded and Seen are the lines, or the states, in question.
	Recorded string `json:"recorded"`
	Seen     string `json:"seen"`
	// Window shows both sides for people to read.
	Window string `json:"-"`
}

func (p *ReplayPlan) result() *ReplayResult {
	r := &ReplayResult{
		File: p.Recording.Path, Divergence: p.Divergence,
		Deviations: append([]string{}, p.Notes...), Keys: []ReplayKey{}, Channels: []ReplayChannel{},
	}
	for _, l := range p.Recording.Lines {
		if l.Inner() {
			r.Inner++
		} else {
			r.Commands++
		}
	}
	return r
}

// compareReplayed compares what a recording expects, by Deviations.Expected, with what the server showed, line by line: database, recorded
// peer and every byte of every argument, the case of names included. Times are not compared. It returns nil for equal lists.
func compareReplayed(expected, shown []Line) *Divergence {
	for i := range max(len(expected), len(shown)) {
		reason := ""
		switch {
		case i >= len(shown):
			reason = "the recording has a command that the server did not show"
		case i >= len(expected):
			reason = "the server showed a command that the recording does not have"
		default:
			reason = compareLine(expected[i], shown[i])
		}
		if reason != "" {
			left, right := Column{Title: "recorded", Lines: expected, At: i}, Column{Title: "seen", Lines: shown, At: i}
			d := &Divergence{Kind: "command", Reason: reason, Window: Window(left, right)}
			d.Line, d.Recorded = left.shown()
			_, d.Seen = right.shown()
			return d
		}
	}
	return nil
}

// memberDivergence reports a member that no server can have packed so.
func memberDivergence(rec *Recording, e *LineError) *Divergence {
	at := slices.IndexFunc(rec.Lines, func(l Line) bool { return l.Number == e.Line.Number && l.Raw == e.Line.Raw })
	left := Column{Title: "recorded", Lines: rec.Lines, At: at}
	right := Column{Title: "seen", Note: "not sent"}
	return &Divergence{
		Kind: "member", Line: e.Line.Number, Recorded: e.Line.Text(),
		Reason: strings.ReplaceAll(e.Err.Error(), "\n", "; "), Window: Window(left, right),
	}
}

// judgeState reads every key and channel of the recording into a result. If the lines are equal, it compares the keys and the
// subscriptions with the model's.
func (r *replaying) judgeState(ctx context.Context, result *ReplayResult) error {
	compare := result.Divergence == nil
	differs := func(want, got string) {
		if compare && want != got && result.Divergence == nil {
			result.Divergence = &Divergence{
				Kind: "state", Recorded: want, Seen: got, Window: fmt.Sprintf("recorded: %s\nseen:     %s\n", want, got),
				Reason: "after the last command the server does not hold what the recorded commands lead to",
			}
		}
	}
	for i, k := range r.plan.keys {
		if i == 0 || r.plan.keys[i-1].DB != k.DB {
			if err := r.inDatabase(ctx, k.DB, result, differs); err != nil {
				return fmt.Errorf("database %d: %w", k.DB, err)
			}
		}
		key, err := r.readKey(ctx, k)
		if err != nil {
			return err
		}
		if key.Type != "none" {
			result.Keys = append(result.Keys, key)
		}
		if command, unknown := r.model.Unknown[k]; !unknown {
			differs(modelled(r.model.Values[k]).describe(k.Name), key.describe(k.Name))
		} else if compare {
			result.Deviations = append(result.Deviations, fmt.Sprintf("the content of %s is not compared: what %s does is not modelled", Quoted(k.Name), command))
		}
	}
	for _, channel := range r.plan.channels {
		n, err := redis.Subscribers(ctx, r.control, channel)
		if err != nil {
			return fmt.Errorf("PUBSUB NUMSUB: %w", err)
		}
		if n > 0 {
			result.Channels = append(result.Channels, ReplayChannel{channel, n})
		}
		if want := int64(len(r.model.Subscribers[channel])); want != n {
			differs(fmt.Sprintf("%d subscribers of %s", want, Quoted(channel)), fmt.Sprint(n))
		}
	}
	return nil
}

// inDatabase selects a database. On an own server it notes the keys there that the recording does not name.
func (r *replaying) inDatabase(ctx context.Context, db int, result *ReplayResult, differs func(want, got string)) error {
	err := r.control.Do(ctx, "SELECT", db).Err()
	if err != nil || r.guest != nil {
		return err
	}
	names, err := r.control.Do(ctx, "KEYS", "*").StringSlice()
	for _, name := range names {
		if !slices.Contains(r.plan.keys, Key{DB: db, Name: name}) {
			result.Keys = append(result.Keys, ReplayKey{DB: db, Name: name, Type: "unexpected"})
			differs("no key "+Quoted(name), "it exists")
		}
	}
	return err
}

func (r *replaying) readKey(ctx context.Context, k Key) (key ReplayKey, err error) {
	key = ReplayKey{DB: k.DB, Name: k.Name}
	if key.Type, err = r.control.Do(ctx, "TYPE", k.Name).Text(); err != nil {
		return key, err
	}
	switch key.Type {
	case "list":
		key.elements, err = r.control.Do(ctx, "LRANGE", k.Name, 0, -1).StringSlice()
		key.Length = len(key.elements)
	case "zset":
		members, failed := r.control.Do(ctx, "ZRANGE", k.Name, 0, -1, "WITHSCORES").StringSlice()
		err, key.Length = failed, len(members)/2
		for i := 1; i < len(members); i += 2 {
			if score, err := strconv.ParseFloat(members[i], 64); err == nil {
				members[i] = scoreText(score)
			}
		}
		key.elements = members
	}
	return key, err
}

// modelled is a value of the model as a key.
func modelled(v *Value) ReplayKey {
	switch {
	case v == nil:
		return ReplayKey{}
	case v.Scores == nil:
		return ReplayKey{Type: "list", elements: v.List}
	}
	k := ReplayKey{Type: "zset"}
	for _, m := range v.Members() {
		k.elements = append(k.elements, m, scoreText(v.Scores[m]))
	}
	return k
}

func scoreText(score float64) string { return strconv.FormatFloat(score, 'f', -1, 64) }

// describe writes type and whole content of a key.
func (k ReplayKey) describe(name string) string {
	if cmp.Or(k.Type, "none") == "none" {
		return "no key " + Quoted(name)
	}
	var b []byte
	for _, e := range k.elements {
		b = resp.AppendQuoted(append(b, ' '), e)
	}
	return fmt.Sprintf("%s %s:%s", k.Type, Quoted(name), b)
}

var replayText = template.Must(template.New("").Funcs(template.FuncMap{"quoted": Quoted}).Parse(`{{.File}}: {{if .Identical -}}
identical: {{.Commands}} commands, {{.Inner}} inner; keys {{range $i, $key := .Keys}}{{if $i}}, {{end -}}
{{.Type}} {{quoted .Name}}{{with .Length}} ({{.}}){{end}}{{else}}none{{end -}}
{{range .Channels}}; channel {{quoted .Name}} ({{.Subscribers}}){{end}}
{{else}}different{{with .Divergence.Line}} at line {{.}}{{end}}: {{.Divergence.Reason}}
{{end -}}
{{range .Deviations}}  declared: {{.}}
{{end -}}
{{with .Divergence}}{{.Window}}{{end}}`))

// Text returns the result for people: one line, the declared deviations below it, and the window of a divergence.
func (r *ReplayResult) Text() string {
	var b strings.Builder
	if err := replayText.Execute(&b, r); err != nil {
		panic(err) // the form is part of the program
	}
	return b.String()
}
