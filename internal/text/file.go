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

// readPatience is for how long a file may take to come to its end, if it is a pipe.
const readPatience = 3 * time.Second

// ReadFile reads a file that a user names, whatever it is: of a pipe without a writer nothing, of one that drips what comes
// until ctx or the patience is over, and of none more than most bytes. Then it fails.
func ReadFile(ctx context.Context, name string, most int64) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe waits for its writer
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_ = file.SetReadDeadline(time.Now().Add(readPatience)) // which a regular file has not, and needs not
	stop := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Now()) })
	defer stop()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%s: expected its end within %s, got %d bytes", name, readPatience, len(content))
	case err == nil && int64(len(content)) > most:
		return nil, fmt.Errorf("%s: expected at most %d bytes", name, most)
	}
	return content, err
}
