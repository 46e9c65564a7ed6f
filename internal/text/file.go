package text

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// readPatience bounds the time until the end of a pipe.
const readPatience = 3 * time.Second

// ErrTooLong says that a file is too long.
var ErrTooLong = errors.New("expected at most")

// ReadFile reads a file of a user's choice, of at most so many bytes. A pipe must end within 3 s and before ctx.
func ReadFile(ctx context.Context, name string, most int64) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe waits for its writer
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_ = file.SetReadDeadline(time.Now().Add(readPatience)) // fails for a regular file, which needs no deadline
	defer context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Now()) })()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%s: expected its end within %s, got %d bytes", name, readPatience, len(content))
	case err == nil && int64(len(content)) > most:
		return nil, fmt.Errorf("%s: %w %d bytes", name, ErrTooLong, most)
	}
	return content, err
}
