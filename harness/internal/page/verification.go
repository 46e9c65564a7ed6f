package page

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
)

// verificationView is what the page of a verification shows.
type verificationView struct {
	*conformance.Report
	Style    template.CSS
	State    string // ok, bad or open
	Verdict  string
	Tiles    []verificationTile
	Causes   []verificationCause
	Sections []verificationSection
}

type verificationTile struct {
	Label string
	Count int
	Bad   bool
}

// verificationCause is a cause with its cases.
type verificationCause struct {
	conformance.Cause
	Results []conformance.Result
}

// verificationSection are the cases of one file; each is a square of the picture.
type verificationSection struct {
	Name    string
	Results []conformance.Result
}

// WriteVerification writes a conformance report as one page that needs no other and no
// network, and runs no script.
func WriteVerification(w io.Writer, r *conformance.Report) error {
	v := &verificationView{
		Report: r, Style: template.CSS(style),
		State: "ok", Verdict: fmt.Sprintf("%s is Redisson %s in all %d cases that were judged.", r.Driver, r.Release, r.Counts.Pass),
		Tiles: []verificationTile{
			{"passed", r.Counts.Pass, false}, {"failed", r.Counts.Fail, r.Counts.Fail > 0},
			{"failed as expected", r.Counts.FailedAsExpected, false}, {"skipped", r.Counts.Skip, false},
			{"errors", r.Counts.Error, r.Counts.Error > 0}, {"not run", r.Total - len(r.Cases), false},
		},
	}
	switch {
	case r.Counts.Fail > 0:
		v.State, v.Verdict = "bad", fmt.Sprintf("%s is not Redisson %s in %d of %d cases.", r.Driver, r.Release, r.Counts.Fail, len(r.Cases))
	case r.Counts.Error > 0, r.Counts.Pass == 0, r.Total > len(r.Cases):
		v.State, v.Verdict = "open", fmt.Sprintf("%s was not wholly judged as Redisson %s.", r.Driver, r.Release)
	}
	for _, c := range r.Causes {
		cause := verificationCause{Cause: c}
		for _, result := range r.Cases {
			if result.Status == conformance.Fail && result.Alike(first(r, c)) {
				cause.Results = append(cause.Results, result)
			}
		}
		v.Causes = append(v.Causes, cause)
	}
	for _, result := range r.Cases {
		name, _, _ := strings.Cut(result.ID, "/")
		if n := len(v.Sections); n == 0 || v.Sections[n-1].Name != name {
			v.Sections = append(v.Sections, verificationSection{Name: name})
		}
		last := &v.Sections[len(v.Sections)-1]
		last.Results = append(last.Results, result)
	}
	var out bytes.Buffer
	if err := layout.ExecuteTemplate(&out, "verification.tmpl", v); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// first is the case that a cause was first seen in.
func first(r *conformance.Report, c conformance.Cause) conformance.Result {
	i := slices.IndexFunc(r.Cases, func(result conformance.Result) bool { return result.ID == c.First })
	return r.Cases[i]
}
