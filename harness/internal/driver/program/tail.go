package program

import (
	"io"
	"strings"
	"sync"
)

// tail keeps the end of what is written to it.
type tail struct {
	copyTo io.Writer

	mu    sync.Mutex
	bytes []byte
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.bytes = append(t.bytes, b...)
	if extra := len(t.bytes) - tailSize; extra > 0 {
		t.bytes = append(t.bytes[:0], t.bytes[extra:]...)
	}
	t.mu.Unlock()
	if t.copyTo != nil {
		return t.copyTo.Write(b)
	}
	return len(b), nil
}

// quote returns the end of stderr as the tail of an error message, "" if the
// program said nothing.
func (t *tail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.bytes))
	if text == "" {
		return ""
	}
	return "; its stderr ended with:\n" + text
}
