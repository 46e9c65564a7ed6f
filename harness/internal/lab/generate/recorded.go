package main

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/recordings"
)

// read reads a recording by its path below the folder recordings.
func read(name string) (*monitor.Recording, error) {
	f, err := recordings.Files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return monitor.Read(f, path.Join("recordings", name))
}

// recordingOf is the file that a case is recorded in.
func recordingOf(release, id string) string {
	section, _, _ := strings.Cut(id, "/")
	return fmt.Sprintf("redisson/%s/%s.monitor", release, section)
}

// bytesVector is a string of any bytes: a JSON string where they are UTF-8, else an object with
// their hexadecimal digits.
type bytesVector string

// MarshalJSON writes one of the two forms.
func (b bytesVector) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(b)) {
		return json.Marshal(string(b))
	}
	return json.Marshal(map[string]string{"hex": fmt.Sprintf("%x", string(b))})
}
