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
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"testing/fstest" // an in-memory fs.FS; it does not import testing
)

// Files holds every recording under its path in this folder, such as documents/002-zlyx.monitor. The .json file beside
// them is the state that a document shows without the commands that led to it.
//
// redisson/ is packed; Redisson unpacks it.
//
//go:embed documents redisson
var Files embed.FS

// Absent begins a cell of index.tsv for a case that the release could not run; the reason follows.
const Absent = "absent: "

// Redisson holds what dq-bench record saw of each recorded Redisson release: a folder for each release, in it one
// NAME.monitor for each section of the conformance cases.
//
// A case that means the same at several releases is stored once, at the first of these: redisson/index.tsv says where.
// Its lines were recorded there.
var Redisson = sync.OnceValue(func() fs.FS {
	index, _ := Files.ReadFile("redisson/index.tsv") // the files are part of the program, and a test reads them
	head, rows, _ := strings.Cut(strings.TrimSpace(string(index)), "\n")
	releases := strings.Split(head, "\t")[1:]
	stored := map[string]map[string][]byte{}                  // file, case, text
	absent, lines := map[string][]byte{}, map[string][]byte{} // by file
	for row := range strings.SplitSeq(rows, "\n") {
		id, cells, _ := strings.Cut(row, "\t")
		section, _, _ := strings.Cut(id, "/")
		for i, from := range strings.Split(cells, "\t") {
			file := releases[i] + "/" + section + ".monitor"
			if why, ok := strings.CutPrefix(from, Absent); ok {
				absent[file] = fmt.Appendf(absent[file], "# absent: %s: %s\n", id, why)
			} else if from != "" {
				form := path.Join("redisson", from, section+".monitor")
				if stored[form] == nil {
					text, _ := Files.ReadFile(form)
					_, _, stored[form] = Split(text)
				}
				lines[file] = append(lines[file], stored[form][id]...)
			}
		}
	}
	tree := fstest.MapFS{}
	for file, text := range lines {
		release, name := path.Split(file)
		head := Head(strings.TrimSuffix(name, ".monitor"), path.Clean(release))
		tree[file] = &fstest.MapFile{Mode: 0o444, Data: slices.Concat(head, absent[file], text)}
	}
	return tree
})

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
		const mark = `] "echo" "case:`
		if i := bytes.Index(bytes.ToLower(line), []byte(mark)); i >= 0 {
			id = string(bytes.TrimRight(line[i+len(mark):], "\"\n"))
			order = append(order, id)
		}
		if id != "" {
			cases[id] = append(cases[id], line...)
		}
	}
	return absent, order, cases
}
