package recordings

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"testing/fstest" // an in-memory fs.FS; it does not import testing
)

// Absent begins a cell of index.tsv for a case that the release could not run; the reason follows.
const Absent = "absent: "

// Redisson holds what dq-bench record saw of each recorded Redisson release: a folder for each release, in it one
// NAME.monitor for each section of the conformance cases.
//
// A case that means the same at several releases is stored once, at the first of these: redisson/index.tsv says where.
// Its lines were recorded there.
var Redisson = sync.OnceValue(func() fs.FS {
	tree, err := unpack(Files, "redisson")
	if err != nil {
		panic(err) // the files are part of the program, and a test reads them
	}
	return tree
})

// unpack makes one recording for each release and section from the stored forms and index.tsv.
func unpack(files fs.FS, dir string) (fstest.MapFS, error) {
	index, err := fs.ReadFile(files, path.Join(dir, "index.tsv"))
	if err != nil {
		return nil, err
	}
	stored := map[string]map[string][]byte{} // file, case, text
	names, err := fs.Glob(files, path.Join(dir, "*", "*.monitor"))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		var order []string
		if _, order, stored[name] = Split(text); len(order) != len(stored[name]) {
			return nil, fmt.Errorf("%s: a case is there twice", name)
		}
	}
	head, rows, _ := strings.Cut(strings.TrimSuffix(string(index), "\n"), "\n")
	releases := strings.Split(head, "\t")[1:]
	absent, lines := map[string][]byte{}, map[string][]byte{} // by file
	for row := range strings.SplitSeq(rows, "\n") {
		cells := strings.Split(row, "\t")
		if len(cells) != len(releases)+1 {
			return nil, fmt.Errorf("index.tsv: expected %d cells, got %q", len(releases)+1, row)
		}
		id := cells[0]
		section, _, _ := strings.Cut(id, "/")
		for i, from := range cells[1:] {
			file := releases[i] + "/" + section + ".monitor"
			if why, ok := strings.CutPrefix(from, Absent); ok {
				absent[file] = fmt.Appendf(absent[file], "# absent: %s: %s\n", id, why)
				continue
			}
			if from == "" {
				continue
			}
			text, ok := stored[path.Join(dir, from, section+".monitor")][id]
			if !ok {
				return nil, fmt.Errorf("index.tsv: %s at %s: %s has no such case", id, releases[i], from)
			}
			lines[file] = append(lines[file], text...)
		}
	}
	tree := fstest.MapFS{}
	for file, text := range lines {
		release, name := path.Split(file)
		head := Head(strings.TrimSuffix(name, ".monitor"), path.Clean(release))
		tree[file] = &fstest.MapFile{Mode: 0o444, Data: slices.Concat(head, absent[file], text)}
	}
	return tree, err
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
