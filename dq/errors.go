package dq

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrClosed is returned by calls on a closed Client or DelayedQueue.
	ErrClosed = errors.New("dq: closed")
	// ErrEmpty is returned by Poll and its forms when there is no value.
	ErrEmpty = errors.New("dq: the queue is empty")
	// ErrNegativeDelay is returned by Offer; Redisson refuses negative delays
	// since 3.10.4.
	ErrNegativeDelay = errors.New("dq: the delay is negative")
	// ErrUncertain is wrapped by the error of an Offer whose reply was lost: the
	// value may have been queued or not. It is never sent again by itself,
	// because that could queue it twice.
	ErrUncertain = errors.New("dq: no reply, the value may have been queued")
	// ErrUnsupported is wrapped by the error of a call that the chosen release does
	// not have.
	ErrUnsupported = errors.New("dq: not in this release")
	// ErrForeignMember is wrapped by the error of a transfer that met a member of
	// the other layout. See the 3.21.1 upgrade in Redisson's history.
	ErrForeignMember = errors.New("dq: the queue holds a member of the other layout")
)

// DecodeError says that the codec could not decode a value. The call may have
// removed it from the queue: Data is what is left of it.
type DecodeError struct {
	Data []byte
	Err  error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("a value of %d bytes cannot be decoded: %v", len(e.Data), e.Err)
}

// Unwrap returns the codec's error.
func (e *DecodeError) Unwrap() error { return e.Err }

// offerError sorts the failure of an offer: the server refused it, it was never
// sent, or nobody knows.
func offerError(queue string, err error) error {
	var reply redis.Error
	var op *net.OpError
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, ErrUnsupported):
		return err
	case errors.As(err, &reply),
		errors.As(err, &op) && op.Op == "dial",
		errors.Is(err, redis.ErrPoolTimeout),
		errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("dq: offer to %q: %w", queue, err)
	}
	return fmt.Errorf("dq: offer to %q: %w: %w", queue, ErrUncertain, err)
}

// transferError marks the error of a transfer script that failed to unpack a
// member. The text is that of Redis's struct library in all server versions.
func transferError(queue string, err error) error {
	if strings.Contains(err.Error(), "'unpack'") {
		err = fmt.Errorf("%w: %w", ErrForeignMember, err)
	}
	return fmt.Errorf("dq: transfer of %q: %w", queue, err)
}
