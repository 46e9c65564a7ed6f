package upgrade

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/dq-bench/dq-bench/docs/spec"
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
		if len(f.Statements) > 0 {
			text.Wrap(&b, "    ", spec.IDs(f.Statements))
		}
	}
	if len(c.Scripts) > 0 {
		b.WriteString("\nScripts with another text\n")
	}
	for _, s := range c.Scripts {
		fmt.Fprintf(&b, "  %-30s %-4s → %-4s %-7s %s\n", s.Name, variant(s.From), variant(s.To), s.Came, spec.IDs(s.Statements))
	}
	if len(c.Behaviour) > 0 {
		b.WriteString("\nBehaviour that one of them has\n")
	}
	for _, one := range c.Behaviour {
		text.Wrap(&b, fmt.Sprintf("  %-7s ", one.Holds), one.Requirement)
		text.Wrap(&b, "          ", fmt.Sprintf("%s, %s: %s", one.Case, one.Range, spec.IDs(one.Statements)))
	}
	c.writeLateness(&b)
	c.writeCommands(&b)
	c.writeStatements(&b)
	b.WriteString("\nSteps\n")
	for i, step := range c.Steps {
		text.Wrap(&b, fmt.Sprintf("  %d. ", i+1), step)
	}
	return b.String()
}

// writeStatements names what the specification says of one of them only, page by page.
func (c *Changes) writeStatements(b *strings.Builder) {
	if len(c.Statements) == 0 {
		return
	}
	fmt.Fprintf(b, "\nStatements that hold for one of them only, in %s\n", spec.Dir)
	for i := 0; i < len(c.Statements); {
		page := pageOf(c.Statements[i])
		var ids []string
		for ; i < len(c.Statements) && pageOf(c.Statements[i]) == page; i++ {
			ids = append(ids, fmt.Sprintf("%s (%s)", c.Statements[i].ID, c.Statements[i].Holds))
		}
		text.Wrap(b, fmt.Sprintf("  %-15s ", page), strings.Join(ids, ", "))
	}
}

// pageOf is the file that a statement is in.
func pageOf(s Statement) string {
	file, _, _ := strings.Cut(s.Link, "#")
	return path.Base(file)
}

func (c *Changes) verdict() string {
	var named []string
	for _, f := range c.Facts {
		name, isCodec := strings.CutPrefix(f.What, codecNamed)
		switch {
		case f.Stops && (!isCodec || f.What == codecByDefault):
			return fmt.Sprintf("%s → %s: a queue with messages in it does not come across by itself.", c.From, c.To)
		case f.Stops:
			named = append(named, name)
		}
	}
	if len(named) > 0 {
		return fmt.Sprintf("%s → %s: each reads what the other has written, but for queues whose code names a codec that %s has not got: %s.",
			c.From, c.To, c.To, strings.Join(named, ", "))
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
