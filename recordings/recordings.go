// Package recordings holds the recorded MONITOR logs, as files and embedded, so that tests and the binary reach the
// same bytes.
//
// documents/ is transcribed byte for byte from the documents the project began with; the metadata of each file names
// its source and says where it deviates from what a server of today shows.
//
// counts.tsv has how many conformance cases dq and the real Redisson pass, skip and fail at each recorded release. A
// case that fails for a reason that the case gives counts as failed.
package recordings

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Files holds every recording under its path in this folder, such as documents/002-zlyx.monitor. The .json file beside
// them is the state that a document shows without the commands that led to it.
//
// redisson/ is packed: a case that means the same at several releases is stored once, at the first of these, and its lines were
// recorded there. Redisson unpacks it.
//
//go:embed documents redisson
var Files embed.FS

// Absent begins a cell of index.tsv for a case that the release could not run; the reason follows.
const Absent = "absent: "

// index reads redisson/index.tsv: the releases, and for each case its id and a cell for each release, which says where its lines are
// stored, or why there are none, or nothing.
func index() (releases []string, rows [][]string) {
	text, _ := Files.ReadFile("redisson/index.tsv") // the files are part of the program, and a test reads them
	for line := range strings.Lines(string(text)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows[0][1:], rows[1:]
}

// Releases are the recorded releases of Redisson, ascending.
func Releases() []string {
	releases, _ := index()
	return releases
}

// Redisson unpacks what dq-bench record saw of a release: the text of NAME.monitor by the NAME of each section of the conformance cases;
// nil for a release that was not recorded.
//
// A case that means the same at several releases is stored once, at the first of these. Its lines were recorded there.
func Redisson(release string) (sections map[string][]byte) {
	releases, rows := index()
	column := 1 + slices.Index(releases, release)
	if column == 0 {
		return nil
	}
	absent, stored := map[string][]byte{}, map[string]map[string][]byte{} // by section, by file and case
	sections = map[string][]byte{}
	for _, row := range rows {
		id, from := row[0], row[column]
		section, _, _ := strings.Cut(id, "/")
		if why, ok := strings.CutPrefix(from, Absent); ok {
			absent[section] = fmt.Appendf(absent[section], "# absent: %s: %s\n", id, why)
		} else if from != "" {
			file := path.Join("redisson", from, section+".monitor")
			if stored[file] == nil {
				text, _ := Files.ReadFile(file)
				_, _, stored[file] = Split(text)
			}
			sections[section] = append(sections[section], stored[file][id]...)
		}
	}
	for section, text := range sections {
		sections[section] = slices.Concat(Head(section, release), absent[section], text)
	}
	return sections
}

// Head is how a recording of a section begins.
func Head(section, release string) []byte {
	return fmt.Appendf(nil, "# source: dq-bench record, conformance section %s\n# client: redisson\n# version: %s\n# server: redis 7.0.15\n", section, release)
}

// Split cuts a recording into its absent cases with the reason, and its cases in their order with their lines.
func Split(text []byte) (absent map[string]string, order []string, cases map[string][]byte) {
	absent, cases = map[string]string{}, map[string][]byte{}
	id := ""
	for line := range bytes.Lines(text) {
		if field, ok := bytes.CutPrefix(line, []byte("# absent: ")); ok {
			name, why, _ := strings.Cut(strings.TrimSuffix(string(field), "\n"), ": ")
			absent[name] = why
			continue
		}
		if before, name, ok := bytes.Cut(line, []byte(`" "case:`)); ok && bytes.HasSuffix(bytes.ToLower(before), []byte(`] "echo`)) {
			id = string(bytes.TrimRight(name, "\"\n"))
			order = append(order, id)
		}
		if id != "" {
			cases[id] = append(cases[id], line...)
		}
	}
	return absent, order, cases
}
