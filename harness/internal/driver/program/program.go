// Package program answers: how is an implementation outside this process driven?
//
// By the protocol of docs/protocol.md. A Spec is a --driver value that names a program; a Link is
// the caller's end of one, and a Process one that was started: Redisson of any release, or
// whatever exec: starts. A Library is dq in this process, which answers the same ops.
package program

import (
	"context"
	"encoding/json"
	"slices"
)

// Program is an implementation that answers the ops: a Link to a program, a Library in this
// process.
type Program interface {
	// Introduction is the answer to hello.
	Introduction() Hello
	// Call runs one op and returns its result. An error that the implementation
	// answered with is, or wraps, a *RemoteError; every other error says that the
	// program itself failed or that ctx ended.
	Call(ctx context.Context, op string, params any) (json.RawMessage, error)
	// Close ends the program and everything it opened.
	Close() error
}

// Can reports whether an implementation has an op, or an overload "op(argument)".
func (h Hello) Can(capability string) bool { return slices.Contains(h.Capabilities, capability) }

// HasCodec reports whether an implementation knows a codec by name.
func (h Hello) HasCodec(name string) bool { return slices.Contains(h.Codecs, name) }
