// Package spec answers: what does the specification of the wire protocol state, for which releases, and which conformance
// cases show it? The Markdown is the only list of statements. Package conformance cites them in a failure; package ops
// lists the changes between two releases. The tests hold the Markdown against cases, recordings and scripts.
package spec

import (
	"embed"
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// Dir is the folder of the specification, from the root of the module.
const Dir = "docs/spec"

// Level is how strictly a statement is meant, in the words of RFC 2119.
type Level string

// The levels, of which MUST and SHOULD may have a NOT. REQUIRED, SHALL, RECOMMENDED and OPTIONAL are not used.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Statement is one thing that the specification says.
type Statement struct {
	// ID is W-<area>-<number>, such as W-OFFER-1.
	ID    string
	Level Level
	// Text is the statement in one line of Markdown, the word of its level included.
	Text string
	// Releases are the releases that it holds for.
	Releases Ranges
	// Cases are the ids of the conformance cases that show it, at least one.
	Cases []string
	// Scripts are the names of the catalogue's scripts that it is about, if any.
	Scripts []string
	// File is a path from the root of the module.
	File string
}

// Link points at the statement, from the root of the module.
func (s *Statement) Link() string { return s.File + "#" + strings.ToLower(s.ID) }

// Citation is a statement as reports cite it.
type Citation struct {
	ID    string `json:"id"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	// Link is a path from the root of this project's source, with an anchor.
	Link string `json:"link"`
}

// Cite returns what reports say of statements; never nil.
func Cite(statements []*Statement) []Citation {
	cited := make([]Citation, len(statements))
	for i, s := range statements {
		cited[i] = Citation{s.ID, s.Level, s.Text, s.Link()}
	}
	return cited
}

// IDs returns the ids of citations, between commas.
func IDs(cited []Citation) string {
	ids := make([]string, len(cited))
	for i, c := range cited {
		ids[i] = c.ID
	}
	return strings.Join(ids, ", ")
}

// Spec has all statements, in the order of the files' names, and of the lines in each.
type Spec []*Statement

//go:embed *.md
var files embed.FS

// All returns the specification that this program was built with. Its files are part of the program, so that a fault in
// them is a fault of the build.
var All = sync.OnceValue(func() Spec {
	s, err := Load(files)
	if err != nil {
		panic("spec: " + err.Error())
	}
	return s
})

// Load reads every *.md of a folder but its README.md.
func Load(folder fs.FS) (all Spec, err error) {
	names, err := fs.Glob(folder, "*.md")
	for _, name := range names {
		if name == "README.md" {
			continue
		}
		text, unread := fs.ReadFile(folder, name)
		statements, wrong := Parse(path.Join(Dir, name), string(text))
		all, err = append(all, statements...), errors.Join(err, unread, wrong)
	}
	return all, err
}

// Where returns the statements for which keep is true.
func (s Spec) Where(keep func(*Statement) bool) (kept []*Statement) {
	for _, one := range s {
		if keep(one) {
			kept = append(kept, one)
		}
	}
	return kept
}
