package upgrade

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Text returns the changes for people, in 80 columns.
func (c *Changes) Text() string {
	var b strings.Builder
	text.Wrap(&b, "", c.verdict())
	if len(c.Facts) > 0 {
		b.WriteString("\nFor a queue that is running\n")
	}
	for _, f := range c.Facts {
		text.Wrap(&b, "  ", fmt.Sprintf("%s: %s → %s (%s)", f.What, f.From, f.To, f.Came))
		text.Wrap(&b, "    ", f.Means)
	}
	if len(c.Scripts) > 0 {
		b.WriteString("\nScripts with another text\n")
	}
	for _, s := range c.Scripts {
		fmt.Fprintf(&b, "  %-34s %-12s → %-12s %s\n", s.Name, variant(s.From), variant(s.To), s.Came)
	}
	if len(c.Behaviour) > 0 {
		b.WriteString("\nBehaviour that one of them has\n")
	}
	for _, one := range c.Behaviour {
		text.Wrap(&b, fmt.Sprintf("  %-7s ", one.Holds), one.Requirement)
		text.Wrap(&b, "          ", fmt.Sprintf("%s, %s", one.Case, one.Range))
	}
	c.writeCommands(&b)
	b.WriteString("\nSteps\n")
	for i, step := range c.Steps {
		text.Wrap(&b, fmt.Sprintf("  %d. ", i+1), step)
	}
	return b.String()
}

func (c *Changes) verdict() string {
	for _, f := range c.Facts {
		if f.Stops {
			return fmt.Sprintf("%s → %s: a queue with messages in it does not come across by itself.", c.From, c.To)
		}
	}
	return fmt.Sprintf("%s → %s: each reads what the other has written.", c.From, c.To)
}

// variant is the number at the end of a script's variant.
func variant(name string) string {
	if name == "" {
		return "none"
	}
	return name[strings.LastIndex(name, "-")+1:]
}

func (c *Changes) writeCommands(b *strings.Builder) {
	b.WriteString("\nCommands that the server sees, from recordings of the real ones\n")
	if c.Commands.From == "" || c.Commands.To == "" {
		text.Wrap(b, "  ", "No release is recorded that sends the same scripts as one of the two.")
		return
	}
	stands := func(asked, recorded string) string {
		if asked == recorded {
			return recorded
		}
		return fmt.Sprintf("%s, which stands for %s", recorded, asked)
	}
	text.Wrap(b, "  ", fmt.Sprintf("%s against %s: the same in %d of %d cases that both have.",
		stands(c.From, c.Commands.From), stands(c.To, c.Commands.To), c.Commands.Same, c.Commands.Compared))
	for _, cause := range c.Commands.Causes {
		text.Wrap(b, fmt.Sprintf("  %4d  ", len(cause.Cases)), fmt.Sprintf("%s: %s", cause.Cause, examples(cause.Cases)))
	}
}

// examples names a few cases.
func examples(cases []string) string {
	const few = 2
	if len(cases) <= few {
		return strings.Join(cases, ", ")
	}
	return strings.Join(cases[:few], ", ") + ", …"
}

// WriteJSON writes the one JSON document of releases --json.
func (c *Changes) WriteJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(c)
}
