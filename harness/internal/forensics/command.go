package forensics

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Command is a command of dq-bench about a queue, to be pasted into a shell.
func Command(verb, queue string, flags ...string) string {
	words := []string{"dq-bench", verb}
	if strings.HasPrefix(queue, "-") { // else taken for a flag
		words = append(append(words, flags...), "--", text.Shell(queue))
	} else {
		words = append(append(words, text.Shell(queue)), flags...)
	}
	return strings.Join(words, " ")
}

// JSON is json.Marshal for who implements MarshalJSON: "<" and the like stay as they are.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(v)
	return b.Bytes(), err
}
