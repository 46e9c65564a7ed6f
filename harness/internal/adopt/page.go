package adopt

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Summary says in a line how the release compares.
func (a *Adoption) Summary() string {
	cases, scripts, rules := 0, len(a.DifferingScripts()), 0
	for _, c := range a.Cases {
		if c.Outcome.differs() {
			cases++
		}
	}
	for _, r := range a.Rules {
		if r.Differs() {
			rules++
		}
	}
	if cases+scripts+rules == 0 {
		return fmt.Sprintf("Redisson %s does what %s does.", a.Release, a.Nearest)
	}
	return fmt.Sprintf("Redisson %s differs from %s in %s, %s and %s.", a.Release, a.Nearest,
		count(cases, "case"), count(scripts, "script"), count(rules, "rule"))
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Differs reports whether the release is not as the nearest one.
func (a *Adoption) Differs() bool {
	return len(a.DifferingScripts()) > 0 ||
		slices.ContainsFunc(a.Cases, func(c Case) bool { return c.Outcome.differs() }) ||
		slices.ContainsFunc(a.Rules, Rule.Differs)
}

// Tally is how many cases have an outcome.
type Tally struct {
	Outcome Outcome
	Cases   int
}

// Tallies count the cases by outcome.
func (a *Adoption) Tallies() []Tally {
	var all []Tally
	for _, o := range outcomes {
		n := 0
		for _, c := range a.Cases {
			if c.Outcome == o {
				n++
			}
		}
		if n > 0 {
			all = append(all, Tally{o, n})
		}
	}
	return all
}

// Group are the cases that differ for one cause.
type Group struct {
	Outcome Outcome
	Cause   string
	Cases   []string
	// Detail is that of the first case.
	Detail string
}

// Groups are the cases that differ, those of one cause together, the most first.
func (a *Adoption) Groups() []Group {
	var all []Group
	for _, c := range a.Cases {
		if !c.Outcome.differs() {
			continue
		}
		i := slices.IndexFunc(all, func(g Group) bool { return g.Outcome == c.Outcome && g.Cause == c.Cause })
		if i < 0 {
			i = len(all)
			all = append(all, Group{Outcome: c.Outcome, Cause: c.Cause, Detail: c.Detail})
		}
		all[i].Cases = append(all[i].Cases, c.ID)
	}
	slices.SortStableFunc(all, func(a, b Group) int { return cmp.Compare(len(b.Cases), len(a.Cases)) })
	return all
}

// Review names what an adoption that is written leaves to people.
func (a *Adoption) Review() []string {
	var all []string
	for _, s := range a.Scripts {
		if s.New == nil {
			continue
		}
		all = append(all, fmt.Sprintf("%s: its name, and what %s says of KEYS and ARGV", s.New.Variant, variantsFile))
		if s.New.Near == nil {
			all = append(all, fmt.Sprintf("%s: a constant in dq/wire/script_name.go", variantName(s.New.Variant)))
		}
	}
	for _, r := range a.Rules {
		if r.Broken() {
			all = append(all, fmt.Sprintf("%s: dq takes it to be %s, and it is %s", r.Name, r.DQ, r.Here))
		}
	}
	for _, g := range a.Groups() {
		if g.Outcome == Behaviour {
			all = append(all, fmt.Sprintf("%s: %s has to hold to another release, or to be written anew (%s)", count(len(g.Cases), "case"), g.Cases[0], g.Cause))
		}
	}
	return all
}

// WriteText writes the page for a terminal.
func (a *Adoption) WriteText(w io.Writer) error {
	var b strings.Builder
	known := "which the catalogue knows"
	if !a.Known {
		known = "which the catalogue does not know"
	}
	fmt.Fprintf(&b, "Redisson %s, %s, on %s\ncompared with %s, the nearest that is recorded\n\n", a.Release, known, a.Report.Server, a.Nearest)
	a.writeCases(&b)
	a.writeScripts(&b)
	a.writeRules(&b)
	if review := a.Review(); len(review) > 0 {
		b.WriteString("For review\n")
		for _, text := range review {
			fmt.Fprintf(&b, "  - %s\n", text)
		}
		b.WriteString("\n")
	}
	fmt.Fprintln(&b, a.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func (a *Adoption) writeCases(b *strings.Builder) {
	b.WriteString("Cases\n")
	for _, t := range a.Tallies() {
		fmt.Fprintf(b, "%5d  %s\n", t.Cases, t.Outcome)
	}
	b.WriteString("\n")
	for _, g := range a.Groups() {
		fmt.Fprintf(b, "%5d  %s: %s\n       first: %s\n", len(g.Cases), g.Outcome, g.Cause, g.Cases[0])
		for line := range strings.Lines(g.Detail) {
			b.WriteString("         " + strings.TrimRight(line, "\n") + "\n")
		}
		b.WriteString("\n")
	}
}

func (a *Adoption) writeScripts(b *strings.Builder) {
	differing := a.DifferingScripts()
	fmt.Fprintf(b, "Scripts\n%5d  texts that both send\n", len(a.Scripts)-len(differing))
	for _, s := range differing {
		switch {
		case s.New != nil:
			near := ""
			if s.New.Near != nil {
				near = ", likest " + s.New.Near.Variant
			}
			fmt.Fprintf(b, "       new: %s, %d bytes, %s\n            %s in %s%s\n", s.New.Variant, len(s.New.Text), s.SHA1,
				cmp.Or(strings.Join(s.New.Calls, " / "), "sent"), s.New.Case, near)
			for line := range strings.Lines(s.New.Diff()) {
				b.WriteString("              " + line)
			}
		case s.Here:
			fmt.Fprintf(b, "       only here: %s, %s\n", s.Known.Variant, s.SHA1)
		default:
			fmt.Fprintf(b, "       no longer: %s, %s\n", s.Known.Variant, s.SHA1)
		}
	}
	b.WriteString("\n")
}

func (a *Adoption) writeRules(b *strings.Builder) {
	b.WriteString("Rules\n")
	for _, r := range a.Rules {
		mark := " "
		if r.Differs() {
			mark = "≠"
		}
		fmt.Fprintf(b, "  %s %-18s %s\n", mark, r.Name, r.Here)
		if r.Here != r.There {
			fmt.Fprintf(b, "    %18s %s\n", a.Nearest.String()+":", r.There)
		}
		if r.Broken() {
			fmt.Fprintf(b, "    %18s %s\n", "dq takes it for:", r.DQ)
		}
	}
	b.WriteString("    not measured:\n")
	for _, rule := range Unmeasured {
		fmt.Fprintf(b, "      %s\n", rule)
	}
	b.WriteString("\n")
}
