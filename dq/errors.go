package dq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/internal/resp"
)

var (
	// ErrClosed is returned by calls on a closed Client, and by Offer and Ready of a closed Queue, whose other calls still work.
	ErrClosed = conn.ErrClosed
	// ErrEmpty is returned by Poll when there is no value.
	ErrEmpty = errors.New("dq: the queue is empty")
	// ErrNegativeDelay is returned by Offer; Redisson refuses negative delays since 3.10.4.
	ErrNegativeDelay = errors.New("dq: the delay is negative")
	// ErrNilValue is wrapped by the error of an Offer of nil; a nil []byte is no bytes. Nil is Java's null, which
	// Redisson's queues refuse, because their poll returns null when empty.
	ErrNilValue = errors.New("dq: nil, which is null in Java, cannot be queued")
	// ErrUncertain is wrapped by the error of an Offer that may have queued the value: its reply was lost, or its script failed after
	// it had begun, perhaps after its first write. dq does not send such an offer again, which could queue the value twice.
	ErrUncertain = errors.New("dq: the value may have been queued")
	// ErrUnsupported is wrapped by the error of a call that the chosen release does not have.
	ErrUnsupported = errors.New("dq: not in this release")
	// ErrForeignMember is wrapped by the error of a Redisson script that met a member of the other layout. Such a member
	// stops Redisson, and a Client WithRedissonCommands.
	ErrForeignMember = errors.New("dq: the queue holds a member of the other layout")
)

// DecodeError says that the codec could not decode a value. A call that takes values away
// has removed it from the queue, and no other value: Data has its bytes.
type DecodeError struct {
	Data []byte
	Err  error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("a value of %d bytes cannot be decoded: %v", len(e.Data), e.Err)
}

// Unwrap returns the codec's error.
func (e *DecodeError) Unwrap() error { return e.Err }

// uncertain marks an error after which a value may be queued.
func uncertain(err error) error {
	var reply resp.Error
	if !errors.Is(err, ErrUncertain) && (errors.Is(err, conn.ErrLost) || errors.As(err, &reply) && mayHaveWritten(reply)) {
		return fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	return err
}

// passes reports whether an error, after which a command has certainly not run, is one that time may cure.
func passes(err error) bool {
	var reply resp.Error
	switch {
	case errors.Is(err, ErrUncertain), errors.Is(err, conn.ErrLost), errors.Is(err, ErrClosed), errors.Is(err, conn.ErrRedisClosed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case !errors.As(err, &reply):
		return errors.Is(err, conn.ErrUnsent)
	}
	codes := []string{"LOADING", "READONLY", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "ASK", "MOVED", "ERR max number of clients"}
	return slices.ContainsFunc(codes, func(code string) bool { return strings.HasPrefix(string(reply), code+" ") })
}

// mayHaveWritten reports whether an error reply is from a script that had begun: Redis does not take back what a script wrote before it
// failed. The offer script fails so if the pending list is no list and if the user may not publish. The marks are from Redis before 7
// ("Error running script") and since.
//
// Some errors can only be from its first write, and end the script.
func mayHaveWritten(reply resp.Error) bool {
	text := string(reply)
	has := func(part string) bool { return strings.Contains(text, part) }
	first := []string{"READONLY You can't write", "OOM command not allowed", "MISCONF Redis is configured", "NOREPLICAS Not enough"}
	return (has("Error running script") || has("script: ")) && !slices.ContainsFunc(first, has)
}
