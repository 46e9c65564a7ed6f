package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/recordings"
)

// redisson reads the recording of a release that holds a case. Its path is what dq-bench takes for it.
func redisson(release, id string) (*monitor.Recording, error) {
	section, _, _ := strings.Cut(id, "/")
	return read(recordings.Redisson(), release+"/"+section+".monitor", "recorded:"+release)
}

func read(files fs.FS, name, path string) (*monitor.Recording, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return monitor.Read(f, path)
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
