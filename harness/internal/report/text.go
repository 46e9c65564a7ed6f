package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/internal/text"
)

// width is how many columns of a terminal a page takes.
const width = 100

// Text writes the page for a terminal: what was looked at, the figures, and the verdict at the end.
func (p Page) Text(w io.Writer) error {
	var out strings.Builder
	for _, line := range p.Lead {
		wrap(&out, line)
	}
	for _, b := range p.Banners {
		wrap(&out, strings.TrimSpace(b.Title+" "+b.Text))
	}
	out.WriteString("\n")
	for _, t := range p.tables() {
		t.Text(&out)
		if t.Said {
			wrap(&out, t.Hint)
		}
		out.WriteString("\n")
	}
	for _, note := range p.Notes {
		wrap(&out, "note: "+note)
	}
	wrap(&out, p.Verdict)
	if p.Next != "" {
		next := "next: " + p.Next
		if len(next) > width { // a shell reads it all the same
			next = strings.ReplaceAll(next, " --", " \\\n  --")
		}
		out.WriteString(next + "\n")
	}
	_, err := io.WriteString(w, text.Inert(strings.TrimLeft(out.String(), "\n")))
	return err
}

// tables are for text and Markdown.
func (p Page) tables() []Table {
	return slices.DeleteFunc(slices.Concat(p.Headline, p.Tables), func(t Table) bool { return t.PageOnly || len(t.Rows) == 0 })
}

// wrap writes words in lines of at most width columns, further lines indented.
func wrap(out *strings.Builder, words string) {
	out.WriteString(text.WrapAt(width, 2, "", strings.Join(strings.Fields(words), " ")))
}

// Markdown writes the page for a pull request, the verdict first.
func (p Page) Markdown(w io.Writer) error {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n\n", args...) }
	line("**%s**", markdown.Replace(p.Verdict))
	if p.Next != "" {
		line("    %s", p.Next)
	}
	for _, lead := range p.Lead {
		line("%s", markdown.Replace(lead))
	}
	for _, b := range p.Banners {
		line("**%s** %s", markdown.Replace(b.Title), markdown.Replace(b.Text))
	}
	for _, t := range p.tables() {
		t.Markdown(&out)
		out.WriteString("\n")
	}
	for _, note := range p.Notes {
		line("note: %s", markdown.Replace(note))
	}
	_, err := io.WriteString(w, text.Inert(out.String()))
	return err
}

// CSV writes the table Data.
func (p Page) CSV(w io.Writer) error {
	data := p.Data
	for _, t := range slices.Concat(p.Headline, p.Tables) {
		if len(data.Head) == 0 {
			data = t
		}
	}
	return data.CSV(w)
}

// JUnit writes the verdict and each row that has a state as a test case, which fails if its state is bad.
func (p Page) JUnit(w io.Writer) error {
	suite := JUnitSuite{Name: p.Title}
	add := func(class, name, state, text string) {
		c := JUnitCase{Class: class, Name: name, Output: text}
		if state == "bad" {
			c.Failure, c.Output = &JUnitText{Message: text}, ""
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}
	add("verdict", p.Title, p.State, p.Verdict)
	for _, t := range slices.Concat(p.Headline, p.Tables) {
		columns := t.columns()
		for i, r := range t.Rows {
			if r.Class == "ok" || r.Class == "bad" || r.Class == "open" {
				add(t.Title, columns[i+1][0], r.Class, strings.Join(columns[i+1][1:], "; "))
			}
		}
	}
	return suite.Write(w)
}

// JUnitSuite is a report in the XML of JUnit, which CI systems read.
type JUnitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []JUnitCase `xml:"testcase"`
}

// JUnitCase is one test case. A case without Failure, Error and Skipped has passed.
type JUnitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *JUnitText `xml:"failure,omitempty"`
	Error   *JUnitText `xml:"error,omitempty"`
	Skipped *JUnitText `xml:"skipped,omitempty"`
	Output  string     `xml:"system-out,omitempty"`
}

// JUnitText says in a line, and in full, why a case did not pass.
type JUnitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Write writes the XML document.
func (s JUnitSuite) Write(w io.Writer) error {
	s.Tests = len(s.Cases)
	out, err := xml.MarshalIndent(s, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, xml.Header+string(out)+"\n")
	}
	return err
}
