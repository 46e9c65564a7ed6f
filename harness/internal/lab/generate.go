package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// generated are the files by their path below docs/spec, and how each is made. The text that is
// there is given for those that are written in part only.
var generated = map[string]func(there []byte) ([]byte, error){
	"scripts.md":             withCatalogue,
	"changes.md":             withChanges,
	"vectors/scripts.json":   whole(scriptVectors, "name"),
	"vectors/names.json":     whole(nameVectors, "destination_queue"),
	"vectors/members.json":   whole(memberVectors, "layout"),
	"vectors/exchanges.json": whole(exchangeVectors, "release", "us"),
}

// generateMain writes what the specification derives from the catalogue of scripts and the
// recordings: the catalogue's table in scripts.md, and vectors/*.json. `make spec` runs it; a
// test of this package fails where a file is not what it would write.
func generateMain() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER, which is docs/spec")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write makes all files anew.
func write(folder string) error {
	for name, content := range generated {
		path := filepath.Join(folder, filepath.FromSlash(name))
		there, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		text, err := content(there)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if bytes.Equal(text, there) {
			continue
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// whole makes a JSON file of what of returns, nothing of it being written by hand. Each object
// whose first field is one of these begins a line, so that changes are seen in few lines.
func whole[T any](of func() (T, error), first ...string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) {
		content, err := of()
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(content)
		text := out.Bytes()
		for _, field := range first {
			// A quote within a string is escaped, so that this is found between values only.
			object := []byte(`{"` + field + `":`)
			text = bytes.ReplaceAll(text, object, append([]byte("\n"), object...))
		}
		return text, err
	}
}
