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
// Its lines were recorded there. A release is unpacked when something in its folder is first opened.
var Redisson = sync.OnceValue(func() fs.FS {
	index, _ := Files.ReadFile("redisson/index.tsv") // the files are part of the program, and a test reads them
	head, rows, _ := strings.Cut(strings.TrimSpace(string(index)), "\n")
	stored := map[string]func() map[string][]byte{} // file, case, text
	files, _ := fs.Glob(Files, "redisson/*/*.monitor")
	for _, file := range files {
		stored[file] = sync.OnceValue(func() map[string][]byte {
			text, _ := Files.ReadFile(file)
			_, _, cases := Split(text)
			return cases
		})
	}
	p := packed{fstest.MapFS{}, map[string]func() fs.FS{}}
	for column, release := range strings.Split(head, "\t")[1:] {
		p.top[release] = &fstest.MapFile{Mode: fs.ModeDir | 0o555}
		p.releases[release] = sync.OnceValue(func() fs.FS {
			absent, lines := map[string][]byte{}, map[string][]byte{} // by section
			for row := range strings.SplitSeq(rows, "\n") {
				id, cells, _ := strings.Cut(row, "\t")
				section, _, _ := strings.Cut(id, "/")
				from := strings.Split(cells, "\t")[column]
				if why, ok := strings.CutPrefix(from, Absent); ok {
					absent[section] = fmt.Appendf(absent[section], "# absent: %s: %s\n", id, why)
				} else if from != "" {
					lines[section] = append(lines[section], stored[path.Join("redisson", from, section+".monitor")]()[id]...)
				}
			}
			tree := fstest.MapFS{}
			for section, text := range lines {
				tree[release+"/"+section+".monitor"] = &fstest.MapFile{Mode: 0o444, Data: slices.Concat(Head(section, release), absent[section], text)}
			}
			return tree
		})
	}
	return p
})

// packed is a tree of folders, each unpacked when it is opened.
type packed struct {
	top      fstest.MapFS
	releases map[string]func() fs.FS
}

func (p packed) Open(name string) (fs.File, error) {
	release, _, _ := strings.Cut(name, "/")
	if unpack := p.releases[release]; unpack != nil {
		return unpack().Open(name)
	}
	return p.top.Open(name)
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
