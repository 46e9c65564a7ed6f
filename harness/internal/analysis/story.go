package analysis

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/values"
	"github.com/dq-bench/dq-bench/internal/text"
)

// maxStories bounds the stories.
const maxStories = 1000

// Story is the fate of one message.
type Story struct {
	Queue  string  `json:"queue"`
	Value  string  `json:"value"`
	Events []Event `json:"events"`
}

// Event is a step of a message. MONITOR shows no line for a waiting client that was served.
type Event struct {
	At   string `json:"at"`
	What string `json:"what"`
	Line LineOf `json:"line"`
}

// begun begins the story of a value of the filter; nil of every other.
func (a *Analysis) begun(q *queue, value []byte) *Story {
	if a.Where == "" || len(a.stories) == maxStories {
		return nil
	}
	shown, err := values.Show(values.Detect(value).Likeliest(), value)
	if err != nil {
		shown = fmt.Sprintf("%q", value)
	}
	if !bytes.Contains(value, []byte(a.Where)) && !strings.Contains(shown, a.Where) {
		return nil
	}
	s := &Story{Queue: q.name, Value: cut(shown), Events: []Event{}}
	a.stories = append(a.stories, s)
	return s
}

func (s *Story) add(what string, at place, us int64) {
	const most = 100
	if s != nil && len(s.Events) < most {
		s.Events = append(s.Events, Event{timeText(us), what, earlier(at)})
	}
}

// storyOf is the story of the i-th value that the call pushed.
func (c *call) storyOf(i int) *Story {
	if i >= len(c.values) {
		return nil
	}
	value := hash(c.values[i])
	for _, of := range [][]*message{c.removed, c.unlisted} {
		for _, m := range of {
			if m.value == value {
				return m.story
			}
		}
	}
	return nil
}

// WriteStories writes what became of the messages that were asked for.
func (d *Document) WriteStories(w io.Writer, where string) error {
	var b strings.Builder
	for _, s := range d.Stories {
		fmt.Fprintf(&b, "%s  %s\n", text.Line(s.Queue), text.Line(s.Value))
		for _, e := range s.Events {
			line := ""
			if e.Line.Number > 0 {
				line = "  (" + placeOf(e.Line) + ")"
			}
			fmt.Fprintf(&b, "%s%s  %s%s\n", textIndent, e.At, e.What, line)
		}
	}
	if len(d.Stories) == 0 {
		fmt.Fprintf(&b, "no message of a delayed queue in this log has %q in its value\n", where)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
