package report

import (
	"encoding/xml"
	"io"
)

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
