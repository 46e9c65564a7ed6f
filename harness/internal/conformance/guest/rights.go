package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrForbidden says that the user lacks a right that a run needs. Errors of that kind
// are *ForbiddenError.
var ErrForbidden = errors.New("the user lacks a right")

// ForbiddenError says what was refused, and what the run could not clean up because of
// it. It is ErrForbidden.
type ForbiddenError struct {
	// Addr is the server.
	Addr string
	// Refused is what the server did not permit, and what it said.
	Refused string
	// Left are keys of the run that it cannot delete.
	Left []Key
}

// Error says what was expected, what came and what to do.
func (e *ForbiddenError) Error() string {
	text := fmt.Sprintf("%s: expected a user who may do all that a run needs, got %s; the run has stopped there. "+
		"Grant the right, or let dq-bench start a server: --redis process", e.Addr, e.Refused)
	if len(e.Left) > 0 {
		text += ". What the run leaves behind itself: " + RemovalHint(e.Left)
	}
	return text
}

// Is makes it ErrForbidden.
func (e *ForbiddenError) Is(target error) bool { return target == ErrForbidden }

// MissingRight reports whether a text has the error of a server that a user lacks a right.
func MissingRight(text string) bool { return strings.Contains(text, "NOPERM") }

// Rehearse has the server say which of some commands the user may not send, with the error
// of the first. It puts them into a transaction that is never executed, so that they do
// nothing.
func Rehearse(ctx context.Context, do Do, commands [][]string) error {
	for _, command := range append([][]string{{"MULTI"}}, commands...) {
		// What cannot be part of a transaction is refused for that, if it is permitted.
		_, err := do(ctx, command...)
		if err != nil && (!Refused(err) || MissingRight(err.Error())) {
			return errors.Join(fmt.Errorf("%s: %w", strings.Join(command, " "), err), abandon(ctx, do))
		}
	}
	return abandon(ctx, do)
}

// abandon leaves a transaction, if there is one, and watches nothing.
func abandon(ctx context.Context, do Do) error {
	for _, command := range []string{"DISCARD", "UNWATCH"} {
		if _, err := do(ctx, command); err != nil && !Refused(err) {
			return fmt.Errorf("%s: %w", command, err)
		}
	}
	return nil
}
