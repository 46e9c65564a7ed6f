package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// generated are the files below docs/spec that follow from the catalogue of scripts and from the recordings. Each
// function gets the present text, of which a page of Markdown keeps all but its table.
var generated = map[string]func(present string) (string, error){
	"scripts.md":             withCatalogue,
	"changes.md":             withChanges,
	"vectors/scripts.json":   whole(scriptVectors, "name"),
	"vectors/names.json":     whole(nameVectors, "destination_queue"),
	"vectors/members.json":   whole(memberVectors, "layout"),
	"vectors/exchanges.json": whole(exchangeVectors, "release", "us"),
}

// Each generated file of docs/spec is up to date; -update writes it.
func TestSpec(t *testing.T) {
	for name, content := range generated {
		file := filepath.Join("../../../docs/spec", filepath.FromSlash(name))
		present, err := os.ReadFile(file)
		require.NoError(t, err)
		want, err := content(string(present))
		require.NoError(t, err, name)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
			continue
		}
		require.Equal(t, want, string(present), "docs/spec/%s is old: make spec", name)
	}
}

// The table of changes has a row for each release at which a statement begins or ends, and no other.
func TestSpecChangesAreComplete(t *testing.T) {
	text, err := os.ReadFile("../../../docs/spec/changes.md")
	require.NoError(t, err)
	_, err = withChanges(regexp.MustCompile(`(?m)^\|3\.42\.0\|.*\n`).ReplaceAllString(string(text), ""))
	require.ErrorContains(t, err, "expected a row for 3.42.0, at which W-STOP-3")
	_, err = withChanges(regexp.MustCompile(`(?m)^\|3\.42\.0\|`).ReplaceAllString(string(text), "|3.43.0|"))
	require.ErrorContains(t, err, "no statement begins or ends at 3.43.0")
}

// whole makes a JSON file of a value. Each object whose first field is one of these begins a line, so that a diff is short.
func whole[T any](of func() (T, error), first ...string) func(string) (string, error) {
	return func(string) (string, error) {
		content, err := of()
		if err != nil {
			return "", err
		}
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(content)
		text := out.String()
		for _, field := range first {
			// A quote within a string is escaped, so that the pattern matches only between values.
			text = regexp.MustCompile(`\{"`+field+`":`).ReplaceAllString(text, "\n$0")
		}
		return text, err
	}
}
