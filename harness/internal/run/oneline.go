package run

import "github.com/dq-bench/dq-bench/internal/text"

// oneLine takes out of what a file says in words whatever would do something to a terminal, or look
// like another line: it may be from elsewhere.
func (r *Document) oneLine() {
	words := []*string{
		&r.RunID, &r.Tool.Name, &r.Tool.Version, &r.Driver.Name, &r.Driver.Version, &r.Scenario.Name, &r.Scenario.Queue,
		&r.Environment.OS, &r.Environment.Arch, &r.Environment.GoVersion, &r.Verdict.Text,
	}
	if r.Server != nil {
		words = append(words, &r.Server.Product, &r.Server.Version, &r.Server.How, &r.Server.Address)
	}
	for i := range r.Scenario.Fleet {
		words = append(words, &r.Scenario.Fleet[i])
	}
	for i := range r.Notes {
		words = append(words, &r.Notes[i])
	}
	if r.Validity != nil {
		for i := range r.Validity.Reasons {
			words = append(words, &r.Validity.Reasons[i])
		}
	}
	for _, w := range words {
		*w = text.Line(*w)
	}
	labels := r.Labels
	for key, value := range labels {
		if clean := text.Line(key); clean != key || text.Line(value) != value {
			delete(labels, key)
			labels[clean] = text.Line(value)
		}
	}
}
