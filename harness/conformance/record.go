package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dq-bench/dq-bench/harness/monitor"
)

// WriteRecordings writes what the server saw of each case that ran, one file for
// each section: <dir>/DQ.offer.monitor. A file that is there already is replaced;
// of cases that did not run now, nothing is kept. A case that holds for the
// release, but that the implementation had no means to run, is named in the
// metadata: "absent: <id>: <why>".
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
		if result.Absent != "" {
			recording.Fields = append(recording.Fields, monitor.Field{Key: absentKey, Value: result.ID + ": " + result.Absent})
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

// absentKey is the metadata key of cases that could not be recorded.
const absentKey = "absent"

func newRecording(report *Report, section string) *monitor.Recording {
	return &monitor.Recording{Fields: []monitor.Field{
		{Key: "source", Value: "dq-bench record, conformance section " + section},
		{Key: "client", Value: report.Driver.Name},
		{Key: "version", Value: report.Driver.Version},
		{Key: "server", Value: report.Server},
	}}
}
