package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// WriteRecordings writes what the server saw of each case that ran, one file for each section: <dir>/DQ.offer.monitor.
// A file that is there already is replaced; of cases that did not run now, nothing is kept. A case that holds for the
// release, but that the implementation had no means to run, is named in the metadata: "absent: <id>: <why>", and one
// whose commands are not the same each time too: "uncompared: <id>: <why>".
func WriteRecordings(dir string, report *Report) (files []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the recordings cannot be written: %w", err)
	}
	bySection := make(map[string]*monitor.Recording)
	var order []string
	for _, result := range report.Cases {
		if len(result.Lines) == 0 && result.Absent == "" {
			continue
		}
		section, _, _ := strings.Cut(result.ID, "/")
		recording, ok := bySection[section]
		if !ok {
			recording = newRecording(report, section)
			bySection[section] = recording
			order = append(order, section)
		}
		recording.Lines = append(recording.Lines, result.Lines...)
		for _, declared := range []struct{ key, why string }{{trace.AbsentKey, result.Absent}, {trace.UncomparedKey, result.Uncompared}} {
			if declared.why != "" {
				recording.Fields = append(recording.Fields, monitor.Field{Key: declared.key, Value: result.ID + ": " + strings.Join(strings.Fields(declared.why), " ")})
			}
		}
	}
	for _, section := range order {
		file := filepath.Join(dir, section+".monitor")
		if err := bySection[section].WriteFile(file); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}

func newRecording(report *Report, section string) *monitor.Recording {
	return &monitor.Recording{Fields: []monitor.Field{
		{Key: "source", Value: "dq-bench record, conformance section " + section},
		{Key: "client", Value: report.Driver.Name},
		{Key: "version", Value: report.Driver.Version},
		{Key: "server", Value: report.Server},
	}}
}
