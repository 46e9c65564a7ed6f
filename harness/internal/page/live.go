package page

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Live is what a page shows besides that a server keeps up to date. Its script asks for
// events, server-sent ones called page and end whose data is what Update returns, beside the
// page, and stops the run by a POST to stop beside it, with the token in X-DQ-Token.
type Live struct {
	// Tag is the state in a word, and Text in a sentence; empty are those of the runs.
	Tag, Text string
	// CanStop enables the button.
	CanStop bool
	// Token is what a request to stop must bring.
	Token string
}

// Update returns what brings a page that is open in a browser to this state.
func (p Page) Update() ([]byte, error) {
	view, err := newView(p)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var main bytes.Buffer
	if err := layout.ExecuteTemplate(&main, "main", view); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return json.Marshal(struct {
		Title string `json:"title"`
		Main  string `json:"main"`
	}{view.Title, main.String()})
}

// setLive shows how a run under way stands in place of a verdict.
func (v *pageView) setLive(l *Live) {
	v.Live = l
	if l != nil && l.Tag != "" {
		v.State, v.StateTag, v.Verdict = "open", l.Tag, l.Text
	}
}
